// One rank of an all-reduce: sums the tensors of its stage with those of the other replicas' reducers. Speaks
// schemas/collective.capnp, and with its stage, for local SGD, the peer's side of schemas/peers.capnp.
//
// all_reduce.hpp lists the rounds, and reduction_rounds.hpp pairs messages with them. Numbers are added at once, in the
// handler of the message that brings them: adding a slice takes less time than submitting it to a device and hearing of its
// end, and the device may have a backward pass to run.
//
// Threads: an actor's.
// Errors: a chunk that does not fit or that another rank refuses, and memory that is used up, end it; its stage watches it.
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
    std::shared_ptr<device> compute;  // sums are kept in its memory
    std::vector<tensor_shape> shapes; // of the stage's averages, then of its parameters
    std::size_t averages = 0;         // the first of these: float32 also if the others are not
    part_numbers numbers{}; // form in which the stage submits the others, and ranks send them
};

class reducer final : public actor {
  public:
    reducer(actor_context& context, reducer_options options);

  private:
    // The reduction under way.
    struct running {
        std::uint64_t id;
        minibatch_id minibatch;
        bool of_weights = false; // a mean of weights, for Exchange
    };

    void join(proto::JoinReduction::Reader body, const frame& f);
    void reduce(proto::Reduce::Reader body, const frame& f);
    void exchange(proto::Exchange::Reader body, const frame& f);
    void chunk(proto::ReduceChunk::Reader body, const frame& f);
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    void on_end() override;

    void begin(const frame& f, float scale);
    void accept(std::size_t first, const frame& f);
    result<void> submit(std::size_t first, const frame& f);
    void send_part(std::uint32_t to, std::uint32_t slice, std::uint32_t round, tensor part);
    bool expect_part(std::uint32_t from, std::uint32_t slice, std::uint32_t round, tensor place);
    result<void> timed(const std::function<result<void>()>& add);
    void finish();
    void fail(const error& why) { quit(why); }

    reducer_options options_;
    actor_address stage_;
    std::vector<actor_address> members_;     // reducers by rank, this one among them
    std::optional<reduction_rounds> rounds_; // with the other ranks
    std::optional<running> current_;
    std::uint64_t next_id_ = 0;
};

} // namespace troupe
