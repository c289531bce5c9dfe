// The trainer's setup: it measures layers, makes the plan, has its actors spawned and connects the stages.
#include <algorithm>
#include <map>

#include "actors/data/data_source.hpp"
#include "actors/messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "actors/training/role_options.hpp"
#include "actors/training/trainer.hpp"
#include "actors/update_counts.hpp"

namespace troupe {

namespace {

void write_addresses(capnp::List<proto::ActorAddress>::Builder to,
                     const std::vector<actor_address>& from) {
    for (unsigned i = 0; i < to.size(); ++i)
        write_address(to[i], from[i]);
}

} // namespace

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

actor_address trainer::profiler() const {
    return {options_.devices[0].node, well_known::profiler};
}

void trainer::measure() {
    watch(profiler());
    frame_builder<proto::ProfileModel> request;
    request.body().setRun(options_.run);
    request.body().setDevice(options_.devices[0].device.c_str());
    request.body().setBatch(app().getTrain().getBatch());
    request.body().setModel(app().getModel());
    send(profiler(), std::move(request));
}

void trainer::profile_failed(proto::ProfileFailed::Reader body, const frame& f) {
    if (body.getRun() != options_.run || f.from() != profiler() ||
        course_.phase() != run_phase::measuring)
        return reject("the sender does not measure for this run");
    const plan_device& where = options_.devices[0];
    fail(advised(read_failure(body.getFailure()).in("measuring the layers on " + where_text(where)),
                 &where));
}

void trainer::layer_times(proto::LayerTimes::Reader body, const frame& f) {
    if (body.getRun() != options_.run || f.from() != profiler())
        return reject("the sender does not measure for this run");
    if (!take(run_phase::measuring))
        return;
    unwatch(profiler());
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
    cast_ = training_cast{options_.run, plan_.actors};
    course_.set_stages(plan_.stages.size(), cast_.placements());
    report_.stages.resize(cast_.placements());
    for (std::size_t placement = 0; placement < cast_.placements(); ++placement) {
        report_.stages[placement].replica = replica_at(placement);
        report_.stages[placement].stage = stage_at(placement);
    }
    for (std::size_t actor = 0; actor < cast_.size(); ++actor)
        ask_for(actor);
}

void trainer::ask_for(std::size_t actor) {
    frame_builder<proto::Spawn> request = cast_.ask(actor);
    write_options(request.body(), app(), plan_, cast_[actor], course_.shape().minibatches());
    watch(cast_.agent_of(actor));
    send(cast_.agent_of(actor), std::move(request));
}

void trainer::spawn_failed(proto::SpawnFailed::Reader body, const frame& f) {
    const auto answer = cast_.refuse(body, f.from());
    if (!answer)
        return reject(answer.failure().message());
    if (!answer->is_wanted)
        return;
    const error why = read_failure(body.getFailure());
    const planned_actor& who = cast_[answer->member];
    if (course_.is_joining(who.replicas[0]))
        return give_up_newcomer(*placement_of(who.replicas[0], who.stage), why);
    fail(why);
}

void trainer::spawned(proto::Spawned::Reader body, const frame& f) {
    const auto answer = cast_.enter(body, f.from());
    if (!answer)
        return answer.failure().code() == errc::refused
                   ? fail({errc::protocol, answer.failure().message()})
                   : reject(answer.failure().message());
    const planned_actor& who = cast_[answer->member];
    if (!answer->is_wanted)
        return end_actors({{f.from().node, answer->address}}, who.replicas[0]);
    if (who.role == run_role::stage)
        watch(answer->address);
    for (const std::uint32_t replica : who.replicas) {
        const std::size_t placement = *placement_of(replica, who.stage);
        if (cast_.is_taken(placement) && course_.take(run_phase::placing, placement) &&
            course_.is_joining(replica))
            introduce(placement);
    }
    if (course_.phase() != run_phase::placing || !course_.complete())
        return;
    if (!source_)
        spawn_source();
    go_on();
}

// The messages are not answered. Nodes that are gone cannot be told.
void trainer::end_actors(const std::vector<std::pair<node_id, actor_address>>& actors,
                         std::uint32_t of_replica) {
    std::map<node_id, std::vector<actor_address>> by_node;
    for (const auto& [node, address] : actors)
        by_node[node].push_back(address);
    const error why{errc::cancelled,
                    "the run goes on without replica " + std::to_string(of_replica)};
    for (const auto& [node, addresses] : by_node)
        send({node, well_known::agent}, end_message(options_.run, addresses, why));
}

const plan_device& trainer::device_at(std::size_t placement) const {
    return plan_.stages[stage_at(placement)].where[replica_at(placement)];
}

std::optional<std::size_t> trainer::placement_of_sender(std::uint32_t replica, std::uint32_t stage,
                                                        const frame& f) {
    const auto placement = placement_of(replica, stage);
    if (placement && *placement < stages().size() && stages()[*placement] == f.from())
        return placement;
    reject("the sender is not this stage");
    return std::nullopt;
}

void trainer::spawn_source() {
    data_source_options source;
    source.data = options_.data;
    source.io = options_.io;
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
    source.first_stages = replicas_of(0, run_role::stage);
    source.last_stages = replicas_of(plan_.stages.size() - 1, run_role::stage);
    source.trainer = self();
    source_ = runtime().spawn_of_run<data_source>(options_.run, "data-source", std::move(source));
    watch(source_);
}

// A joining replica is connected once the running actors expect it.
void trainer::connect() {
    if (!expecting_.empty())
        return;
    for (std::size_t placement = 0; placement < cast_.placements(); ++placement)
        if (course_.awaits(placement))
            connect_stage(placement);
    restored_.reset();
}

// The replicas of a stage, by their numbers; for another role, the existing actors beside these.
std::vector<actor_address> trainer::replicas_of(std::size_t stage, run_role role) const {
    const std::vector<actor_address>& by_seat = cast_.all(role);
    std::vector<actor_address> found;
    for (std::size_t placement = 0; placement < cast_.placements(); ++placement)
        if (stage_at(placement) == stage && (role == run_role::stage || by_seat[placement]))
            found.push_back(by_seat[placement]);
    return found;
}

// The stages of a neighbour that a replica is connected to: that of its own number, or all if stages differ in replicas.
std::vector<actor_address> trainer::neighbours(std::size_t stage, std::uint32_t replica) const {
    std::vector<actor_address> all = replicas_of(stage, run_role::stage);
    return plan_.stage_replicas.empty() ? std::vector{all[replica]} : all;
}

// Returns whether that stage of the same replica is on the same device; false if stages differ in replicas.
bool trainer::is_colocated(std::size_t placement, std::size_t stage) const {
    if (!plan_.stage_replicas.empty())
        return false;
    for (std::size_t other = 0; other < cast_.placements(); ++other)
        if (stage_at(other) == stage && replica_at(other) == replica_at(placement))
            return device_at(other) == device_at(placement);
    return false;
}

void trainer::connect_stage(std::size_t placement) {
    const std::size_t stages = plan_.stages.size();
    const std::size_t stage = stage_at(placement);
    frame_builder<proto::ConnectStage> request;
    const std::uint32_t replica = replica_at(placement);
    std::vector<actor_address> previous{source_}, next;
    if (stage > 0)
        previous = neighbours(stage - 1, replica);
    if (stage + 1 < stages)
        next = neighbours(stage + 1, replica);
    const std::vector<actor_address> reducers = replicas_of(stage, run_role::reducer);
    const std::vector<actor_address> shards = replicas_of(stage, run_role::shard);
    std::vector<actor_address> peers = replicas_of(stage, run_role::peer);
    for (std::uint32_t r = 0; r < peers.size(); ++r)
        if (course_.has_lost(r))
            peers[r] = {}; // a lost replica's peer was not told to expect a joining one
    auto body = request.body();
    const auto count = [](const auto& list) { return static_cast<unsigned>(list.size()); };
    write_addresses(body.initPrevious(count(previous)), previous);
    write_addresses(body.initNext(count(next)), next);
    write_address(body.initSource(), source_);
    write_addresses(body.initReducers(count(reducers)), reducers);
    write_addresses(body.initShards(count(shards)), shards);
    write_addresses(body.initPeers(count(peers)), peers);
    write_address(body.initReducer(), cast_.all(run_role::reducer)[placement]);
    write_address(body.initCache(), cast_.all(run_role::cache)[placement]);
    write_address(body.initShard(), cast_.all(run_role::shard)[placement]);
    write_address(body.initPeer(), cast_.all(run_role::peer)[placement]);
    body.setPreviousIsColocated(stage > 0 && is_colocated(placement, stage - 1));
    body.setNextIsColocated(is_colocated(placement, stage + 1));
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
    send(cast_.all(run_role::stage)[placement], std::move(request));
}

void trainer::stage_ready(proto::StageReady::Reader body, const frame& f) {
    const auto placement = placement_of_sender(body.getReplica(), body.getStage(), f);
    if (!placement || !take(run_phase::connecting, *placement))
        return;
    if (course_.complete() && told_ == told::nothing) {
        told_ = told::started;
        tell(news_of(plan_, course_.shape().epochs, report_.checkpoint, options_.of_cluster));
    }
    go_on();
}

} // namespace troupe
