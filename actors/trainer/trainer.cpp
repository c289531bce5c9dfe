#include "actors/trainer/trainer.hpp"

#include <cmath>

#include "actors/data/data_source.hpp"
#include "actors/messages.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe {

trainer::trainer(actor_context& context, trainer_options options)
    : actor{context}, options_{std::move(options)} {
    TROUPE_CHECK(!options_.devices.empty() && options_.observer != nullptr,
                 "a trainer has devices and an observer");
    on<proto::LayerTimes>(&trainer::layer_times);
    on<proto::PlaceFailed>(&trainer::place_failed);
    on<proto::StagePlaced>(&trainer::stage_placed);
    on<proto::StageReady>(&trainer::stage_ready);
    on<proto::StageFailed>(&trainer::stage_failed);
    on<proto::MinibatchDone>(&trainer::minibatch_done);
    on<proto::StageEpochDone>(&trainer::stage_epoch_done);
    on<proto::EvaluationDone>(&trainer::evaluation_done);
    on<proto::Snapshot>(&trainer::snapshot);
    on<proto::WorkDone>(&trainer::work_done);
    on<proto::StopRun>(&trainer::stop);
}

// ---- measuring and placing ------------------------------------------------------------------------------------------

void trainer::on_start() {
    if (options_.resume) {
        const checkpoint_progress& from = options_.resume->info().progress;
        epoch_ = from.epochs_done;
        minibatches_done_ = from.minibatches_done;
        version_ = from.version;
    }
    if (needs_layer_times(app(), options_.devices.size()))
        measure();
    else
        place({});
}

std::vector<stage_program> trainer::programs() const {
    std::vector<stage_program> made;
    for (const planned_stage& stage : plan_.stages) {
        auto program = stage_program::create(app().getModel(), stage.layers);
        TROUPE_CHECK(program.ok(), "the plan was made from this model");
        made.push_back(std::move(program).value());
    }
    return made;
}

bool trainer::has_momentum() const {
    return app().getTrain().getOptimizer().getSgd().getMomentum() != 0;
}

actor_address trainer::agent_of(const plan_device& where) const {
    return {where.node, well_known::agent};
}

void trainer::measure() {
    watch(agent_of(options_.devices[0]));
    frame_builder<proto::ProfileModel> request;
    request.body().setRun(options_.run);
    request.body().setDevice(options_.devices[0].device.c_str());
    request.body().setBatch(app().getTrain().getBatch());
    request.body().setModel(app().getModel());
    send(agent_of(options_.devices[0]), std::move(request));
}

void trainer::layer_times(proto::LayerTimes::Reader body, const frame&) {
    if (state_ != state::measuring || body.getRun() != options_.run)
        return reject("nothing was asked");
    if (body.getNanoseconds().size() != app().getModel().getLayers().size())
        return fail({errc::protocol, "the measured layer times do not fit the model"});
    std::vector<double> layer_ns;
    for (const std::uint64_t ns : body.getNanoseconds())
        layer_ns.push_back(static_cast<double>(ns));
    place(std::move(layer_ns));
}

void trainer::place(std::vector<double> layer_ns) {
    state_ = state::placing;
    auto made = make_plan({app(), options_.devices, std::move(layer_ns)});
    if (!made)
        return fail(made.failure());
    plan_ = std::move(made).value();
    stages_.resize(plan_.stages.size());
    report_.stages.resize(plan_.stages.size());
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
        const planned_stage& stage = plan_.stages[s];
        frame_builder<proto::PlaceStage> request;
        auto body = request.body();
        body.setRun(options_.run);
        body.setStage(s);
        body.setStages(static_cast<std::uint32_t>(plan_.stages.size()));
        body.setFirstLayer(static_cast<std::uint32_t>(stage.layers.first));
        body.setLayers(static_cast<std::uint32_t>(stage.layers.count));
        body.setDevice(stage.where.device.c_str());
        body.setSchedule(plan_.schedule);
        body.setModel(app().getModel());
        body.setOptimizer(app().getTrain().getOptimizer());
        body.setSeed(app().getTrain().getSeed());
        watch(agent_of(stage.where));
        send(agent_of(stage.where), std::move(request));
    }
}

void trainer::place_failed(proto::PlaceFailed::Reader body, const frame&) {
    if (body.getRun() == options_.run)
        fail(read_failure(body.getFailure()));
}

void trainer::stage_placed(proto::StagePlaced::Reader body, const frame& f) {
    if (state_ != state::placing || body.getRun() != options_.run ||
        body.getStage() >= stages_.size() ||
        f.from() != agent_of(plan_.stages[body.getStage()].where))
        return reject("no such stage is being placed");
    if (!count_answer(body.getStage()))
        return;
    stages_[body.getStage()] = read_address(body.getAddress());
    watch(stages_[body.getStage()]);
    if (!all_answered())
        return;
    spawn_source();
    options_.resume ? restore() : connect();
}

// A stage answers a question once; a second answer is refused.
bool trainer::count_answer(std::size_t stage) {
    if (!answered_.insert(stage).second)
        reject("this stage has answered already");
    else
        return true;
    return false;
}

bool trainer::all_answered() {
    if (answered_.size() < stages_.size())
        return false;
    answered_.clear();
    return true;
}

bool trainer::is_stage(std::size_t stage, const frame& f) {
    if (stage < stages_.size() && stages_[stage] == f.from())
        return true;
    reject("the sender is not this stage");
    return false;
}

void trainer::spawn_source() {
    data_source_options source;
    source.data = options_.data;
    source.worker = options_.worker;
    source.schedule = plan_.schedule;
    source.stages = static_cast<std::uint32_t>(stages_.size());
    source.batch = plan_.batch;
    source.microbatches = plan_.microbatches;
    source.seed = app().getTrain().getSeed();
    source.shuffle = app().getTrain().getShuffle();
    source.first_stage = stages_.front();
    source.last_stage = stages_.back();
    source.trainer = self();
    source_ = runtime().spawn<data_source>("data-source", std::move(source));
    watch(source_);
}

void trainer::connect() {
    state_ = state::connecting;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
        frame_builder<proto::ConnectStage> request;
        write_address(request.body().initPrevious(), s == 0 ? source_ : stages_[s - 1]);
        write_address(request.body().initNext(),
                      s + 1 < stages_.size() ? stages_[s + 1] : actor_address{});
        write_address(request.body().initSource(), source_);
        if (restored_) {
            const weights& from = *(*restored_)[s];
            request.body().setRestored(true);
            request.body().setWeightVersion(from.version.value());
            for (const tensor& t : from.parameters)
                request.attach(t);
            for (const tensor& t : from.momentum)
                request.attach(t);
        }
        send(stages_[s], std::move(request));
    }
    restored_.reset();
}

void trainer::stage_ready(proto::StageReady::Reader body, const frame& f) {
    if (state_ != state::connecting)
        return reject("no stage is being connected");
    if (!is_stage(body.getStage(), f) || !count_answer(body.getStage()) || !all_answered())
        return;
    options_.observer->started(plan_);
    if (epoch_ >= app().getTrain().getEpochs())
        return finish(std::nullopt);
    next_epoch();
}

// ---- epochs -----------------------------------------------------------------------------------------------------------

std::uint64_t trainer::minibatches_per_epoch() const {
    return (options_.data->train.size() + plan_.batch - 1) / plan_.batch;
}

void trainer::next_epoch() {
    if (stopping_)
        return finish(error{errc::cancelled, stopped_sentence()});
    state_ = state::training;
    const std::uint64_t before = std::uint64_t{epoch_} * minibatches_per_epoch();
    TROUPE_CHECK(minibatches_done_ >= before,
                 "a checkpoint of another batch or data set is refused before");
    const std::uint64_t skip = minibatches_done_ - before;
    minibatches_of_epoch_ = 0;
    progress_ = {};
    progress_.epoch = epoch_;
    progress_.samples = options_.data->train.size() - skip * plan_.batch;
    epoch_began_ = now();
    frame_builder<proto::RunEpoch> request;
    request.body().setEpoch(epoch_);
    request.body().setFirstMinibatch(minibatches_done_);
    request.body().setSkipMinibatches(skip);
    request.body().setLearningRate(learning_rate_at(app().getTrain(), epoch_));
    send(source_, std::move(request));
}

void trainer::minibatch_done(proto::MinibatchDone::Reader body, const frame& f) {
    if (state_ != state::training)
        return reject("no epoch is running");
    if (!is_stage(stages_.size() - 1, f))
        return;
    if (!std::isfinite(body.getLossSum())) {
        std::string advice = "; a smaller train.optimizer.sgd.learning_rate may help";
        if (report_.checkpoint)
            advice += "; the last good checkpoint is " + *report_.checkpoint;
        return fail({errc::numeric, "the loss of minibatch " + std::to_string(body.getMinibatch()) +
                                        " is not a number" + advice});
    }
    progress_.samples_done += body.getSamples();
    progress_.loss_sum += body.getLossSum();
    progress_.correct += body.getCorrect();
    progress_.elapsed = now() - epoch_began_;
    options_.observer->progressed(progress_);
}

void trainer::stage_epoch_done(proto::StageEpochDone::Reader body, const frame& f) {
    if (state_ != state::training || body.getEpoch() != epoch_)
        return reject("this epoch is not running");
    if (!is_stage(body.getStage(), f) || !count_answer(body.getStage()))
        return;
    const bool first = answered_.size() == 1;
    if (!first && (body.getMinibatches() != minibatches_of_epoch_ ||
                   body.getWeightVersion() != version_.value()))
        return fail({errc::protocol, "the stages do not agree on how far the epoch went"});
    stage_report& stage = report_.stages[body.getStage()];
    if (stage.lags.size() < body.getLags().size())
        stage.lags.resize(body.getLags().size());
    for (unsigned k = 0; k < body.getLags().size(); ++k)
        stage.lags[k] += body.getLags()[k];
    stage.busy_share = body.getEpochNs() > 0 ? static_cast<double>(body.getBusyNs()) /
                                                   static_cast<double>(body.getEpochNs())
                                             : 0;
    stage.weight_version = body.getWeightVersion();
    minibatches_of_epoch_ = body.getMinibatches();
    version_ = weight_version{body.getWeightVersion()};
    if (!all_answered())
        return;
    training_ended_ = now();
    minibatches_done_ += minibatches_of_epoch_;
    if (minibatches_done_ < (std::uint64_t{epoch_} + 1) * minibatches_per_epoch())
        return save(); // cut short by a stop: not an epoch to report
    evaluate();
}

void trainer::evaluate() {
    state_ = state::evaluating;
    frame_builder<proto::RunEvaluation> request;
    request.body().setEpoch(epoch_);
    send(source_, std::move(request));
}

void trainer::evaluation_done(proto::EvaluationDone::Reader body, const frame& f) {
    if (state_ != state::evaluating || body.getEpoch() != epoch_)
        return reject("this evaluation is not running");
    if (!is_stage(stages_.size() - 1, f))
        return;
    if (body.getSamples() != options_.data->test.size())
        return fail({errc::protocol, "the evaluation has not seen the whole test set"});
    const double samples = static_cast<double>(body.getSamples());
    const double seconds = std::chrono::duration<double>(training_ended_ - epoch_began_).count();
    epoch_report report;
    report.epoch = epoch_;
    report.samples = progress_.samples_done;
    report.train_loss = progress_.loss_sum / static_cast<double>(progress_.samples_done);
    report.test_loss = body.getLossSum() / samples;
    report.test_accuracy = static_cast<double>(body.getCorrect()) / samples;
    report.seconds = seconds;
    report.samples_per_second =
        seconds > 0 ? static_cast<double>(progress_.samples_done) / seconds : 0;
    report_.epochs.push_back(report);
    options_.observer->epoch_done(report);
    ++epoch_;
    save();
}

// ---- ends -------------------------------------------------------------------------------------------------------------

void trainer::stop(proto::StopRun::Reader, const frame&) {
    if (std::exchange(stopping_, true) || state_ == state::measuring || state_ == state::placing ||
        state_ == state::restoring || state_ == state::connecting)
        return finish(error{errc::cancelled, stopped_sentence()});
    if (state_ == state::training)
        send(source_, frame_builder<proto::StopData>{});
}

void trainer::stage_failed(proto::StageFailed::Reader body, const frame& f) {
    const error why = read_failure(body.getFailure());
    if (f.from() == source_)
        return fail(why);
    if (!is_stage(body.getStage(), f))
        return;
    const std::string stage = name_of_stage(body.getStage());
    if (body.getLostStage() < stages_.size())
        return fail({errc::lost, stage + " lost " + name_of_stage(body.getLostStage()) + ": " +
                                     why.message() + advice()});
    fail(why.in(stage));
}

std::string trainer::name_of_stage(std::size_t s) const {
    const plan_device& where = plan_.stages[s].where;
    return "stage " + std::to_string(s) + " on " + where.node_name + "/" + where.device;
}

std::string trainer::stopped_sentence() const {
    return options_.store ? "stopped before anything was saved"
                          : "stopped; nothing was saved: the app names no checkpoint.directory";
}

// How to go on after a loss.
std::string trainer::advice() const {
    return report_.checkpoint
               ? "; the last checkpoint is " + *report_.checkpoint + ", go on from it with --resume"
               : std::string{"; no checkpoint was saved"};
}

void trainer::on_down(actor_address who, const error& why) {
    std::string what = who == source_ ? "the data source" : "";
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
        if (who == stages_[s] || who == agent_of(plan_.stages[s].where))
            what += (what.empty() ? "" : ", ") + name_of_stage(s);
    if (what.empty())
        what = "node " + options_.devices[0].node_name;
    fail({errc::lost, "lost " + what + ": " + why.message() + advice()});
}

// The owner waits for finished(); an actor that ends by a bug, or with its node, must not leave it waiting.
void trainer::on_end() {
    finish(error{errc::lost, "the trainer ended unexpectedly" + advice()});
}

void trainer::on_rejected(proto::Rejected::Reader body, const frame&) {
    if (state_ != state::finished)
        fail({errc::protocol, "a message was refused: " + std::string{body.getReason().cStr()}});
}

void trainer::finish(std::optional<error> failure) {
    if (state_ == state::finished)
        return;
    state_ = state::finished;
    report_.failure = std::move(failure);
    unwatch(source_);
    for (const actor_address stage : stages_)
        unwatch(stage);
    for (const planned_stage& stage : plan_.stages) {
        unwatch(agent_of(stage.where));
        frame_builder<proto::Release> release;
        release.body().setRun(options_.run);
        send(agent_of(stage.where), std::move(release));
    }
    if (source_)
        runtime().end(source_, {errc::cancelled, "the run is over"});
    options_.observer->finished(report_);
    quit();
}

} // namespace troupe
