// One rank of an all-reduce: sums what its stage hands it with what the reducers of the other replicas have. Speaks
// schemas/collective.capnp.
//
// What is sent when stands in all_reduce.hpp; this actor keeps the segments and has its device add. A segment that has been
// sent is never written again: its sum with what arrives is a new tensor.
//
// Threads: an actor's. Device work touches only what it was given.
// Errors: a chunk that does not fit or that a peer refuses, and work that fails, end it; its stage watches it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "actors/collective/all_reduce.hpp"
#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

struct reducer_options {
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO;
    std::shared_ptr<device> compute;
    std::vector<tensor_shape> shapes; // of what is summed; the stage's parameters and averages
};

class reducer final : public actor {
  public:
    reducer(actor_context& context, reducer_options options);

  private:
    using round_key = std::pair<std::uint64_t, std::uint32_t>; // reduction, round

    // The reduction under way.
    struct reduction {
        std::uint64_t id = 0;
        float scale = 1;
        minibatch_id minibatch{none};
        std::vector<tensor> segments; // rank 1; empty ones have no elements
        std::size_t next = 0;         // of transfers_; what the ones before receive has been taken
        bool sent = false;            // the next one's part
    };

    void join(proto::JoinReduction::Reader body, const frame& f);
    void reduce(proto::Reduce::Reader body, const frame& f);
    void chunk(proto::ReduceChunk::Reader body, const frame& f);
    void work_done(proto::WorkDone::Reader body, const frame& f);
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    void start(std::vector<tensor> inputs);
    void go_on();
    void send_part(const reduce_transfer& t);
    void keep_part(const reduce_transfer& t, const frame& chunk);
    void add_part(const reduce_transfer& t, const frame_ptr& chunk);
    void finish();
    // Puts one piece of work on the device, which moves so many elements; `then` runs in this actor when it has succeeded.
    void submit(device_work work, double elements, std::function<void()> then);
    std::vector<std::size_t> filled(index_range segments) const; // those that are not empty
    result<void> check_chunk(proto::ReduceChunk::Reader body, const frame& f) const;
    void fail(const error& why) { quit(why); }

    reducer_options options_;
    std::size_t elements_ = 0; // of all shapes
    actor_address stage_;
    std::vector<actor_address> members_; // by rank; this one among them
    std::size_t segments_ = 1;
    std::vector<reduce_transfer> transfers_;
    std::optional<reduction> current_;
    std::uint64_t next_id_ = 0;
    std::map<round_key, frame_ptr> arrived_;
    std::function<void()> then_; // of the work on the device, if any
    std::uint64_t ticket_ = 0;
};

} // namespace troupe
