// A worker's side of a parameter server: cuts what its stage offers into shards, and puts together what they answer. Speaks
// schemas/params.capnp.
//
// Threads: an actor's. Errors: a shard that refuses, answers what it was not asked or is gone ends it; its stage watches it.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/params.capnp.h"

namespace troupe {

// What a shard keeps of a stage's parameters: tensors first .. first + count.
struct shard_range {
    std::size_t first = 0;
    std::size_t count = 0;
};

struct parameter_cache_options {
    std::vector<shard_range> ranges;  // of the parameters, by shard
    std::vector<tensor_shape> shapes; // of the parameters
    std::size_t state_per_parameter = 0;
    actor_address own_shard; // on this node; none if there are fewer shards than workers
};

class parameter_cache final : public actor {
  public:
    parameter_cache(actor_context& context, parameter_cache_options options);

  private:
    void join(proto::JoinServer::Reader body, const frame& f);
    void enter_epoch(proto::EnterEpoch::Reader body, const frame& f);
    void offer(proto::Offer::Reader body, const frame& f);
    void finish_epoch(proto::FinishEpoch::Reader body, const frame& f);
    void refresh(proto::Refresh::Reader body, const frame& f);
    void pulled(proto::Pulled::Reader body, const frame& f);
    void worker_done_taken(proto::WorkerDoneTaken::Reader body, const frame& f);
    void shard_read(proto::ShardRead::Reader body, const frame& f);

    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    // What the stage has asked for, and every shard is to answer.
    struct question {
        std::uint64_t answer = 0; // type of the answers
        std::uint64_t echo = 0;   // clock or epoch in them
        std::size_t kinds = 0;    // tensors of each parameter: itself, and what the optimizer keeps
        std::uint64_t minibatch = none;
    };

    // Puts the message's question to the shards if it is the stage's turn; else answers by Rejected.
    bool begin(const question& asked, const frame& f);
    // Keeps the answer of a shard; true if it was the last one due. One that does not fit ends this actor.
    bool collect(std::uint64_t echo, const frame& f);
    result<void> check_answer(std::size_t shard, std::uint64_t echo, const frame& f) const;
    void pull(std::uint32_t epoch, std::uint64_t clock, std::uint64_t minibatch);
    void send_fetched(std::uint64_t staleness);

    parameter_cache_options options_;
    std::uint32_t worker_ = 0;
    actor_address stage_;
    std::vector<actor_address> shards_;
    std::deque<std::vector<std::uint64_t>>
        fetched_; // versions by shard, of this epoch, the newest last
    std::optional<question> asked_;
    std::vector<frame_ptr> answers_; // by shard
    std::size_t missing_ = 0;
};

} // namespace troupe
