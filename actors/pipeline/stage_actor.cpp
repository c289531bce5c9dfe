#include "actors/pipeline/stage_actor.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"
#include "actors/pipeline/stage_messages.hpp"

namespace troupe {

stage_actor::stage_actor(actor_context& context, stage_options options)
    : actor{context}, options_{std::move(options)} {
    on<proto::ConnectStage>(&stage_actor::connect);
    on<proto::EpochBegin>(&stage_actor::begin_epoch);
    on<proto::Activation>(&stage_actor::admit);
    on<proto::Gradient>(&stage_actor::admit_gradient);
    on<proto::PartialNorm>(&stage_actor::admit_partial_norm);
    on<proto::GlobalNorm>(&stage_actor::admit_global_norm);
    on<proto::Labels>(&stage_actor::admit_labels);
    on<proto::EndOfData>(&stage_actor::end_data);
    on<proto::EvaluationBatch>(&stage_actor::admit_evaluation);
    on<proto::EvaluationLabels>(&stage_actor::admit_evaluation_labels);
    on<proto::EndOfEvaluation>(&stage_actor::end_evaluation);
    on<proto::TakeSnapshot>(&stage_actor::snapshot);
    on<proto::Reduced>(&stage_actor::reduced);
    on<proto::ServerJoined>(&stage_actor::server_joined);
    on<proto::Fetched>(&stage_actor::fetched);
    on<proto::EpochFinished>(&stage_actor::server_left);
    on<proto::WorkDone>(&stage_actor::work_done);
}

// ---- set-up -------------------------------------------------------------------------------------------------------

bool stage_actor::comes_from(actor_address expected, const frame& f) {
    if (expected && f.from() == expected)
        return true;
    reject("the sender is not the actor that this comes from in this run");
    return false;
}

void stage_actor::connect(proto::ConnectStage::Reader body, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    if (latest_ || running_)
        return reject("this stage is connected already");
    previous_ = read_address(body.getPrevious());
    next_ = read_address(body.getNext());
    source_ = read_address(body.getSource());
    watch(previous_);
    if (!is_last())
        watch(next_);
    if (options_.reducer) {
        if (body.getReducers().size() != options_.replica.replicas)
            return fail({errc::protocol, "there is not one reducer for each replica"});
        watch(options_.reducer);
        frame_builder<proto::JoinReduction> join;
        join.body().setRank(options_.replica.replica);
        join.body().setMembers(body.getReducers());
        send(options_.reducer, std::move(join));
    }
    for (const auto shard : body.getShards())
        watch(shards_.emplace_back(read_address(shard)));
    for (const auto reducer : body.getReducers())
        watch(reducers_.emplace_back(read_address(reducer)));
    if (body.getRestored()) {
        auto restored = weights_from(f, weight_version{body.getWeightVersion()});
        if (!restored)
            return fail(restored.failure());
        return start_with(std::move(restored).value());
    }
    submit({.label = "initialise",
            .work = [program = options_.program, seed = options_.seed,
                     state = options_.rule->state().size()](compute_context& context,
                                                            work_results& out) -> result<void> {
                auto initial = program->initialise(context, seed, state);
                if (!initial)
                    return initial.failure();
                out.weights = std::move(initial).value();
                return {};
            },
            .then = [this] { start_with(std::move(results_->weights)); }});
}

void stage_actor::start_with(weights_ptr first) {
    latest_ = std::move(first);
    if (!options_.cache)
        return tell_ready();
    watch(options_.cache);
    frame_builder<proto::JoinServer> join;
    join.body().setWorker(options_.replica.replica);
    auto list = join.body().initShards(static_cast<unsigned>(shards_.size()));
    for (unsigned k = 0; k < list.size(); ++k)
        write_address(list[k], shards_[k]);
    join.body().setWeightVersion(latest_->version.value());
    for (const tensor& t : latest_->parameters)
        join.attach(t);
    for (const tensor& t : latest_->state)
        join.attach(t);
    send(options_.cache, std::move(join));
}

void stage_actor::tell_ready() {
    frame_builder<proto::StageReady> answer;
    answer.body().setStage(options_.place.stage);
    answer.body().setReplica(options_.replica.replica);
    send(options_.trainer, std::move(answer));
}

result<weights_ptr> stage_actor::weights_from(const frame& f, weight_version version) const {
    const weights_layout layout = options_.program->layout(options_.rule->state());
    if (auto fits = layout.check(f.tensors()); !fits)
        return fits.failure().in("the weights to start from");
    return layout.assemble(version, f.tensors());
}

void stage_actor::snapshot(proto::TakeSnapshot::Reader, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    if (!latest_)
        return reject("there are no weights yet");
    if (is_fresh_)
        return tell_snapshot();
    snapshot_due_ = true;
    if (!asks_server_)
        refresh();
}

void stage_actor::tell_snapshot() {
    frame_builder<proto::Snapshot> answer;
    answer.body().setStage(options_.place.stage);
    answer.body().setWeightVersion(latest_->version.value());
    answer.envelope().setWeightVersion(latest_->version.value());
    for (tensor& t : latest_->tensors())
        answer.attach(std::move(t));
    send(options_.trainer, std::move(answer));
}

// ---- what arrives -------------------------------------------------------------------------------------------------

void stage_actor::begin_epoch(proto::EpochBegin::Reader body, const frame& f) {
    if (!comes_from(previous_, f))
        return;
    if (!latest_ || epoch_)
        return fail({errc::protocol, "an epoch begins before this stage is ready for it"});
    if (body.getSamplesPerMinibatch() > limits::batch_max || body.getMinibatches() == 0 ||
        body.getSamplesPerMinibatch() == 0 || body.getMicrobatches() == 0 ||
        body.getSamplesInLast() == 0 || body.getSamplesInLast() > body.getSamplesPerMinibatch())
        return fail(
            {errc::protocol, "an epoch without samples, or with impossible minibatches, begins"});
    epoch_.emplace();
    epoch_->number = body.getEpoch();
    epoch_->first_minibatch = body.getFirstMinibatch();
    epoch_->first_version = latest_->version;
    epoch_->whole = {body.getMinibatches(), body.getSamplesPerMinibatch(), body.getSamplesInLast(),
                     body.getMinibatches() - 1, body.getMicrobatches()};
    epoch_->shape = is_dealt() ? epoch_->whole : share_of(epoch_->whole, options_.replica);
    if (is_dealt())
        epoch_->shape.last = none; // unless it is dealt to this replica
    if (options_.cache) {
        is_fresh_ = false;
        latest_ = for_passes(*latest_);
    }
    epoch_->began = now();
    if (!is_last()) {
        frame_builder<proto::EpochBegin> onward;
        onward.body().setEpoch(body.getEpoch());
        onward.body().setFirstMinibatch(body.getFirstMinibatch());
        onward.body().setMinibatches(body.getMinibatches());
        onward.body().setSamplesPerMinibatch(body.getSamplesPerMinibatch());
        onward.body().setSamplesInLast(body.getSamplesInLast());
        onward.body().setMicrobatches(body.getMicrobatches());
        send(next_, std::move(onward));
    }
    if (options_.cache)
        enter_server();
}

void stage_actor::admit(proto::Activation::Reader body, const frame& f) {
    if (!comes_from(previous_, f))
        return;
    if (epoch_ && is_dealt())
        take_dealt(body.getMinibatch());
    if (auto fits = check_activation(body, f); !fits)
        return fail(fits.failure().in("activation of " +
                                      name_of(body.getMinibatch(), body.getMicrobatch())));
    activations_.push_back(current());
    advance();
}

// A minibatch that is dealt to this replica is any that comes after those before.
void stage_actor::take_dealt(std::uint64_t minibatch) {
    const std::uint64_t first = epoch_->first_minibatch;
    if (next_activation().forward_microbatch > 0 || minibatch < first ||
        minibatch - first >= epoch_->whole.minibatches ||
        (!epoch_->dealt.empty() && minibatch <= epoch_->dealt.back()))
        return; // not a new one: check_activation says what is due
    if (minibatch - first == epoch_->whole.last)
        epoch_->shape.last = epoch_->dealt.size();
    epoch_->dealt.push_back(minibatch);
}

// Where the next activation belongs: they come in the order of the schedule's forward passes, and those under way and
// waiting are the next ones after those done.
schedule_position stage_actor::next_activation() const {
    schedule_position at = epoch_->position;
    if (running_ && running_->what && running_->what->what == pass::forward)
        at = position_after(*running_->what, epoch_->shape, at);
    for (std::size_t waiting = 0; waiting < activations_.size(); ++waiting)
        at = position_after({pass::forward, at.forward_minibatch, at.forward_microbatch},
                            epoch_->shape, at);
    return at;
}

std::uint64_t stage_actor::minibatches_admitted() const {
    const schedule_position at = next_activation();
    return at.forward_minibatch + (at.forward_microbatch > 0 ? 1 : 0);
}

result<void> stage_actor::check_activation(proto::Activation::Reader body, const frame& f) const {
    if (!epoch_ || epoch_->data_ended)
        return error{errc::protocol, "arrives outside an epoch"};
    const schedule_position at = next_activation();
    if (at.forward_minibatch >= epoch_->shape.minibatches)
        return error{errc::protocol, "is more than the epoch has"};
    const std::uint64_t expected = is_dealt() && at.forward_minibatch >= epoch_->dealt.size()
                                       ? none
                                       : run_minibatch(at.forward_minibatch);
    if (body.getMinibatch() != expected || body.getMicrobatch() != at.forward_microbatch)
        return error{errc::protocol,
                     "arrives where " + name_of(expected, at.forward_microbatch) + " is due"};
    if (!is_first()) {
        const stage_place sender{options_.place.stage - 1, options_.place.stages};
        const std::uint64_t version = epoch_->first_version.value() +
                                      version_used(options_.schedule, sender, at.forward_minibatch);
        if (body.getWeightVersion() != version)
            return error{errc::protocol, "was computed with weight version " +
                                             std::to_string(body.getWeightVersion()) +
                                             ", the schedule says " + std::to_string(version)};
    }
    const std::uint32_t samples =
        epoch_->shape.rows_of(at.forward_minibatch, at.forward_microbatch).count;
    return options_.program->check_inputs(f.tensors(), samples);
}

void stage_actor::admit_gradient(proto::Gradient::Reader body, const frame& f) {
    if (!comes_from(next_, f))
        return;
    if (!epoch_ || is_last() || gradients_.size() >= stash_.size())
        return fail({errc::protocol, "a gradient for " +
                                         name_of(body.getMinibatch(), body.getMicrobatch()) +
                                         " arrives where none is due"});
    gradients_.push_back(current());
    advance();
}

void stage_actor::admit_labels(proto::Labels::Reader body, const frame& f) {
    if (!comes_from(source_, f))
        return;
    if (!is_last() || labels_.size() >= limits::stage_labels_max)
        return fail({errc::protocol, "labels of " +
                                         name_of(body.getMinibatch(), body.getMicrobatch()) +
                                         " arrive where none are due"});
    // Before EpochBegin has come down the pipeline, too: they take the short way.
    labels_.push_back(current());
    advance();
}

void stage_actor::end_data(proto::EndOfData::Reader body, const frame& f) {
    if (!comes_from(previous_, f))
        return;
    if (!epoch_ || epoch_->data_ended || body.getEpoch() != epoch_->number ||
        body.getMinibatches() > epoch_->whole.minibatches)
        return fail({errc::protocol, "the end of an epoch arrives that is not running"});
    epoch_->whole.minibatches = body.getMinibatches();
    if (is_dealt())
        epoch_->shape.minibatches = body.getOwn();
    else
        epoch_->shape = share_of(epoch_->whole, options_.replica);
    if (epoch_->shape.minibatches != minibatches_admitted())
        return fail({errc::protocol, "an epoch ends with more or fewer minibatches than came"});
    epoch_->data_ended = true;
    advance();
}

// ---- the device ---------------------------------------------------------------------------------------------------

void stage_actor::submit(job j) {
    TROUPE_CHECK(!running_, "one piece of work at a time");
    results_ = std::make_shared<work_results>();
    device_task task;
    task.cost_hint = j.flops;
    task.work = [work = std::move(j.work), results = results_](compute_context& context) {
        return work(context, *results);
    };
    task.done = completion_to(self_handle(), ++ticket_);
    running_ = std::move(j);
    options_.compute->submit(std::move(task));
}

void stage_actor::work_done(proto::WorkDone::Reader body, const frame& f) {
    TROUPE_CHECK(running_ && body.getTicket() == ticket_,
                 "the device completes what was submitted, in order");
    const job done = std::move(*running_);
    running_.reset();
    const work_span span = span_of(body, f);
    trace_compute(runtime().trace().label(done.label), span.began, span.ended, done.minibatch,
                  done.version, options_.compute->memory().statistics().bytes_reserved);
    if (body.hasFailure())
        return fail(read_failure(body.getFailure()).in(done.label));
    if (epoch_)
        epoch_->busy_ns += body.getBusyNs();
    done.then();
    if (done.what)
        epoch_->position = position_after(*done.what, epoch_->shape, epoch_->position);
    results_.reset();
    advance();
}

void stage_actor::fail(const error& why, std::optional<std::uint32_t> lost_stage,
                       std::uint32_t lost_replica) {
    frame_builder<proto::StageFailed> failed;
    failed.body().setStage(options_.place.stage);
    failed.body().setReplica(options_.replica.replica);
    if (lost_stage) {
        failed.body().setLostStage(*lost_stage);
        failed.body().setLostReplica(lost_replica);
    }
    write_failure(failed.body().initFailure(), why);
    send(options_.trainer, std::move(failed));
    quit(why);
}

// The trainer may still see both ends of a link that is lost.
void stage_actor::on_down(actor_address who, const error& why) {
    const error lost{errc::lost, why.message()};
    const std::uint32_t stage = options_.place.stage;
    if (who == next_)
        return fail(lost, stage + 1, options_.replica.replica);
    if (who == previous_ && !is_first())
        return fail(lost, stage - 1, options_.replica.replica);
    // What stands beside this stage ends with its peers, or by itself; of these the ones that are lost are told by name.
    if ((who == options_.reducer || who == options_.cache) && why.code() != errc::lost)
        return fail(why);
    for (const auto* peers : {&reducers_, &shards_})
        if (const auto peer = std::ranges::find(*peers, who); peer != peers->end()) {
            const auto replica = static_cast<std::uint32_t>(peer - peers->begin());
            return why.code() == errc::lost ? fail(lost, stage, replica) : fail(why);
        }
    // The data source lives beside the trainer and ends with it.
}

void stage_actor::on_rejected(proto::Rejected::Reader body, const frame& f) {
    // The trainer may have ended before what was on its way to it, and on_down() says why a neighbour has.
    if (body.getGone())
        return;
    if (f.from() == previous_ || f.from() == next_ || f.from() == options_.reducer ||
        f.from() == options_.cache)
        fail(read_failure(body).in("a neighbour refused a message"));
    else if (f.from() == options_.trainer)
        fail(read_failure(body).in("the trainer refused a message"));
}

} // namespace troupe
