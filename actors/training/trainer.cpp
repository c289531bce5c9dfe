#include "actors/training/trainer.hpp"

#include <algorithm>
#include <utility>

#include "actors/messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "actors/training/run_sentences.hpp"

namespace troupe {

namespace {

constexpr const char* last_checkpoint = "the last checkpoint";

run_course_options course_of(const trainer_options& o) {
    run_course_options c;
    c.measures = needs_layer_times(o.app.app(), o.devices);
    c.saves = o.store != nullptr;
    c.save_every_epochs = o.app.app().getCheckpoint().getEveryEpochs();
    c.shape = run_shape::of(o.app.app().getTrain(), o.data->train.size());
    if (o.resume) {
        c.resumes = true;
        c.epochs_done = o.resume->info().progress.epochs_done;
        c.minibatches_done = o.resume->info().progress.minibatches_done;
    }
    return c;
}

frame_builder<proto::RunEvaluation> evaluation_of(std::uint32_t epoch) {
    frame_builder<proto::RunEvaluation> request;
    request.body().setEpoch(epoch);
    return request;
}

// The first stage that has parameters.
std::size_t leader_of(const plan& p) {
    const auto trains = [](const planned_stage& s) { return s.needs.parameters > 0; };
    return static_cast<std::size_t>(std::ranges::find_if(p.stages, trains) - p.stages.begin());
}

} // namespace

trainer::trainer(actor_context& context, trainer_options options)
    : actor{context}, options_{std::move(options)}, course_{course_of(options_)},
      devices_{std::move(options_.devices)},
      checkpoints_{*this, options_.io,
                   [this](const trainer_checkpoint::outcome& done) { checkpoint_done(done); }} {
    TROUPE_CHECK(options_.listener != nullptr, "a trainer has a listener");
    on<proto::LayerTimes>(&trainer::layer_times);
    on<proto::ProfileFailed>(&trainer::profile_failed);
    on<proto::Spawned>(&trainer::spawned);
    on<proto::SpawnFailed>(&trainer::spawn_failed);
    on<proto::StageReady>(&trainer::stage_ready);
    on<proto::StageFailed>(&trainer::stage_failed);
    on<proto::MinibatchDone>(&trainer::minibatch_done);
    on<proto::StageEpochDone>(&trainer::stage_epoch_done);
    on<proto::EvaluationDone>(&trainer::evaluation_done);
    on<proto::Snapshot>(&trainer::snapshot);
    on<proto::MinibatchesLost>(&trainer::minibatches_lost);
    on<proto::WorkerExpected>(&trainer::expected<proto::WorkerExpected::Reader>);
    on<proto::PeerExpected>(&trainer::expected<proto::PeerExpected::Reader>);
    on<proto::NodeJoined>(&trainer::node_joined);
    on<proto::NodeLost>(&trainer::node_lost);
    on<proto::MemberList>(&trainer::members_listed);
    on<proto::StopRun>(&trainer::stop);
    on<proto::SaveAgain>(&trainer::save_again);
}

// ---- the course -----------------------------------------------------------------------------------------------------

void trainer::on_start() {
    listener_ = runtime().spawn_of_run<listening_actor>(run(), "reporter", self(),
                                                        std::ref(*options_.listener));
    if (options_.resume) {
        tally_ = epoch_tally{{.version = options_.resume->info().progress.version}};
        report_.checkpoint = options_.resume->info().folder.string();
    }
    // New nodes may take the place of lost ones.
    if (options_.app.app().getTopology().getReplicas() > 1)
        send({self().node, well_known::cluster}, frame_builder<proto::Subscribe>{});
    carry_out(course_.phase());
}

bool trainer::take(run_phase asked, std::size_t placement) {
    if (course_.take(asked, placement))
        return true;
    reject("this was not asked for, or has been answered already");
    return false;
}

std::optional<std::size_t> trainer::placement_of_sender(std::uint32_t replica, std::uint32_t stage,
                                                        const frame& f) {
    const auto placement = cast_.placement_of(replica, stage);
    if (placement && cast_.all(run_role::stage)[*placement] == f.from())
        return placement;
    reject("the sender is not this stage");
    return std::nullopt;
}

void trainer::go_on(std::uint64_t minibatches) {
    if (course_.complete())
        carry_out(course_.advance(minibatches));
}

void trainer::carry_out(run_phase phase) {
    switch (phase) {
    case run_phase::measuring:
        return measure();
    case run_phase::placing:
        return place();
    case run_phase::restoring:
        return checkpoints_.restore(std::move(options_.resume), plan_.stages);
    case run_phase::connecting:
        return connect();
    case run_phase::training:
        return let_one_join() ? void() : train();
    case run_phase::evaluating:
        return send(source_, evaluation_of(course_.epoch()));
    case run_phase::snapshotting:
        // Replicas have the same weights by now; with local SGD each has its own optimizer state.
        for (std::size_t s = 0; s < plan_.stages.size(); ++s)
            send(cast_.all(run_role::stage)[s], frame_builder<proto::TakeSnapshot>{});
        return;
    case run_phase::writing:
        return checkpoints_.write(
            options_.store,
            progress_of(course_, tally_.version(), options_.app.app(), *options_.data),
            plan_.stages);
    case run_phase::finished:
        return finish(course_.stopping()
                          ? std::optional{error{errc::cancelled,
                                                stopped_in_order({course_, report_.checkpoint})}}
                          : std::nullopt);
    }
}

// ---- epochs -----------------------------------------------------------------------------------------------------------

void trainer::train() {
    const std::vector<actor_address>& stages = cast_.all(run_role::stage);
    const auto last = static_cast<std::uint32_t>(plan_.stages.size()) - 1;
    for (const std::uint32_t replica : changes_.tell_source()) {
        frame_builder<proto::ReplicaJoined> joined;
        joined.body().setReplica(replica);
        write_address(joined.body().initFirstStage(), stages[*cast_.placement_of(replica, 0)]);
        write_address(joined.body().initLastStage(), stages[*cast_.placement_of(replica, last)]);
        send(source_, std::move(joined));
    }
    const std::uint64_t skip = course_.minibatches_done_of_epoch();
    tally_ = epoch_tally{
        {.epoch = course_.epoch(),
         .samples = options_.data->train.size() - skip * course_.shape().batch.at(course_.epoch()),
         .stages = plan_.stages.size(),
         .leader = leader_of(plan_),
         .classifies = options_.app.app().getModel().getLoss().isCrossEntropy(),
         .rates = rates_of(options_.app.app(), course_.shape(), course_.epoch()),
         .version = tally_.version(),
         .began = now()}};
    frame_builder<proto::RunEpoch> request;
    request.body().setEpoch(course_.epoch());
    request.body().setFirstMinibatch(course_.minibatches_done());
    request.body().setSkipMinibatches(skip);
    send(source_, std::move(request));
}

void trainer::minibatch_done(proto::MinibatchDone::Reader body, const frame& f) {
    if (course_.phase() != run_phase::training)
        return reject("no epoch is running");
    const auto placement = cast_.placement_of(f.from());
    if (!placement || cast_.stage_at(*placement) + 1 != plan_.stages.size())
        return reject("the sender is not the last stage of a replica");
    if (auto counted = tally_.count(body, now()); !counted)
        return finish(counted.failure());
    tell(news_of(tally_.progress()));
}

void trainer::stage_epoch_done(proto::StageEpochDone::Reader body, const frame& f) {
    if (body.getEpoch() != course_.epoch())
        return reject("this epoch is not running");
    const auto placement = placement_of_sender(body.getReplica(), body.getStage(), f);
    if (!placement || !take(run_phase::training, *placement))
        return;
    if (auto agreed = tally_.end_stage(body, now()); !agreed)
        return finish(agreed.failure());
    if (!course_.may_end_after(body.getMinibatches()))
        return finish(error{errc::protocol, "an epoch ends that has run " +
                                                std::to_string(body.getMinibatches()) +
                                                " minibatches"});
    add_epoch(report_.stages[*placement], body, report_.epochs.empty());
    go_on(body.getMinibatches());
}

void trainer::evaluation_done(proto::EvaluationDone::Reader body, const frame& f) {
    if (body.getEpoch() != course_.epoch())
        return reject("this evaluation is not running");
    if (!placement_of_sender(0, static_cast<std::uint32_t>(plan_.stages.size() - 1), f) ||
        !take(run_phase::evaluating))
        return;
    auto report = tally_.evaluate(body, options_.data->test.size());
    if (!report)
        return finish(report.failure());
    report_.epochs.push_back(*report);
    tell(news_of(*report));
    go_on();
}

// ---- checkpoints ------------------------------------------------------------------------------------------------------

void trainer::snapshot(proto::Snapshot::Reader body, const frame& f) {
    if (!placement_of_sender(0, body.getStage(), f) ||
        !take(run_phase::snapshotting, body.getStage()))
        return;
    if (tally_.version_of(body.getStage()) != weight_version{body.getWeightVersion()})
        return finish(error{errc::protocol,
                            "a snapshot is of another weight version than the epoch ended with"});
    checkpoints_.keep(body.getStage(), current());
    go_on();
}

// Has no effect if the run has finished meanwhile. The last checkpoint is what the run is for: without it the run is not
// over, but needs its actors no more.
void trainer::checkpoint_done(const trainer_checkpoint::outcome& outcome) {
    const result<std::string>& folder = outcome.folder;
    if (course_.take(run_phase::restoring))
        return folder ? go_on() : finish(folder.failure());
    if (course_.phase() != run_phase::writing)
        return;
    if (!folder && !may_be_written_later(folder.failure())) {
        const error why = folder.failure().in("saving a checkpoint");
        return why.code() == errc::numeric ? fail_computing(why) : finish(why);
    }
    if (!folder && course_.is_last()) {
        if (!disk_.checkpoints.is_kept())
            let_actors_go(std::nullopt);
        const auto wait = disk_.checkpoints.keep(folder.failure());
        if (!wait)
            return finish(given_up_unwritten(last_checkpoint, folder.failure(),
                                             how_to_go_on({course_, report_.checkpoint})));
        if (disk_.checkpoints.fail())
            tell(run_note{kept_unwritten(last_checkpoint, folder.failure())});
        after(*wait, frame_builder<proto::SaveAgain>{});
        return;
    }
    course_.take(run_phase::writing);
    if (!folder) {
        checkpoints_.let_go();
        if (disk_.checkpoints.fail())
            tell(run_note{goes_on_unwritten("a checkpoint", folder.failure(),
                                            next_is_tried(report_.checkpoint.value_or("")))});
        return go_on();
    }
    report_.checkpoint = *folder;
    if (const std::uint64_t failures = disk_.checkpoints.succeed(); failures > 0)
        tell(run_note{disk_.checkpoints.is_kept() ? written_after_all(last_checkpoint)
                                                  : written_again("checkpoints", failures)});
    if (!outcome.undeleted)
        disk_.deletions.succeed();
    else if (disk_.deletions.fail())
        tell(run_note{older_stay(*outcome.undeleted)});
    go_on();
}

void trainer::save_again(proto::SaveAgain::Reader, const frame& f) {
    if (f.from() != self())
        return reject("only the trainer tells itself so");
    if (course_.phase() == run_phase::writing)
        carry_out(run_phase::writing);
}

// ---- ends -------------------------------------------------------------------------------------------------------------

void trainer::stop(proto::StopRun::Reader, const frame&) {
    if (disk_.checkpoints.is_kept())
        return finish(stopped_unwritten(last_checkpoint, disk_.checkpoints.reason(),
                                        how_to_go_on({course_, report_.checkpoint})));
    const bool again = course_.stopping();
    if (course_.stop())
        return finish(
            error{errc::cancelled, stopped_at_once({course_, report_.checkpoint}, again)});
    if (course_.phase() == run_phase::training)
        send(source_, frame_builder<proto::StopData>{});
}

void trainer::stage_failed(proto::StageFailed::Reader body, const frame& f) {
    if (disk_.checkpoints.is_kept())
        return;
    const error why = read_failure(body.getFailure());
    if (f.from() == source_)
        return fail_computing(why);
    const auto placement = placement_of_sender(body.getReplica(), body.getStage(), f);
    if (!placement || course_.has_lost(cast_.replica_at(*placement)))
        return;
    const std::string stage = cast_.describe(*placement);
    if (const auto other = cast_.placement_of(body.getLostReplica(), body.getLostStage())) {
        // With servers of nodes, all replicas of a node are lost together, and the end of its agent tells of them.
        const bool counts = !plan_.sync.node_servers || course_.has_lost(cast_.replica_at(*other));
        return counts && goes_on_without({*other}, why)
                   ? void()
                   : finish(ended_by_loss({course_, report_.checkpoint}, why,
                                          cast_.describe(*other) + " (noticed by " + stage + ")"));
    }
    if (course_.is_joining(cast_.replica_at(*placement)))
        return lose_replica(*placement, why); // the newcomer cannot begin
    fail_computing(why.in(stage), &cast_.where(*placement));
}

void trainer::on_down(actor_address who, const error& why) {
    std::string what = "the data";
    if (who != source_) {
        devices_.lose(who.node);
        if (goes_on_without(cast_.placements_on(who.node), why))
            return;
        what = carried_by(who, plan_, cast_);
    }
    finish(ended_by_loss({course_, report_.checkpoint}, why,
                         what.empty() ? "the measurement of layers" : what));
}

// The owner waits for finished(); an actor that ends by a bug, or with its node, must not leave it waiting.
void trainer::on_end() {
    finish(error{errc::lost,
                 "the trainer ended unexpectedly" + how_to_go_on({course_, report_.checkpoint})});
}

void trainer::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (body.getGone() || disk_.checkpoints.is_kept())
        return; // on_down() says why
    // Any actor may write to this one; only an actor that it sends messages to can have refused one.
    if (f.from() == source_ || f.from() == devices_.profiler() || devices_.has_agent(f.from()) ||
        std::ranges::count(cast_.all(run_role::stage), f.from()) > 0)
        finish(read_failure(body).in("a message was refused"));
}

void trainer::fail_computing(const error& why, const plan_device* where) {
    const memory_advice& more = options_.more_memory;
    finish(
        advised({course_, report_.checkpoint}, why,
                {.more_stages = plan_.stages.empty() || plan_.stages.size() < plan_.layers.size(),
                 .elsewhere = where != nullptr && is_gpu(*where) ? more.of_gpus : more.of_host}));
}

void trainer::let_actors_go(const std::optional<error>& failure) {
    unwatch(source_);
    for (const actor_address stage : cast_.all(run_role::stage))
        unwatch(stage);
    for (const actor_address agent : cast_.agents()) {
        unwatch(agent);
        send(agent, release_message(options_.run, failure));
    }
    if (source_)
        runtime().end(source_, {errc::cancelled, "the run is over"});
}

void trainer::finish(std::optional<error> failure) {
    if (std::exchange(told_, told::finished) == told::finished)
        return;
    course_.fail();
    report_.failure = std::move(failure);
    if (!disk_.checkpoints.is_kept())
        let_actors_go(report_.failure);
    tell(news_of(report_, options_.data->train.classes));
    quit();
}

} // namespace troupe
