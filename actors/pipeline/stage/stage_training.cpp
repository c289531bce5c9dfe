// A stage in an epoch: what it does next, and the end.
#include <algorithm>
#include <utility>

#include "actors/pipeline/stage/stage_actor.hpp"
#include "schemas/pipeline.capnp.h"

namespace troupe {

// ---- what comes next ------------------------------------------------------------------------------------------------

void stage_actor::go_on() {
    turn_.announce();
    if (!work_.is_idle() || !agreement_ || agreement_->is_waiting())
        return;
    if (snapshot_due_ && agreement_->is_settled())
        tell_snapshot();
    if (!work_.is_idle())
        return;
    if (!state_.arrivals.is_running()) {
        if (evaluation_.is_due())
            agreement_->is_settled() ? evaluation_.start() : agreement_->settle();
        return;
    }
    pass_on_end();
    std::optional<instruction> next;
    switch (what_is_next(next)) {
    case step::wait:
        return;
    case step::agree:
        return agreement_->act();
    case step::pass:
        return start(*next);
    case step::skip:
        return skip_update();
    case step::agree_last:
        return agreement_->act_at_end();
    case step::finish:
        return finish_epoch();
    }
}

step stage_actor::what_is_next(std::optional<instruction>& next) const {
    const stage_arrivals& arrivals = state_.arrivals;
    next = state_.order.next(arrivals.shape());
    return next_step({.before = agreement_->before_pass(),
                      .next = next,
                      .data_ended = arrivals.data_has_ended(),
                      .lacks_updates = state_.order.updates() < state_.share().updates(),
                      .at_end = agreement_->at_end()});
}

// The end of the data follows the last activation down the pipeline.
void stage_actor::pass_on_end() {
    const epoch_share& share = state_.share();
    if (!state_.arrivals.data_has_ended() || end_passed_on_ ||
        !state_.order.has_finished_forwards(share.shape()))
        return;
    end_passed_on_ = true;
    for (const actor_address next : state_.neighbours.next) {
        frame_builder<proto::EndOfData> onward;
        onward.body().setEpoch(share.number());
        onward.body().setMinibatches(share.whole().minibatches);
        onward.body().setOwn(share.shape().minibatches);
        send(next, std::move(onward));
    }
}

void stage_actor::start(const instruction& i) {
    if (i.what == step_kind::update)
        return start_update(i);
    if (!passes_.has_inputs(i) || !turn_.has_come())
        return;
    auto work = work_of(i);
    if (!work)
        return fail(work.failure());
    state_.order.begin(i, state_.arrivals.shape());
    submit_pass(i, std::move(work).value());
}

result<stage_work> stage_actor::work_of(const instruction& i) {
    if (i.what == step_kind::forward)
        return passes_.forward(i, agreement_->reading());
    if (i.what == step_kind::backward_input)
        return passes_.backward_input(i);
    return passes_.backward(i, agreement_->begin_sum(i),
                            [this, i](pass_gradients made) { take_gradients(i, std::move(made)); });
}

// Lags are counted once per minibatch, at its last backward pass, by the oldest weights.
void stage_actor::take_gradients(const instruction& i, pass_gradients made) {
    agreement_->take_gradients(std::move(made.sum));
    auto& oldest = state_.counts.oldest_used;
    oldest = std::min(oldest.value_or(made.used), made.used);
    if (state_.order.is_last_of_gradients(i, state_.arrivals.shape()))
        agreement_->gradients_complete(*std::exchange(oldest, std::nullopt), made.reading);
}

void stage_actor::submit_pass(const instruction& i, stage_work work) {
    work.then = [this, i, then = std::move(work.then)] {
        then();
        state_.order.finish(i, state_.arrivals.shape());
    };
    submit(std::move(work));
}

void stage_actor::finish_epoch() {
    TROUPE_CHECK(passes_.in_flight() == 0 && state_.gradients.empty(),
                 "a drained pipeline holds nothing");
    state_.weights.let_go_of_older();
    const epoch_share share = state_.share();
    if (options_.agreement.sync.assigns_dynamically() || options_.at.stages_differ())
        // The versions of all stages advance by the epoch's minibatches.
        state_.weights.renumber(
            weight_version{state_.arrivals.first_version().value() + share.whole().minibatches});
    frame_builder<proto::StageEpochDone> done;
    done.body().setEpoch(share.number());
    done.body().setStage(options_.at.place.stage);
    done.body().setReplica(options_.at.replica.replica);
    done.body().setWeightVersion(agreement_->version().value());
    done.body().setMinibatches(share.whole().minibatches);
    state_.counts.write(done.body(), now());
    const memory_pool_statistics used = options_.compute->memory().statistics();
    auto memory = done.body().initMemory();
    memory.setBytesInUsePeak(used.bytes_in_use_peak);
    memory.setBytesReserved(used.bytes_reserved);
    memory.setSystemAllocations(used.system_allocations_total);
    state_.arrivals.end();
    send(options_.trainer, std::move(done));
    go_on();
}

} // namespace troupe
