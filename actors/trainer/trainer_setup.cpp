// How a trainer comes to connected stages: it measures layers, makes the plan, has the stages placed and connects them.
#include <algorithm>

#include "actors/data/data_source.hpp"
#include "actors/messages.hpp"
#include "actors/trainer/trainer.hpp"
#include "actors/update_counts.hpp"

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
    for (std::uint32_t r = 0; seats_.empty() || seats_.back().replica + 1 == r; ++r)
        for (std::uint32_t s = 0; s < plan_.stages.size(); ++s)
            if (r < plan_.stages[s].where.size())
                seats_.push_back({r, s});
    course_.set_stages(plan_.stages.size(), seats());
    stages_.resize(seats());
    reducers_.resize(seats());
    shards_.resize(seats());
    peers_.resize(seats());
    report_.stages.resize(seats());
    for (std::size_t seat = 0; seat < seats(); ++seat)
        place_stage(seat);
}

namespace {

// Of a parameter server: the replicas, or with servers of their own the nodes.
std::uint32_t workers_of(const std::vector<plan_device>& replicas, bool by_node) {
    std::set<node_id> nodes;
    for (const plan_device& where : replicas)
        nodes.insert(where.node);
    return static_cast<std::uint32_t>(by_node ? nodes.size() : replicas.size());
}

} // namespace

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
    const auto& replicas_where = stage.where;
    body.setReplicas(static_cast<std::uint32_t>(replicas_where.size()));
    auto replicas = body.initStageReplicas(static_cast<unsigned>(plan_.stage_replicas.size()));
    for (unsigned s = 0; s < replicas.size(); ++s)
        replicas.set(s, plan_.stage_replicas[s]);
    if (plan_.is_pipeline)
        body.setRate(app().getTopology().getPipeline().getRate());
    const auto members = std::ranges::count(replicas_where, where.node, &plan_device::node);
    body.setWorker(worker_at(seat));
    body.setWorkers(workers_of(replicas_where, plan_.sync.node_servers));
    body.setMembers(plan_.sync.node_servers ? static_cast<std::uint32_t>(members) : 1);
    body.setSync(app().getTopology().getSync());
    if (app().getTopology().isPipeline())
        body.setActivations(app().getTopology().getPipeline().getActivations());
    body.setSlowDown(where.slow_down);
    watch(agent_of(where));
    send(agent_of(where), std::move(request));
}

// Nodes are numbered in the order of their first replicas.
std::uint32_t trainer::worker_at(std::size_t seat) const {
    if (!plan_.sync.node_servers)
        return replica_at(seat);
    const auto& all = plan_.stages[stage_at(seat)].where;
    const auto first = std::ranges::find(all, device_at(seat).node, &plan_device::node);
    return workers_of({all.begin(), first}, true);
}

void trainer::place_failed(proto::PlaceFailed::Reader body, const frame& f) {
    if (body.getRun() != options_.run || !is_agent(f.from()))
        return reject("the sender places nothing for this run");
    const error why = read_failure(body.getFailure());
    const auto seat = seat_of(body.getReplica(), body.getStage());
    if (seat && course_.is_joining(replica_at(*seat)))
        return give_up_newcomer(*seat, why);
    const plan_device& where = options_.devices[0];
    fail(course_.phase() == run_phase::measuring
             ? advised(why.in("measuring the layers on " + where.node_name + "/" + where.device),
                       &where)
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
    peers_[*seat] = read_address(body.getPeer());
    watch(stages_[*seat]);
    if (course_.is_joining(body.getReplica()))
        introduce(*seat);
    if (course_.complete() && !source_)
        spawn_source();
    go_on();
}

std::optional<std::size_t> trainer::seat_of(std::uint32_t replica, std::uint32_t stage) const {
    const auto found = std::ranges::find(seats_, seat{replica, stage});
    if (found == seats_.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - seats_.begin());
}

std::uint32_t trainer::replica_at(std::size_t seat) const {
    return seats_[seat].replica;
}

std::uint32_t trainer::stage_at(std::size_t seat) const {
    return seats_[seat].stage;
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
    source.first_place.stages = static_cast<std::uint32_t>(plan_.stages.size());
    if (!plan_.stage_replicas.empty())
        source.first_place.warm_up = warm_ups(plan_.stage_replicas)[0];
    source.shape = course_.shape();
    source.microbatches = plan_.microbatches;
    source.ignored_label = ignored_by(app().getModel().getLoss());
    source.seed = app().getTrain().getSeed();
    source.shuffle = app().getTrain().getShuffle();
    source.sync = plan_.sync;
    source.first_stages = replicas_of(0, stages_);
    source.last_stages = replicas_of(plan_.stages.size() - 1, stages_);
    source.trainer = self();
    source_ = runtime().spawn<data_source>("data-source", std::move(source));
    watch(source_);
}

// One that joins is told of those at work when they know it.
void trainer::connect() {
    if (!expecting_.empty())
        return;
    for (std::size_t seat = 0; seat < seats(); ++seat)
        if (course_.awaits(seat))
            connect_stage(seat);
    restored_.reset();
}

// Those of these, by seat, that are or stand beside the replicas of a stage.
std::vector<actor_address> trainer::replicas_of(std::size_t stage,
                                                const std::vector<actor_address>& by_seat) const {
    std::vector<actor_address> found;
    for (std::size_t seat = 0; seat < seats(); ++seat)
        if (stage_at(seat) == stage && by_seat[seat])
            found.push_back(by_seat[seat]);
    return found;
}

// Of a neighbouring stage those that a replica speaks with: the one of its number, or all where stages differ.
std::vector<actor_address> trainer::neighbours(std::size_t stage, std::uint32_t replica) const {
    std::vector<actor_address> all = replicas_of(stage, stages_);
    return plan_.stage_replicas.empty() ? std::vector{all[replica]} : all;
}

// Whether that stage of the same replica is computed on the same device. Where stages differ in replicas none is.
bool trainer::is_beside(std::size_t seat, std::size_t stage) const {
    if (!plan_.stage_replicas.empty())
        return false;
    for (std::size_t other = 0; other < seats(); ++other)
        if (stage_at(other) == stage && replica_at(other) == replica_at(seat))
            return device_at(other) == device_at(seat);
    return false;
}

namespace {

void write_addresses(capnp::List<proto::ActorAddress>::Builder to,
                     const std::vector<actor_address>& from) {
    for (unsigned i = 0; i < to.size(); ++i)
        write_address(to[i], from[i]);
}

} // namespace

void trainer::connect_stage(std::size_t seat) {
    const std::size_t stages = plan_.stages.size();
    const std::size_t stage = stage_at(seat);
    frame_builder<proto::ConnectStage> request;
    const std::uint32_t replica = replica_at(seat);
    std::vector<actor_address> previous{source_}, next;
    if (stage > 0)
        previous = neighbours(stage - 1, replica);
    if (stage + 1 < stages)
        next = neighbours(stage + 1, replica);
    const std::vector<actor_address> reducers = replicas_of(stage, reducers_);
    const std::vector<actor_address> shards = replicas_of(stage, shards_);
    std::vector<actor_address> peers = replicas_of(stage, peers_);
    for (std::uint32_t r = 0; r < peers.size(); ++r)
        if (course_.has_lost(r))
            peers[r] = {}; // was not told to expect one that joins
    auto body = request.body();
    const auto count = [](const auto& list) { return static_cast<unsigned>(list.size()); };
    write_addresses(body.initPrevious(count(previous)), previous);
    write_addresses(body.initNext(count(next)), next);
    write_address(body.initSource(), source_);
    write_addresses(body.initReducers(count(reducers)), reducers);
    write_addresses(body.initShards(count(shards)), shards);
    write_addresses(body.initPeers(count(peers)), peers);
    body.setPreviousIsBeside(stage > 0 && is_beside(seat, stage - 1));
    body.setNextIsBeside(is_beside(seat, stage + 1));
    if (course_.is_joining(replica)) {
        body.setJoins(true);
        body.setWeightVersion(versions_[stage]->value());
    }
    if (restored_) {
        const weights& from = *(*restored_)[stage];
        request.body().setRestored(true);
        request.body().setWeightVersion(from.version.value());
        write_counts(request.body().initUpdates(count(from.updates)), from.updates);
        for (tensor& t : from.tensors())
            request.attach(std::move(t));
    }
    send(stages_[seat], std::move(request));
}

void trainer::stage_ready(proto::StageReady::Reader body, const frame& f) {
    const auto seat = seat_of_sender(body.getReplica(), body.getStage(), f);
    if (!seat || !take(run_phase::connecting, *seat))
        return;
    if (course_.complete() && !std::exchange(started_, true))
        options_.observer->started(plan_);
    go_on();
}

} // namespace troupe
