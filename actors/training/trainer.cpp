#include "actors/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "actors/messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

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

double mean(double sum, std::uint64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : 0;
}

} // namespace

trainer::trainer(actor_context& context, trainer_options options)
    : actor{context}, options_{std::move(options)}, course_{course_of(options_)} {
    TROUPE_CHECK(!options_.devices.empty() && options_.listener != nullptr,
                 "a trainer has devices and a listener");
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
    on<proto::WorkerExpected>(&trainer::worker_expected);
    on<proto::PeerExpected>(&trainer::peer_expected);
    on<proto::NodeJoined>(&trainer::node_joined);
    on<proto::NodeLost>(&trainer::node_lost);
    on<proto::MemberList>(&trainer::members_listed);
    on<proto::StopRun>(&trainer::stop);
}

// ---- the course -----------------------------------------------------------------------------------------------------

void trainer::on_start() {
    listener_ = runtime().spawn_of_run<listening_actor>(run(), "reporter", self(),
                                                        std::ref(*options_.listener));
    if (options_.resume) {
        version_ = options_.resume->info().progress.version;
        report_.checkpoint = options_.resume->info().folder.string();
    }
    // New nodes may take the place of lost ones.
    if (app().getTopology().getReplicas() > 1)
        send({self().node, well_known::cluster}, frame_builder<proto::Subscribe>{});
    carry_out(course_.phase());
}

bool trainer::take(run_phase asked, std::size_t placement) {
    if (course_.take(asked, placement))
        return true;
    reject("this was not asked for, or has been answered already");
    return false;
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
        return restore();
    case run_phase::connecting:
        return connect();
    case run_phase::training:
        return let_one_join() ? void() : train();
    case run_phase::evaluating:
        return evaluate();
    case run_phase::snapshotting:
        return take_snapshots();
    case run_phase::writing:
        return write_checkpoint();
    case run_phase::finished:
        return finish(course_.stopping() ? std::optional{error{errc::cancelled, stopped_in_order()}}
                                         : std::nullopt);
    }
}

// ---- epochs -----------------------------------------------------------------------------------------------------------

void trainer::train() {
    for (const std::uint32_t replica : std::exchange(joined_, {})) {
        frame_builder<proto::ReplicaJoined> joined;
        joined.body().setReplica(replica);
        write_address(joined.body().initFirstStage(), stages()[*placement_of(replica, 0)]);
        write_address(
            joined.body().initLastStage(),
            stages()[*placement_of(replica, static_cast<std::uint32_t>(plan_.stages.size()) - 1)]);
        send(source_, std::move(joined));
    }
    const std::uint64_t skip = course_.minibatches_done_of_epoch();
    minibatches_of_epoch_.reset();
    versions_.assign(plan_.stages.size(), std::nullopt);
    progress_ = {};
    progress_.epoch = course_.epoch();
    progress_.samples =
        options_.data->train.size() - skip * course_.shape().batch.at(course_.epoch());
    epoch_began_ = now();
    frame_builder<proto::RunEpoch> request;
    request.body().setEpoch(course_.epoch());
    request.body().setFirstMinibatch(course_.minibatches_done());
    request.body().setSkipMinibatches(skip);
    send(source_, std::move(request));
}

void trainer::minibatch_done(proto::MinibatchDone::Reader body, const frame& f) {
    if (course_.phase() != run_phase::training)
        return reject("no epoch is running");
    bool is_last = false; // the sender is the last stage of a replica
    for (std::size_t placement = 0; placement < stages().size(); ++placement)
        is_last = is_last || (stages()[placement] == f.from() &&
                              stage_at(placement) + 1 == plan_.stages.size());
    if (!is_last)
        return reject("the sender is not the last stage of a replica");
    if (!std::isfinite(body.getLossSum()))
        return fail({errc::protocol, "the last stage reports a loss that is not a number"});
    progress_.samples_done += body.getSamples();
    progress_.loss_sum += body.getLossSum();
    progress_.counted += body.getCounted();
    if (classifies())
        progress_.correct = progress_.correct.value_or(0) + body.getCorrect();
    progress_.elapsed = now() - epoch_began_;
    tell(news_of(progress_));
}

void trainer::stage_epoch_done(proto::StageEpochDone::Reader body, const frame& f) {
    if (body.getEpoch() != course_.epoch())
        return reject("this epoch is not running");
    const auto placement = placement_of_sender(body.getReplica(), body.getStage(), f);
    if (!placement || !take(run_phase::training, *placement))
        return;
    std::optional<weight_version>& version = versions_[body.getStage()];
    if ((minibatches_of_epoch_ && body.getMinibatches() != *minibatches_of_epoch_) ||
        (version && body.getWeightVersion() != version->value()))
        return fail({errc::protocol, "the stages do not agree on how far the epoch went"});
    if (!course_.may_end_after(body.getMinibatches()))
        return fail({errc::protocol, "an epoch ends that has run " +
                                         std::to_string(body.getMinibatches()) + " minibatches"});
    stage_report& stage = report_.stages[*placement];
    if (stage.lags.size() < body.getLags().size())
        stage.lags.resize(body.getLags().size());
    for (unsigned k = 0; k < body.getLags().size(); ++k)
        stage.lags[k] += body.getLags()[k];
    stage.dropped += body.getDropped();
    stage.busy_share = body.getEpochNs() > 0 ? static_cast<double>(body.getBusyNs()) /
                                                   static_cast<double>(body.getEpochNs())
                                             : 0;
    stage.weight_version = body.getWeightVersion();
    const auto memory = body.getMemory();
    if (!report_.epochs.empty())
        stage.system_allocations_of_last_epoch =
            memory.getSystemAllocations() - stage.system_allocations;
    stage.memory_peak_bytes = memory.getBytesInUsePeak();
    stage.memory_reserved_bytes = memory.getBytesReserved();
    stage.system_allocations = memory.getSystemAllocations();
    minibatches_of_epoch_ = body.getMinibatches();
    version = weight_version{body.getWeightVersion()};
    const auto trains = [](const planned_stage& s) { return s.parameters > 0; };
    if (std::ranges::find_if(plan_.stages, trains) - plan_.stages.begin() == body.getStage())
        version_ = *version;
    training_ended_ = now();
    go_on(body.getMinibatches());
}

void trainer::evaluate() {
    frame_builder<proto::RunEvaluation> request;
    request.body().setEpoch(course_.epoch());
    send(source_, std::move(request));
}

void trainer::evaluation_done(proto::EvaluationDone::Reader body, const frame& f) {
    if (body.getEpoch() != course_.epoch())
        return reject("this evaluation is not running");
    if (!placement_of_sender(0, static_cast<std::uint32_t>(plan_.stages.size() - 1), f) ||
        !take(run_phase::evaluating))
        return;
    if (body.getSamples() != options_.data->test.size())
        return fail({errc::protocol, "the evaluation has not seen the whole test set"});
    if (!std::isfinite(body.getLossSum()))
        return fail({errc::protocol, "the last stage reports a test loss that is not a number"});
    const double seconds = std::chrono::duration<double>(training_ended_ - epoch_began_).count();
    epoch_report report;
    report.epoch = course_.epoch();
    report.samples = progress_.samples_done;
    report.train_loss = mean(progress_.loss_sum, progress_.counted);
    report.test_loss = mean(body.getLossSum(), body.getCounted());
    if (classifies())
        report.test_accuracy = mean(static_cast<double>(body.getCorrect()), body.getCounted());
    report.seconds = seconds;
    report.samples_per_second =
        seconds > 0 ? static_cast<double>(progress_.samples_done) / seconds : 0;
    report_.epochs.push_back(report);
    tell(news_of(report));
    go_on();
}

// ---- ends -------------------------------------------------------------------------------------------------------------

void trainer::stop(proto::StopRun::Reader, const frame&) {
    const bool again = course_.stopping();
    if (course_.stop())
        return finish(error{errc::cancelled, stopped_at_once(again)});
    if (course_.phase() == run_phase::training)
        send(source_, frame_builder<proto::StopData>{});
}

void trainer::stage_failed(proto::StageFailed::Reader body, const frame& f) {
    const error why = read_failure(body.getFailure());
    if (f.from() == source_)
        return fail(advised(why));
    const auto placement = placement_of_sender(body.getReplica(), body.getStage(), f);
    if (!placement)
        return;
    const std::string stage = name_of_stage(*placement);
    if (course_.has_lost(replica_at(*placement)))
        return;
    if (const auto other = placement_of(body.getLostReplica(), body.getLostStage()))
        return goes_on_without(*other, why)
                   ? void()
                   : fail(lost(why, name_of_stage(*other) + " (noticed by " + stage + ")"));
    if (course_.is_joining(replica_at(*placement)))
        return give_up_newcomer(*placement, why);
    fail(advised(why.in(stage), &device_at(*placement)));
}

// `why` is an error of computing: exhausted refers to memory, numeric to the loss or the weights. A stage makes its weights
// first, whose size does not depend on the batch.
error trainer::advised(const error& why, const plan_device* where) const {
    const bool is_of_weights = course_.phase() == run_phase::connecting;
    const batch_sizes& sizes = course_.shape().batch;
    const std::uint32_t batch = sizes.at(course_.epoch());
    const std::string key = batch > sizes.first ? "train.batch_growth.maximum" : "train.batch";
    if (why.code() == errc::exhausted) {
        std::vector<std::string> ways{is_of_weights || batch == 1 ? "smaller layers"
                                                                  : "a smaller " + key};
        if (plan_.stages.empty() || plan_.stages.size() < plan_.layers.size())
            ways.emplace_back("more stages");
        const bool of_gpu = where != nullptr && is_gpu(*where);
        return {why.code(),
                why.message() + "; use " + alternatives(ways) +
                    (of_gpu ? options_.more_memory.of_gpus : options_.more_memory.of_host)};
    }
    if (why.code() == errc::numeric)
        return {
            why.code(),
            why.message() + "; a smaller learning_rate (train.optimizer) may help" +
                (report_.checkpoint ? "; the last good checkpoint is " + *report_.checkpoint : "")};
    return why;
}

std::string trainer::name_of_stage(std::size_t placement) const {
    const plan_device& where = device_at(placement);
    const std::string replica = plan_.stages[stage_at(placement)].where.size() > 1
                                    ? " of replica " + std::to_string(replica_at(placement))
                                    : "";
    return "stage " + std::to_string(stage_at(placement)) + replica + " on " + where_text(where);
}

// The message of a stop after which the epoch was cut short and its checkpoint written.
std::string trainer::stopped_in_order() const {
    const checkpoint_progress progress = how_far();
    const std::uint64_t minibatches = progress.minibatches_of_epoch;
    const std::string epoch = std::to_string(progress.epochs_done + (minibatches > 0 ? 1 : 0));
    const std::string where =
        minibatches > 0 ? "in epoch " + epoch + " after " + std::to_string(minibatches) + " of " +
                              std::to_string(course_.shape().minibatches_of(progress.epochs_done)) +
                              " minibatches"
        : progress.epochs_done > 0 ? "after epoch " + epoch
                                   : "before the first minibatch";
    return "stopped " + where +
           (report_.checkpoint
                ? ", saved in " + *report_.checkpoint + "; go on from there with --resume"
                : "; nothing was saved: the app names no checkpoint.directory");
}

std::string trainer::stopped_at_once(bool again) const {
    const std::string stopped =
        again ? "stopped at once by a second signal; " : "stopped before training; ";
    // Only the worker's WorkDone tells whether the checkpoint is in its place.
    if (course_.phase() == run_phase::writing)
        return stopped + "the last checkpoint may or may not have been finished" +
               (report_.checkpoint ? ", the one before it is " + *report_.checkpoint : "") +
               "; --resume goes on from the newest that was";
    if (report_.checkpoint)
        return stopped + "the last checkpoint is " + *report_.checkpoint +
               "; go on from it with --resume";
    return stopped + "nothing was saved" +
           (options_.store ? "" : ": the app names no checkpoint.directory");
}

// Advice on going on after a loss.
std::string trainer::advice() const {
    return report_.checkpoint
               ? "; the last checkpoint is " + *report_.checkpoint + ", go on from it with --resume"
               : std::string{options_.store ? "; no checkpoint was saved yet"
                                            : "; nothing was saved: the app names no "
                                              "checkpoint.directory"};
}

// `why` names the node or actor.
error trainer::lost(const error& why, const std::string& what) const {
    return {errc::lost, why.message() + "; it carried " + what + advice()};
}

void trainer::on_down(actor_address who, const error& why) {
    if (who != source_ && goes_on_without_node(who, why))
        return;
    std::string what = who == source_ ? "the data" : "";
    for (std::size_t placement = 0; placement < stages().size(); ++placement)
        if (who == stages()[placement] || who == agent_of(device_at(placement)))
            what += (what.empty() ? "" : ", ") + name_of_stage(placement) +
                    (shards()[placement] && plan_.sync.bears_loss()
                         ? " with a shard of its parameter server, without which no run goes on" +
                               std::string{has_other_shards(placement)
                                               ? " (with parameter_server.shards: 1 only the first "
                                                 "replica has one)"
                                               : ""}
                         : "");
    fail(lost(why, what.empty() ? "the measurement of layers" : what));
}

// The owner waits for finished(); an actor that ends by a bug, or with its node, must not leave it waiting.
void trainer::on_end() {
    finish(error{errc::lost, "the trainer ended unexpectedly" + advice()});
}

void trainer::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (body.getGone())
        return; // on_down() says why
    // Any actor may write to this one; only an actor that it sends messages to can have refused one.
    if (f.from() == source_ || f.from() == profiler() || is_agent(f.from()) ||
        std::ranges::count(stages(), f.from()) > 0)
        fail(read_failure(body).in("a message was refused"));
}

void trainer::finish(std::optional<error> failure) {
    if (std::exchange(told_, told::finished) == told::finished)
        return;
    course_.fail();
    report_.failure = std::move(failure);
    unwatch(source_);
    for (const actor_address stage : stages())
        unwatch(stage);
    for (const actor_address agent : cast_.agents()) {
        unwatch(agent);
        send(agent, release_message(options_.run, report_.failure));
    }
    if (source_)
        runtime().end(source_, {errc::cancelled, "the run is over"});
    tell(news_of(report_, options_.data->train.classes));
    quit();
}

} // namespace troupe
