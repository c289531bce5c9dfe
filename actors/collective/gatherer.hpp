// One rank of an all-reduce of compressed gradients: each rank's payloads go to all others, and everyone decodes and sums
// them in the order of the ranks, so that all end with the same bits. In a reducer's place; speaks schemas/collective.capnp.
//
// What a rank sends, to each of the others, is the codec's payload of each gradient, and its running averages as they are.
//
// Threads: an actor's. Encoding, decoding and summing run on the device.
// Errors: a payload that does not fit or that a peer refuses, and work that fails, end it; its stage watches it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "kernels/codec/codec.hpp"
#include "kernels/device/device.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

struct gatherer_options {
    codec_ptr codec;
    std::shared_ptr<device> compute;
    std::vector<tensor_shape> shapes; // of what is summed; the stage's averages and parameters
    std::size_t averages = 0;         // of these the first so many are sent as they are
    std::uint64_t seed = 0;
};

class gatherer final : public actor {
  public:
    gatherer(actor_context& context, gatherer_options options);

  private:
    using part_key = std::pair<std::uint64_t, std::uint32_t>; // reduction, rank

    // The reduction under way.
    struct running {
        std::uint64_t id;
        minibatch_id minibatch;
        float scale;
        std::uint32_t epoch;
        std::vector<tensor> own; // the last tensors first given
        bool is_whole = false;   // the stage has given all
        bool is_summing = false; // and all ranks' parts are here
    };

    void join(proto::JoinReduction::Reader body, const frame& f);
    void reduce(proto::Reduce::Reader body, const frame& f);
    void chunk(proto::ReduceChunk::Reader body, const frame& f);
    void work_done(proto::WorkDone::Reader body, const frame& f);
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    result<void> give(const frame& f, std::size_t first);
    void encode();
    void send_parts(std::vector<tensor> own);
    void sum_when_all_are_here();
    void finish(std::vector<tensor> sums);
    result<void> check_chunk(proto::ReduceChunk::Reader body, std::uint32_t rank,
                             const frame& f) const;
    // One piece of work at a time; `then` runs in this actor when it has succeeded.
    void submit(const char* label, device_work work, std::function<void()> then);
    void fail(const error& why) { quit(why); }

    gatherer_options options_;
    actor_address stage_;
    std::uint32_t rank_ = 0;
    std::vector<actor_address> members_;        // by rank; this one among them
    std::shared_ptr<gradient_encoder> encoder_; // used by the device
    std::optional<running> current_;
    std::uint64_t next_id_ = 0;
    std::map<part_key, std::vector<tensor>> parts_; // none: that rank has zeros to add
    const char* label_ = "";                        // of the work on the device, if any
    std::function<void()> then_;
    std::uint64_t ticket_ = 0;
};

} // namespace troupe
