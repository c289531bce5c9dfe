// One rank of an all-reduce: sums what its stage hands it with what the reducers of the other replicas have. Speaks
// schemas/collective.capnp, and for local SGD to its stage the peer's side of schemas/peers.capnp.
//
// What is sent when stands in all_reduce.hpp, reduction_rounds.hpp pairs messages with that. It adds at once, in the handler
// of the message that brings the numbers: a slice takes less time than to give it to a device and to hear of its end, and
// the device may have a backward pass to run.
//
// Threads: an actor's.
// Errors: a chunk that does not fit or that a peer refuses, and memory that is used up, end it; its stage watches it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/collective/reduction_rounds.hpp"
#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/peers.capnp.h"

namespace troupe {

struct reducer_options {
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO;
    std::shared_ptr<device> compute;  // whose memory sums are kept in
    std::vector<tensor_shape> shapes; // of what is summed; the stage's averages and parameters
    std::size_t averages = 0;         // of these the first: float32 where the others are not
    part_numbers numbers{};           // as which the stage gives the others, and all send them
};

class reducer final : public actor {
  public:
    reducer(actor_context& context, reducer_options options);

  private:
    // The reduction under way.
    struct running {
        std::uint64_t id;
        minibatch_id minibatch;
        bool of_weights = false; // their mean, for Exchange
    };

    void join(proto::JoinReduction::Reader body, const frame& f);
    void reduce(proto::Reduce::Reader body, const frame& f);
    void exchange(proto::Exchange::Reader body, const frame& f);
    void chunk(proto::ReduceChunk::Reader body, const frame& f);
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    void begin(const frame& f, float scale);
    void take(std::size_t first, const frame& f);
    result<void> give(std::size_t first, const frame& f);
    void send_part(std::uint32_t to, std::uint32_t slice, std::uint32_t round, tensor part);
    result<void> timed(const std::function<result<void>()>& add);
    void finish();
    void fail(const error& why) { quit(why); }

    reducer_options options_;
    actor_address stage_;
    std::vector<actor_address> members_;     // by rank; this one among them
    std::optional<reduction_rounds> rounds_; // with the peers
    std::optional<running> current_;
    std::uint64_t next_id_ = 0;
};

} // namespace troupe
