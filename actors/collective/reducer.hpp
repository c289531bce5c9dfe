// One rank of an all-reduce: sums what its stage hands it with what the reducers of the other replicas have. Speaks
// schemas/collective.capnp, and for local SGD to its stage the peer's side of schemas/peers.capnp.
//
// What is sent when stands in all_reduce.hpp, the numbers are kept by a reduction; this actor pairs messages with both.
// Several slices are under way at a time, and begin in one order. It adds at once, in the handler of the message that brings
// the numbers: a slice takes less time than to give it to a device and to hear of its end, and the device may have a
// backward pass to run.
//
// Threads: an actor's.
// Errors: a chunk that does not fit or that a peer refuses, and memory that is used up, end it; its stage watches it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "actors/collective/reduction.hpp"
#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/peers.capnp.h"

namespace troupe {

struct reducer_options {
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO;
    std::shared_ptr<device> compute;  // whose memory sums are kept in
    std::vector<tensor_shape> shapes; // of what is summed; the stage's parameters and averages
};

class reducer final : public actor {
  public:
    reducer(actor_context& context, reducer_options options);

  private:
    using chunk_key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>; // as ReduceChunk

    // The reduction under way.
    struct running {
        std::uint64_t id;
        minibatch_id minibatch;
        reduction numbers;
        std::size_t started = 0; // slices
        std::size_t finished = 0;
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
    void go_on();
    result<void> go_on(std::size_t slice);
    result<void> send_part(std::size_t slice, const reduce_transfer& t);
    result<void> take_part(std::size_t slice, const tensor& part);
    void finish();
    result<void> check_chunk(proto::ReduceChunk::Reader body, const frame& f) const;
    void fail(const error& why) { quit(why); }

    reducer_options options_;
    actor_address stage_;
    std::vector<actor_address> members_; // by rank; this one among them
    reduction_plan plan_;
    std::optional<running> current_;
    std::uint64_t next_id_ = 0;
    std::map<chunk_key, tensor> arrived_;
};

} // namespace troupe
