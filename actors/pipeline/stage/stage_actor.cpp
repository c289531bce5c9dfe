#include "actors/pipeline/stage/stage_actor.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"
#include "actors/pipeline/stage/stage_holdings.hpp"
#include "actors/runtime/lost_nodes.hpp"
#include "actors/update_counts.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/params.capnp.h"
#include "schemas/peers.capnp.h"
#include "schemas/pipeline.capnp.h"

namespace troupe {

stage_actor::stage_actor(actor_context& context, stage_options options)
    : actor{context}, options_{std::move(options)}, evaluation_{*this}, norm_{*this},
      passes_{*this}, turn_{*this, [this] { return self_handle(); }},
      work_{*this, [this](const std::string& label, const error& why) {
                const error where = why.in(label);
                fail(why.code() == errc::exhausted ? with_holdings(where) : where);
            }} {
    state_.order = stage_order{options_.at.schedule.steps};
    state_.weights.keep(
        versions_kept(options_.at.schedule.steps, options_.at.schedule.microbatches));
    on<proto::ConnectStage>(&stage_actor::connect);
    on<proto::EpochBegin>(&stage_actor::begin_epoch);
    on<proto::Activation>(&stage_actor::to_arrivals<proto::Activation>);
    on<proto::Gradient>(&stage_actor::to_arrivals<proto::Gradient>);
    on<proto::Labels>(&stage_actor::to_arrivals<proto::Labels>);
    on<proto::EndOfData>(&stage_actor::end_data);
    on<proto::PartialNorm>(&stage_actor::to_norm<proto::PartialNorm>);
    on<proto::GlobalNorm>(&stage_actor::to_norm<proto::GlobalNorm>);
    on<proto::TakeSnapshot>(&stage_actor::snapshot);
    on<proto::EvaluationBatch>(&stage_actor::to_evaluation<proto::EvaluationBatch>);
    on<proto::EvaluationLabels>(&stage_actor::to_evaluation<proto::EvaluationLabels>);
    on<proto::EndOfEvaluation>(&stage_actor::to_evaluation<proto::EndOfEvaluation>);
    on<proto::GradientsReady>(&stage_actor::to_agreement<proto::GradientsReady>);
    on<proto::TurnCame>(&stage_actor::turn_came);
    on<proto::Reduced>(&stage_actor::to_agreement<proto::Reduced>);
    on<proto::Exchanged>(&stage_actor::to_agreement<proto::Exchanged>);
    on<proto::Common>(&stage_actor::to_agreement<proto::Common>);
    on<proto::ServerJoined>(&stage_actor::to_agreement<proto::ServerJoined>);
    on<proto::Fetched>(&stage_actor::to_agreement<proto::Fetched>);
    on<proto::EpochFinished>(&stage_actor::to_agreement<proto::EpochFinished>);
}

// ---- senders of messages --------------------------------------------------------------------------------------------

bool stage_actor::comes_from(actor_address expected, const frame& f) {
    if (expected && f.from() == expected)
        return true;
    reject("the sender is not the actor that this comes from in this run");
    return false;
}

template <class Body>
void stage_actor::to_agreement(typename Body::Reader, const frame& f) {
    if (!agreement_ || !agreement_->take(current()))
        comes_from({}, f);
}

template <class Body>
void stage_actor::to_arrivals(typename Body::Reader, const frame& f) {
    result<void> taken;
    if constexpr (std::is_same_v<Body, proto::Labels>) {
        if (!comes_from(state_.neighbours.source, f))
            return;
        taken = state_.arrivals.take_labels(current());
    } else if constexpr (std::is_same_v<Body, proto::Gradient>) {
        if (!comes_from(sender_among(state_.neighbours.next, f), f))
            return;
        taken = state_.arrivals.take_gradient(current(), passes_.in_flight());
    } else {
        if (!comes_from(sender_among(state_.neighbours.previous, f), f))
            return;
        taken = state_.arrivals.take_activation(current(), state_.order);
    }
    if (!taken)
        return fail(taken.failure());
    go_on();
}

// ---- set-up -------------------------------------------------------------------------------------------------------

void stage_actor::connect(proto::ConnectStage::Reader body, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    if (agreement_)
        return reject("this stage is connected already");
    if (auto listens = listen(body); !listens)
        return fail(listens.failure());
    const auto companions = companions_named(options_.agreement, body, self().node);
    if (!companions)
        return fail(companions.failure());
    if (auto fits = check_run(*companions, runtime(), run()); !fits)
        return fail(fits.failure());
    agreement_ = make_agreement(*this, *companions);
    turn_.announce();
    if (auto connected = agreement_->connect(body); !connected)
        return fail(connected.failure());
    if (body.getRestored()) {
        auto restored = weights_from(body, f);
        if (!restored)
            return fail(restored.failure());
        start_with(std::move(restored).value());
        return;
    }
    auto initial = std::make_shared<weights_ptr>();
    submit({.label = "initialise",
            .work = [initial, program = options_.program, seed = options_.seed,
                     state = options_.update.rule->state().size()](
                        compute_context& context, copied_weights&) -> result<void> {
                auto made = program->initialise(context, seed, state);
                if (!made)
                    return made.failure();
                *initial = std::move(made).value();
                return {};
            },
            .then = [this, initial] { start_with(std::move(*initial)); }});
}

// Sets the neighbours and the checks of their messages.
result<void> stage_actor::listen(proto::ConnectStage::Reader body) {
    auto named = neighbours_of(options_, body, self().node);
    if (!named)
        return named.failure();
    const stage_neighbours& own = state_.neighbours = std::move(named).value();
    for (const auto* neighbours : {&own.previous, &own.next})
        for (const actor_address who : *neighbours)
            watch(who);
    const auto& program = options_.program;
    state_.arrivals = stage_arrivals{
        {.at = options_.at,
         .is_dynamic = options_.agreement.sync.assigns_dynamically(),
         .previous = own.previous,
         .next = own.next,
         .inputs =
             [program, as = own.routes.from_previous](std::span<const tensor> all,
                                                      std::uint32_t samples) {
                 return as ? as->check(all, samples) : program->check_inputs(all, samples);
             },
         .labels = [program](std::span<const tensor> all,
                             std::uint32_t samples) { return program->check_labels(all, samples); },
         .gradients =
             [program, as = own.routes.from_next](std::span<const tensor> all,
                                                  std::uint32_t samples) {
                 return as ? as->check(all, samples) : program->check_gradients(all, samples);
             }}};
    return {};
}

result<weights_ptr> stage_actor::weights_from(proto::ConnectStage::Reader body,
                                              const frame& f) const {
    const weights_layout layout = options_.program->layout(options_.update.rule->state());
    if (auto fits = layout.check(f.tensors(), body.getUpdates().size()); !fits)
        return fits.failure().in("the weights to start from");
    return layout.assemble(weight_version{body.getWeightVersion()}, f.tensors(),
                           read_counts(body.getUpdates()));
}

void stage_actor::start_with(weights_ptr first) {
    state_.weights.set(std::move(first));
    agreement_->join();
}

void stage_actor::tell_ready() {
    frame_builder<proto::StageReady> answer;
    answer.body().setStage(options_.at.place.stage);
    answer.body().setReplica(options_.at.replica.replica);
    send(options_.trainer, std::move(answer));
}

// ---- an epoch -----------------------------------------------------------------------------------------------------

void stage_actor::begin_epoch(proto::EpochBegin::Reader body, const frame& f) {
    if (!comes_from(sender_among(state_.neighbours.previous, f), f))
        return;
    const weights_ptr& latest = state_.weights.latest();
    if (!latest && !state_.arrivals.is_running())
        return fail({errc::protocol, "an epoch begins before this stage is ready for it"});
    const auto begun = state_.arrivals.begin(body, latest ? latest->version : weight_version{});
    if (!begun)
        return fail(begun.failure());
    if (!*begun)
        return;
    state_.order.begin_epoch();
    state_.counts = {.began = now()};
    state_.weights.unsettle();
    end_passed_on_ = false;
    for (const actor_address next : state_.neighbours.next) {
        frame_builder<proto::EpochBegin> onward;
        onward.body().setEpoch(body.getEpoch());
        onward.body().setFirstMinibatch(body.getFirstMinibatch());
        onward.body().setMinibatches(body.getMinibatches());
        onward.body().setSamplesPerMinibatch(body.getSamplesPerMinibatch());
        onward.body().setSamplesInLast(body.getSamplesInLast());
        onward.body().setMicrobatches(body.getMicrobatches());
        send(next, std::move(onward));
    }
    turn_.announce();
    agreement_->begin_epoch();
}

void stage_actor::end_data(proto::EndOfData::Reader, const frame& f) {
    if (!comes_from(sender_among(state_.neighbours.previous, f), f))
        return;
    const auto ended = state_.arrivals.take_end(f, state_.order);
    if (!ended)
        return fail(ended.failure());
    if (*ended)
        go_on();
}

void stage_actor::snapshot(proto::TakeSnapshot::Reader, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    if (!state_.weights.latest())
        return reject("there are no weights yet");
    if (agreement_->is_settled())
        return tell_snapshot();
    snapshot_due_ = true;
    if (!agreement_->is_waiting())
        agreement_->settle();
}

// Weights in the device's own memory are copied to the host when the device is idle.
void stage_actor::tell_snapshot() {
    snapshot_due_ = !work_.is_idle() && options_.has_own_memory();
    if (snapshot_due_)
        return;
    const weights_ptr& settled = state_.weights.settled();
    const std::uint64_t version = agreement_->version().value();
    auto answer = std::make_shared<frame_builder<proto::Snapshot>>();
    answer->body().setStage(options_.at.place.stage);
    answer->body().setWeightVersion(version);
    write_counts(answer->body().initUpdates(static_cast<unsigned>(settled->updates.size())),
                 settled->updates);
    answer->envelope().setStateVersion(version);
    copy_to_host_then(settled->tensors(), [this, answer](std::vector<tensor> tensors) {
        for (tensor& t : tensors)
            answer->attach(std::move(t));
        send(options_.trainer, std::move(*answer));
    });
}

// ---- the device ---------------------------------------------------------------------------------------------------

void stage_actor::submit(stage_work w) {
    TROUPE_CHECK(work_.is_idle(), "one piece of work at a time");
    auto copies = std::make_shared<copied_weights>();
    work_.submit(*options_.compute,
                 {.label = std::move(w.label),
                  .number = w.minibatch,
                  .version = w.version,
                  .cost = w.flops,
                  .priority = w.priority,
                  .work = [work = std::move(w.work),
                           copies](compute_context& context) { return work(context, *copies); },
                  .then =
                      [this, then = std::move(w.then), copies]() mutable {
                          if (state_.arrivals.is_running())
                              state_.counts.busy += work_.busy();
                          state_.weights.replace(*copies);
                          // Its captures are released before the next work.
                          std::exchange(then, nullptr)();
                          go_on();
                      }});
}

void stage_actor::copy_to_host_then(std::vector<tensor> tensors,
                                    std::function<void(std::vector<tensor>)> then) {
    if (std::ranges::all_of(tensors, &tensor::is_host))
        return then(std::move(tensors));
    auto out = std::make_shared<std::vector<tensor>>(std::move(tensors));
    submit({.label = "take out",
            .work = [out](compute_context& context,
                          copied_weights&) { return copy_to_host(context, *out); },
            .then = [out, then = std::move(then)] { then(std::move(*out)); }});
}

gradient_buckets::hand_over stage_actor::to_gradients_ready() {
    return [stage = self_handle()](std::size_t first, std::vector<tensor> gradients) {
        frame_builder<proto::GradientsReady> ready;
        ready.body().setFirst(static_cast<std::uint32_t>(first));
        for (tensor& t : gradients)
            ready.attach(std::move(t));
        stage.post(std::move(ready));
    };
}

// ---- ends ---------------------------------------------------------------------------------------------------------

void stage_actor::end(const error& why, std::optional<std::uint32_t> lost_stage,
                      std::uint32_t lost_replica) {
    frame_builder<proto::StageFailed> failed;
    failed.body().setStage(options_.at.place.stage);
    failed.body().setReplica(options_.at.replica.replica);
    if (lost_stage) {
        failed.body().setLostStage(*lost_stage);
        failed.body().setLostReplica(lost_replica);
    }
    write_failure(failed.body().initFailure(), why);
    send(options_.trainer, std::move(failed));
    quit(why);
}

error stage_actor::with_holdings(const error& why) const {
    return {why.code(), why.message() + describe_holdings(state_, passes_.kept(),
                                                          options_.program->layout(
                                                              options_.update.rule->state()))};
}

// A stage reports which neighbour is lost: the trainer may still reach both ends of a lost link. It reports also why its
// companions have failed, as the trainer does not watch them; those that are `cancelled` end with their run or node.
void stage_actor::on_down(actor_address who, const error& why) {
    const bool is_own = agreement_ && agreement_->is_companion(who);
    if (is_own ? why.code() == errc::cancelled : !is_lost_with_node(runtime(), who, why))
        return;
    if (is_own)
        return fail(why);
    if (const auto lost = state_.neighbours.place_of(who, options_.at))
        return end(why, lost->stage, lost->replica);
    if (const auto noticed = agreement_ ? agreement_->lose(who, why) : std::nullopt)
        end(noticed->why, options_.at.place.stage, noticed->replica);
}

void stage_actor::on_rejected(proto::Rejected::Reader body, const frame& f) {
    // The trainer may have ended before a message reached it, and on_down() reports the end of a
    // neighbour.
    if (body.getGone())
        return;
    if (state_.neighbours.has(f.from()) || (agreement_ && agreement_->is_companion(f.from())))
        fail(read_failure(body).in("a neighbour refused a message"));
    else if (f.from() == options_.trainer)
        fail(read_failure(body).in("the trainer refused a message"));
}

} // namespace troupe
