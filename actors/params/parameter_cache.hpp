// A worker's side of a parameter server: cuts what its stage offers into shards, and puts together what they answer. Speaks
// schemas/params.capnp.
//
// With a codec it pushes payloads, and keeps what they lose of each tensor for its next push. A push is encoded once, and in
// the order of clocks; what the stages ask for afterwards leaves after it. Weights that come in a form of fewer bits are
// decoded once, for all stages that it serves.
//
// Threads: an actor's. Errors: a shard that refuses, answers what it was not asked or is gone ends it; its stage watches it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/params/shard_answers.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "kernels/codec/codec.hpp"
#include "kernels/device/device.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/params.capnp.h"

namespace troupe {

struct parameter_cache_options {
    std::vector<shard_range> ranges;  // of the parameters, by shard
    std::vector<tensor_shape> shapes; // of the parameters
    payload_forms offered;            // by parameter, of what stages offer; empty: all as it is
    std::size_t state_per_parameter = 0;
    std::size_t fetches_kept = 1; // how late the oldest gradient of a push may be, in fetches
    std::size_t members = 1;      // stages that it serves
    codec_ptr codec;              // of what it pushes; null: as it is
    number_form_ptr pulls;        // of the weights that it pulls; null: as they are
    std::uint64_t seed = 0;       // of what the codec draws by lot
    std::uint32_t workers = 1;    // of the server
    // Sums what several offer, encodes, decodes; may be none where there is nothing of these.
    std::shared_ptr<device> compute;
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
    void pull_again(proto::PullAgain::Reader body, const frame& f);
    void worker_done_taken(proto::WorkerDoneTaken::Reader body, const frame& f);
    void shard_read(proto::ShardRead::Reader body, const frame& f);

    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    struct member {
        actor_address stage;
        frame_ptr asked;       // and not answered yet
        bool finished = false; // its share of the epoch
    };
    // What is pushed: of one member, or the sum of several.
    struct push_ids {
        std::uint32_t epoch = 0;
        std::uint64_t clock = 0;
        std::uint64_t minibatch = none; // which the learning rate goes by
        std::uint32_t fetches_late = 0;
        std::uint64_t name = none; // in traces: the minibatch of a member
    };
    // What the stages get.
    struct fetched_weights {
        std::span<const tensor> parameters;     // of all shards
        std::span<const std::uint64_t> updates; // of each of them, with what the optimizer keeps
        std::uint64_t staleness = 0;
        std::uint32_t dropped = 0;
    };

    void keep_shard(proto::JoinServer::Reader body, const frame& f);
    // Keeps the question if it is a stage's turn; else answers by Rejected, and gives null.
    member* take(const frame& f);
    bool is_offer(std::span<const tensor> gradients) const;
    void advance(); // if all members have asked
    void offer_all();
    // The sum of what is offered; of nothing that there is none.
    void push(const push_ids& ids, std::vector<std::vector<tensor>> offered);
    void send_push(const push_ids& ids, std::span<const tensor> contents);
    // What the device sums, encodes or decodes; `name`: in traces, the minibatch of a member.
    void submit(const char* label, std::uint64_t name, device_work work,
                std::function<void()> then);
    void after_pushes(std::function<void()> ask); // those that the device has in work
    void finish(std::uint32_t epoch);
    // Of the shard that has sent this; answers others by Rejected.
    std::optional<std::size_t> shard_of(const frame& f);
    // Keeps the answer of a shard; true if it was the last one due. One that does not fit ends this actor.
    bool collect(std::uint64_t echo, const frame& f);
    void pull(std::uint32_t epoch, std::uint64_t clock, std::uint64_t minibatch);
    void send_pull(actor_address shard, std::uint32_t epoch, std::uint64_t clock,
                   std::uint64_t minibatch);
    void send_pulled(std::span<const tensor> parameters);
    void send_fetched(const fetched_weights& what);

    parameter_cache_options options_;
    std::uint32_t worker_ = 0;
    std::vector<member> members_;
    std::vector<actor_address> shards_;
    std::uint64_t pushes_ = 0;                  // of this epoch
    std::shared_ptr<gradient_encoder> encoder_; // used by the device; none without a codec
    std::function<void()> ask_;                 // when the device has nothing in work any more
    // Versions by shard, of this epoch, the newest last.
    std::deque<std::vector<std::uint64_t>> fetched_;
    shard_answers answers_;
    work_queue work_;
};

} // namespace troupe
