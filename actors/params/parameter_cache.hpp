// A worker's side of a parameter server. It splits its stage's gradients among the shards and assembles their answers.
// Protocol: schemas/params.capnp.
//
// With a codec it pushes payloads and keeps each tensor's residual for its next push. Each push is encoded once, in the
// order of clocks; requests that stages make afterwards are sent after it. Weights that arrive in a reduced-precision form
// are decoded once for all stages that it serves.
//
// Threads: its actor's. Errors: a shard that rejects a message or sends an unexpected answer ends it; its stage watches it,
// and the shards.
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
    std::vector<shard_range> ranges;  // parameters of each shard
    std::vector<tensor_shape> shapes; // one per parameter
    payload_forms offered;            // form of each offered gradient; empty: all plain
    std::size_t state_per_parameter = 0;
    // Largest lag of a push's oldest gradient, in fetches.
    std::size_t fetches_kept = 1;
    std::size_t members = 1;   // stages served
    codec_ptr codec;           // codec of pushes; null: none
    number_form_ptr pulls;     // form of pulled weights; null: float32
    std::uint64_t seed = 0;    // seed of the codec's random draws
    std::uint32_t workers = 1; // workers of the server
    // Sums the offers of several stages, encodes pushes and decodes weights; may be null where none of these is needed.
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

    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    struct member {
        actor_address stage;
        frame_ptr asked;       // request that is not answered yet
        bool finished = false; // has finished its share of the epoch
    };
    // Ids of a push: of one member's gradients, or of the sum over several members.
    struct push_ids {
        std::uint32_t epoch = 0;
        std::uint64_t clock = 0;
        std::uint64_t minibatch = none; // determines the learning rate
        std::uint32_t fetches_late = 0;
        std::uint64_t name = none; // minibatch of a member, shown in traces
    };
    // Weights sent to the stages.
    struct fetched_weights {
        std::span<const tensor> parameters; // of all shards
        // Updates of each parameter so far; empty where the optimizer state is not sent.
        std::span<const std::uint64_t> updates;
        std::uint64_t staleness = 0;
        std::uint32_t dropped = 0;
    };

    void keep_shard(proto::JoinServer::Reader body, const frame& f);
    // Keeps a stage's request if it may make one now; else answers Rejected and returns null.
    member* take(const frame& f);
    bool is_offer(std::span<const tensor> gradients) const;
    void advance(); // acts once all members have asked
    void offer_all();
    // Pushes the sum of the offered gradients; no tensors if nothing is offered.
    void push(const push_ids& ids, std::vector<std::vector<tensor>> offered);
    void send_push(const push_ids& ids, std::span<const tensor> contents);
    // Submits a sum, an encoding or a decoding to the device; `name`: a member's minibatch, shown in traces.
    void submit(const char* label, std::uint64_t name, device_work work,
                std::function<void()> then);
    // Calls `ask` once the device has finished the work of earlier pushes.
    void after_pushes(std::function<void()> ask);
    void finish(std::uint32_t epoch);
    // Number of the shard that sent `f`; answers Rejected to other senders.
    std::optional<std::size_t> shard_of(const frame& f);
    // Keeps a shard's answer; true if it was the last one due. An answer that does not fit ends this actor.
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
    std::uint64_t pushes_ = 0;                  // in this epoch
    std::shared_ptr<gradient_encoder> encoder_; // used by device work; null without a codec
    std::function<void()> ask_;                 // called once the device is idle
    // Weight versions by shard, one entry per fetch of this epoch, newest last.
    std::deque<std::vector<std::uint64_t>> fetched_;
    shard_answers answers_;
    work_queue work_;
};

} // namespace troupe
