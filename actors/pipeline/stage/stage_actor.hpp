// One stage of a pipeline: speaks schemas/pipeline.capnp with its neighbours and
// schemas/training.capnp with its trainer.
//
// The executor: it accepts messages, chooses the next step (next_step.hpp) whenever the device is
// idle, and submits work. Its state is stage_state; its parts, which do not know each other, are
// the passes (stage_passes.hpp), the norm over all stages (stage_norm.hpp), the agreement with other
// replicas (agreement.hpp) and the evaluation (stage_evaluation.hpp). At any time at most one piece
// of work is on the device.
//
// Threads: an actor's. Device work touches only its captures. Errors: a neighbour's message out of
// order, work that fails and weights that do not fit end the stage: it sends the trainer StageFailed
// with the reason.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/pipeline/stage/agreement.hpp"
#include "actors/pipeline/stage/stage_evaluation.hpp"
#include "actors/pipeline/stage/stage_norm.hpp"
#include "actors/pipeline/stage/stage_passes.hpp"
#include "actors/pipeline/stage/stage_port.hpp"
#include "actors/pipeline/stage/stage_turn.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

class stage_actor final : public actor, private stage_port {
  public:
    stage_actor(actor_context& context, stage_options options);

  private:
    // ---- messages (stage_actor.cpp) ----
    void connect(proto::ConnectStage::Reader body, const frame& f);
    void begin_epoch(proto::EpochBegin::Reader body, const frame& f);
    void end_data(proto::EndOfData::Reader body, const frame& f);
    void snapshot(proto::TakeSnapshot::Reader body, const frame& f);
    template <class Body>
    void to_arrivals(typename Body::Reader, const frame& f);
    template <class Body>
    void to_agreement(typename Body::Reader, const frame& f);
    template <class Body>
    void to_evaluation(typename Body::Reader, const frame&) {
        evaluation_.take(current());
    }
    template <class Body>
    void to_norm(typename Body::Reader, const frame&) {
        norm_.take(current());
    }
    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    // ---- set-up and ends (stage_actor.cpp) ----
    result<void> listen(proto::ConnectStage::Reader body);
    result<weights_ptr> weights_from(proto::ConnectStage::Reader body, const frame& f) const;
    void start_with(weights_ptr first);
    void tell_snapshot();
    void end(const error& why, std::optional<std::uint32_t> lost_stage, std::uint32_t lost_replica);
    error with_holdings(const error& why) const;

    // ---- training (stage_training.cpp) ----
    void turn_came(proto::TurnCame::Reader, const frame&) { go_on(); }
    step what_is_next(std::optional<instruction>& next) const;
    void start(const instruction& i);
    result<stage_work> work_of(const instruction& i);
    void start_update(const instruction& i);
    void skip_update();
    void take_gradients(const instruction& i, pass_gradients made);
    void submit_pass(const instruction& i, stage_work work);
    void pass_on_end();
    void finish_epoch();

    // ---- stage_port ----
    const stage_options& options() const override { return options_; }
    stage_state& state() override { return state_; }
    actor_address address() const override { return self(); }
    void watch(actor_address who) override { actor::watch(who); }
    bool comes_from(actor_address expected, const frame& f) override;
    void submit(stage_work work) override;
    void copy_to_host_then(std::vector<tensor> tensors,
                           std::function<void(std::vector<tensor>)> then) override;
    gradient_buckets::hand_over to_gradients_ready() override;
    void tell_ready() override;
    void finish_update() override;
    void go_on() override;
    void fail(const error& why) override { end(why, std::nullopt, options_.at.replica.replica); }
    void send_built(actor_address to, proto::Envelope::Builder envelope,
                    const std::function<frame_ptr()>& finish) override {
        actor::send_built(to, envelope, finish);
    }
    using actor::send;

    stage_options options_;
    stage_state state_;
    std::unique_ptr<agreement> agreement_; // null until the stage is connected
    stage_evaluation evaluation_;
    stage_norm norm_;
    stage_passes passes_;
    bool end_passed_on_ = false; // EndOfData of the epoch
    bool snapshot_due_ = false;
    stage_turn turn_;
    work_queue work_;
};

} // namespace troupe
