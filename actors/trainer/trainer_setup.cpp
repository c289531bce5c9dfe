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
    course_.set_stages(plan_.stages.size(), plan_.replicas);
    stages_.resize(seats());
    reducers_.resize(seats());
    shards_.resize(seats());
    report_.stages.resize(seats());
    for (std::size_t seat = 0; seat < seats(); ++seat)
        place_stage(seat);
}

void trainer::place_stage(std::size_t seat) {
    const planned_stage& stage = plan_.stages[stage_at(seat)];
    const plan_device& where = device_at(seat);
    report_.stages[seat].replica = replica_at(seat);
    report_.stages[seat].stage = stage_at(seat);
    frame_builder<proto::PlaceStage> request;
    auto body = request.body();
    body.setRun(options_.run);
    body.setStage(stage_at(seat));
    body.setStages(static_cast<std::uint32_t>(plan_.stages.size()));
    body.setFirstLayer(static_cast<std::uint32_t>(stage.layers.first));
    body.setLayers(static_cast<std::uint32_t>(stage.layers.count));
    body.setDevice(where.device.c_str());
    body.setSchedule(plan_.schedule);
    body.setModel(app().getModel());
    body.setTrain(app().getTrain());
    body.setMinibatches(course_.shape().minibatches());
    body.setReplica(replica_at(seat));
    body.setReplicas(plan_.replicas);
    body.setSync(app().getTopology().getSync());
    watch(agent_of(where));
    send(agent_of(where), std::move(request));
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
    const auto seat = seat_of(body.getReplica(), body.getStage());
    if (body.getRun() != options_.run || !seat || f.from() != agent_of(device_at(*seat)))
        return reject("the sender places no such stage of this run");
    if (!take(run_phase::placing, *seat))
        return;
    stages_[*seat] = read_address(body.getAddress());
    reducers_[*seat] = read_address(body.getReducer());
    shards_[*seat] = read_address(body.getShard());
    watch(stages_[*seat]);
    if (course_.complete())
        spawn_source();
    go_on();
}

std::optional<std::size_t> trainer::seat_of(std::uint32_t replica, std::uint32_t stage) const {
    if (replica >= plan_.replicas || stage >= plan_.stages.size())
        return std::nullopt;
    return replica * plan_.stages.size() + stage;
}

std::uint32_t trainer::replica_at(std::size_t seat) const {
    return static_cast<std::uint32_t>(seat / plan_.stages.size());
}

std::uint32_t trainer::stage_at(std::size_t seat) const {
    return static_cast<std::uint32_t>(seat % plan_.stages.size());
}

const plan_device& trainer::device_at(std::size_t seat) const {
    return plan_.stages[stage_at(seat)].where[replica_at(seat)];
}

std::optional<std::size_t> trainer::seat_of_sender(std::uint32_t replica, std::uint32_t stage,
                                                   const frame& f) {
    const auto seat = seat_of(replica, stage);
    if (seat && *seat < stages_.size() && stages_[*seat] == f.from())
        return seat;
    reject("the sender is not this stage");
    return std::nullopt;
}

void trainer::spawn_source() {
    data_source_options source;
    source.data = options_.data;
    source.worker = options_.worker;
    source.schedule = plan_.schedule;
    source.stages = static_cast<std::uint32_t>(plan_.stages.size());
    source.shape = course_.shape();
    source.microbatches = plan_.microbatches;
    source.ignored_label = ignored_by(app().getModel().getLoss());
    source.seed = app().getTrain().getSeed();
    source.shuffle = app().getTrain().getShuffle();
    source.sync = plan_.sync;
    for (std::size_t first = 0; first < seats(); first += plan_.stages.size())
        source.replicas.push_back({stages_[first], stages_[first + plan_.stages.size() - 1]});
    source.trainer = self();
    source_ = runtime().spawn<data_source>("data-source", std::move(source));
    watch(source_);
}

void trainer::connect() {
    for (std::size_t seat = 0; seat < seats(); ++seat)
        connect_stage(seat);
    restored_.reset();
}

// Those of these, by seat, that stand beside the replicas of a stage.
std::vector<actor_address>
trainer::beside_replicas_of(std::size_t stage, const std::vector<actor_address>& by_seat) const {
    std::vector<actor_address> found;
    for (std::size_t seat = stage; seat < seats(); seat += plan_.stages.size())
        if (by_seat[seat])
            found.push_back(by_seat[seat]);
    return found;
}

void trainer::connect_stage(std::size_t seat) {
    const std::size_t stages = plan_.stages.size();
    const std::size_t stage = stage_at(seat);
    frame_builder<proto::ConnectStage> request;
    write_address(request.body().initPrevious(), stage == 0 ? source_ : stages_[seat - 1]);
    write_address(request.body().initNext(),
                  stage + 1 < stages ? stages_[seat + 1] : actor_address{});
    write_address(request.body().initSource(), source_);
    const std::vector<actor_address> reducers = beside_replicas_of(stage, reducers_);
    auto list = request.body().initReducers(static_cast<unsigned>(reducers.size()));
    for (unsigned r = 0; r < list.size(); ++r)
        write_address(list[r], reducers[r]);
    const std::vector<actor_address> shards = beside_replicas_of(stage, shards_);
    list = request.body().initShards(static_cast<unsigned>(shards.size()));
    for (unsigned k = 0; k < list.size(); ++k)
        write_address(list[k], shards[k]);
    if (restored_) {
        const weights& from = *(*restored_)[stage];
        request.body().setRestored(true);
        request.body().setWeightVersion(from.version.value());
        for (tensor& t : from.tensors())
            request.attach(std::move(t));
    }
    send(stages_[seat], std::move(request));
}

void trainer::stage_ready(proto::StageReady::Reader body, const frame& f) {
    const auto seat = seat_of_sender(body.getReplica(), body.getStage(), f);
    if (!seat || !take(run_phase::connecting, *seat))
        return;
    if (course_.complete())
        options_.observer->started(plan_);
    go_on();
}

} // namespace troupe
