// How a trainer comes to connected stages: it measures layers, makes the plan, has the stages placed and connects them.
#include <algorithm>

#include "actors/data/data_source.hpp"
#include "actors/messages.hpp"
#include "actors/trainer/trainer.hpp"

namespace troupe {

std::vector<weights_layout> trainer::layouts() const {
    std::vector<weights_layout> layouts;
    for (const planned_stage& stage : plan_.stages)
        layouts.push_back(stage.layout);
    return layouts;
}

actor_address trainer::agent_of(const plan_device& where) const {
    return {where.node, well_known::agent};
}

bool trainer::is_agent(actor_address who) const {
    return std::ranges::any_of(options_.devices,
                               [&](const plan_device& d) { return agent_of(d) == who; });
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

void trainer::layer_times(proto::LayerTimes::Reader body, const frame& f) {
    if (body.getRun() != options_.run || f.from() != agent_of(options_.devices[0]))
        return reject("the sender does not measure for this run");
    if (!take(run_phase::measuring))
        return;
    if (body.getNanoseconds().size() != count_layers(app().getModel()))
        return fail({errc::protocol, "the measured layer times do not fit the model"});
    for (const std::uint64_t ns : body.getNanoseconds())
        layer_ns_.push_back(static_cast<double>(ns));
    go_on();
}

void trainer::place() {
    auto made = make_plan({app(), options_.devices, std::move(layer_ns_)});
    if (!made)
        return fail(options_.app.at_its_place(made.failure()));
    plan_ = std::move(made).value();
    course_.set_stages(plan_.stages.size());
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
        body.setTrain(app().getTrain());
        body.setMinibatches(course_.shape().minibatches());
        watch(agent_of(stage.where));
        send(agent_of(stage.where), std::move(request));
    }
}

void trainer::place_failed(proto::PlaceFailed::Reader body, const frame& f) {
    if (body.getRun() != options_.run || !is_agent(f.from()))
        return reject("the sender places nothing for this run");
    const error why = read_failure(body.getFailure());
    const plan_device& where = options_.devices[0];
    fail(course_.phase() == run_phase::measuring
             ? advised(why.in("measuring the layers on " + where.node_name + "/" + where.device))
             : why);
}

void trainer::stage_placed(proto::StagePlaced::Reader body, const frame& f) {
    if (body.getRun() != options_.run || body.getStage() >= stages_.size() ||
        f.from() != agent_of(plan_.stages[body.getStage()].where))
        return reject("the sender places no such stage of this run");
    if (!take(run_phase::placing, body.getStage()))
        return;
    stages_[body.getStage()] = read_address(body.getAddress());
    watch(stages_[body.getStage()]);
    if (course_.complete())
        spawn_source();
    go_on();
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
    source.shape = course_.shape();
    source.microbatches = plan_.microbatches;
    source.ignored_label = ignored_by(app().getModel().getLoss());
    source.seed = app().getTrain().getSeed();
    source.shuffle = app().getTrain().getShuffle();
    source.first_stage = stages_.front();
    source.last_stage = stages_.back();
    source.trainer = self();
    source_ = runtime().spawn<data_source>("data-source", std::move(source));
    watch(source_);
}

void trainer::connect() {
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
            for (tensor& t : from.tensors())
                request.attach(std::move(t));
        }
        send(stages_[s], std::move(request));
    }
    restored_.reset();
}

void trainer::stage_ready(proto::StageReady::Reader body, const frame& f) {
    if (!is_stage(body.getStage(), f) || !take(run_phase::connecting, body.getStage()))
        return;
    if (course_.complete())
        options_.observer->started(plan_);
    go_on();
}

} // namespace troupe
