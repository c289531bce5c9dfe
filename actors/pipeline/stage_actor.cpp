#include "actors/pipeline/stage_actor.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"
#include "actors/pipeline/stage_messages.hpp"
#include "actors/update_counts.hpp"

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
    on<proto::GradientsReady>(&stage_actor::gradients_ready);
    on<proto::Reduced>(&stage_actor::reduced);
    on<proto::Exchanged>(&stage_actor::exchanged);
    on<proto::Common>(&stage_actor::take_common);
    on<proto::ServerJoined>(&stage_actor::server_joined);
    on<proto::Fetched>(&stage_actor::fetched);
    on<proto::EpochFinished>(&stage_actor::server_left);
    on<proto::WorkDone>(&stage_actor::work_done);
    if (options_.activations && !is_first())
        from_previous_ = std::make_shared<const crossing_numbers>(
            crossing_numbers::activations(options_.activations, options_.program->inputs()));
    if (options_.activations && !is_last())
        from_next_ = std::make_shared<const crossing_numbers>(
            crossing_numbers::gradients(options_.activations, options_.program->outputs()));
}

// ---- set-up -------------------------------------------------------------------------------------------------------

bool stage_actor::comes_from(actor_address expected, const frame& f) {
    if (expected && f.from() == expected)
        return true;
    reject("the sender is not the actor that this comes from in this run");
    return false;
}

bool stage_actor::comes_from_one_of(const std::vector<actor_address>& expected, const frame& f) {
    const auto sender = std::ranges::find(expected, f.from());
    return comes_from(sender == expected.end() ? actor_address{} : *sender, f);
}

actor_address stage_actor::replica_of(const std::vector<actor_address>& stage,
                                      std::uint64_t minibatch) const {
    return stage[(minibatch - epoch_->first_minibatch) % stage.size()];
}

// The actors beside this stage, which are those that its options ask for, on its node.
result<void> stage_actor::take_beside(proto::ConnectStage::Reader body) {
    const std::pair<run_role, actor_address> named[] = {
        {run_role::reducer, read_address(body.getReducer())},
        {run_role::peer, read_address(body.getPeer())},
        {run_role::shard, read_address(body.getShard())},
        {run_role::cache, read_address(body.getCache())}};
    for (const auto& [role, address] : named) {
        const bool is_due = std::ranges::count(options_.beside, role) > 0;
        if (is_due != address.operator bool() || (is_due && address.node != self().node))
            return error{errc::protocol, is_due
                                             ? "there is no " + std::string{name_of(role)} +
                                                   " beside this stage on its node"
                                             : "this stage has no " + std::string{name_of(role)} +
                                                   " beside it, but is told of one"};
    }
    options_.reducer = named[0].second;
    options_.peer = options_.sync.averages_weights() ? options_.reducer : named[1].second;
    options_.shard = named[2].second;
    options_.cache = named[3].second;
    return {};
}

void stage_actor::connect(proto::ConnectStage::Reader body, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    if (latest_ || running_)
        return reject("this stage is connected already");
    if (body.getPrevious().size() == 0 || (body.getNext().size() == 0) != is_last())
        return fail({errc::protocol, "the neighbours of this stage are not there"});
    if (auto there = take_beside(body); !there)
        return fail(there.failure());
    for (const auto replica : body.getPrevious())
        watch(previous_.emplace_back(read_address(replica)));
    for (const auto replica : body.getNext())
        watch(next_.emplace_back(read_address(replica)));
    source_ = read_address(body.getSource());
    to_previous_ = way_to(previous_, body.getPreviousIsBeside());
    to_next_ = way_to(next_, body.getNextIsBeside());
    for (const auto& [to, stage] : {std::pair{to_previous_, &previous_}, {to_next_, &next_}})
        if (to == way::beside && (stage->empty() || stage->front().node != self().node))
            return fail({errc::protocol, "a stage of another node is not on this stage's device"});
    if (options_.reducer) {
        if (body.getReducers().size() != options_.replica.replicas)
            return fail({errc::protocol, "there is not one reducer for each replica"});
        watch(options_.reducer);
        frame_builder<proto::JoinReduction> join;
        join.body().setRank(options_.replica.replica);
        join.body().setMembers(body.getReducers());
        send(options_.reducer, std::move(join));
    }
    if (options_.peer) {
        if (body.getJoins())
            joins_at_ = weight_version{body.getWeightVersion()};
        watch(options_.peer);
        for (const auto peer : body.getPeers())
            peers_.push_back(read_address(peer));
        if (!peers_.empty() && peers_[0] != options_.peer)
            watch(peers_[0]);
    }
    for (const auto shard : body.getShards())
        watch(shards_.emplace_back(read_address(shard)));
    for (const auto reducer : body.getReducers())
        watch(reducers_.emplace_back(read_address(reducer)));
    if (body.getRestored()) {
        auto restored = weights_from(body, f);
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
    server_version_ = latest_->version;
    if (!peers_.empty())
        return join_peers();
    if (!options_.cache)
        return tell_ready();
    watch(options_.cache);
    frame_builder<proto::JoinServer> join;
    join.body().setWorker(options_.worker);
    write_address(join.body().initKeeps(), options_.shard);
    auto list = join.body().initShards(static_cast<unsigned>(shards_.size()));
    for (unsigned k = 0; k < list.size(); ++k)
        write_address(list[k], shards_[k]);
    join.body().setWeightVersion(latest_->version.value());
    write_counts(join.body().initUpdates(static_cast<unsigned>(latest_->updates.size())),
                 latest_->updates);
    std::vector<tensor> kept = latest_->parameters;
    kept.insert(kept.end(), latest_->state.begin(), latest_->state.end());
    take_out_then(std::move(kept), [this, join = std::make_shared<frame_builder<proto::JoinServer>>(
                                              std::move(join))](std::vector<tensor> tensors) {
        for (tensor& t : tensors)
            join->attach(std::move(t));
        send(options_.cache, std::move(*join));
    });
}

void stage_actor::tell_ready() {
    frame_builder<proto::StageReady> answer;
    answer.body().setStage(options_.place.stage);
    answer.body().setReplica(options_.replica.replica);
    send(options_.trainer, std::move(answer));
}

result<weights_ptr> stage_actor::weights_from(proto::ConnectStage::Reader body,
                                              const frame& f) const {
    const weights_layout layout = options_.program->layout(options_.rule->state());
    if (auto fits = layout.check(f.tensors(), body.getUpdates().size()); !fits)
        return fits.failure().in("the weights to start from");
    return layout.assemble(weight_version{body.getWeightVersion()}, f.tensors(),
                           read_counts(body.getUpdates()));
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

// What the device has in its own memory is taken out when it is idle.
void stage_actor::tell_snapshot() {
    snapshot_due_ = running_ && has_own_memory();
    if (snapshot_due_)
        return;
    auto answer = std::make_shared<frame_builder<proto::Snapshot>>();
    answer->body().setStage(options_.place.stage);
    answer->body().setWeightVersion(version_to_tell());
    const std::vector<std::uint64_t>& updates = settled()->updates;
    write_counts(answer->body().initUpdates(static_cast<unsigned>(updates.size())), updates);
    answer->envelope().setWeightVersion(version_to_tell());
    take_out_then(settled()->tensors(), [this, answer](std::vector<tensor> tensors) {
        for (tensor& t : tensors)
            answer->attach(std::move(t));
        send(options_.trainer, std::move(*answer));
    });
}

// ---- the device ---------------------------------------------------------------------------------------------------

void stage_actor::submit(job j) {
    TROUPE_CHECK(!running_, "one piece of work at a time");
    results_ = std::make_shared<work_results>();
    device_task task;
    task.cost_hint = j.flops;
    task.owner = self().actor.value();
    task.urgency =
        j.what && j.what->what == pass::forward ? task_urgency::usual : task_urgency::soon;
    task.name = j.label;
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
    if (body.hasFailure()) {
        const error why = read_failure(body.getFailure()).in(done.label);
        return fail(why.code() == errc::exhausted ? with_holdings(why) : why);
    }
    if (epoch_)
        epoch_->busy_ns += body.getBusyNs();
    keep_brought_in();
    done.then();
    if (done.what)
        epoch_->position = position_after(*done.what, epoch_->shape, epoch_->position);
    if (!running_) // else it has begun the next work
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
    for (const auto& [neighbours, number] :
         {std::pair{&next_, stage + 1}, {&previous_, stage - 1}}) {
        const auto found = std::ranges::find(*neighbours, who);
        if (found == neighbours->end() || number >= options_.place.stages)
            continue;
        return fail(lost, number,
                    stages_differ() ? static_cast<std::uint32_t>(found - neighbours->begin())
                                    : options_.replica.replica);
    }
    // What stands beside this stage ends with its peers, or by itself; of these the ones that are lost are told by name.
    if ((who == options_.reducer || who == options_.cache || who == options_.peer) &&
        why.code() != errc::lost)
        return fail(why);
    // A replica that is cut off from the first one's peer is lost itself, to what all have in common.
    if (!peers_.empty() && who == peers_[0] && who != options_.peer && why.code() == errc::lost)
        return fail(lost.in("cut off from the first replica"), stage, options_.replica.replica);
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
    if (std::ranges::count(previous_, f.from()) > 0 || std::ranges::count(next_, f.from()) > 0 ||
        f.from() == options_.reducer || f.from() == options_.cache || f.from() == options_.peer)
        fail(read_failure(body).in("a neighbour refused a message"));
    else if (f.from() == options_.trainer)
        fail(read_failure(body).in("the trainer refused a message"));
}

} // namespace troupe
