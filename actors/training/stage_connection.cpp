#include "actors/training/stage_connection.hpp"

#include "actors/messages.hpp"
#include "actors/update_counts.hpp"

namespace troupe {

namespace {

unsigned count(const auto& list) {
    return static_cast<unsigned>(list.size());
}

void write_addresses(capnp::List<proto::ActorAddress>::Builder to,
                     const std::vector<actor_address>& from) {
    for (unsigned i = 0; i < to.size(); ++i)
        write_address(to[i], from[i]);
}

// The stages of a neighbour that a replica is connected to: that of its own number, or all if stages differ in replicas.
std::vector<actor_address> neighbours(const placed_run& run, std::size_t stage,
                                      std::uint32_t replica) {
    std::vector<actor_address> all = run.cast.replicas_of(stage, run_role::stage);
    return run.planned.stage_replicas.empty() ? std::vector{all[replica]} : all;
}

// Returns whether that stage of the same replica is on the same device; false if stages differ in replicas.
bool is_colocated(const placed_run& run, std::size_t placement, std::uint32_t stage) {
    if (!run.planned.stage_replicas.empty())
        return false;
    const auto other = run.cast.placement_of(run.cast.replica_at(placement), stage);
    return other && run.cast.where(*other) == run.cast.where(placement);
}

} // namespace

data_source_options source_options(const placed_run& run, proto::App::Reader app) {
    const plan& p = run.planned;
    data_source_options source;
    source.schedule = p.shape.schedule;
    source.first_place.stages = static_cast<std::uint32_t>(p.stages.size());
    if (!p.stage_replicas.empty())
        source.first_place.warm_up = warm_ups(p.stage_replicas)[0];
    source.shape = run.course.shape();
    source.microbatches = p.shape.microbatches;
    source.ignored_label = ignored_by(app.getModel().getLoss());
    source.seed = app.getTrain().getSeed();
    source.shuffle = app.getTrain().getShuffle();
    source.sync = p.sync;
    source.first_stages = run.cast.replicas_of(0, run_role::stage);
    source.last_stages = run.cast.replicas_of(p.stages.size() - 1, run_role::stage);
    return source;
}

frame_builder<proto::ConnectStage> connection_of(const placed_run& run, std::size_t placement,
                                                 actor_address source) {
    const training_cast& cast = run.cast;
    const std::uint32_t stage = cast.stage_at(placement);
    const std::uint32_t replica = cast.replica_at(placement);
    std::vector<actor_address> previous{source}, next;
    if (stage > 0)
        previous = neighbours(run, stage - 1, replica);
    if (stage + 1 < run.planned.stages.size())
        next = neighbours(run, stage + 1, replica);
    const std::vector<actor_address> reducers = cast.replicas_of(stage, run_role::reducer);
    const std::vector<actor_address> shards = cast.replicas_of(stage, run_role::shard);
    std::vector<actor_address> peers = cast.replicas_of(stage, run_role::peer);
    for (std::uint32_t r = 0; r < peers.size(); ++r)
        if (run.course.has_lost(r))
            peers[r] = {}; // a lost replica's peer was not told to expect a joining one
    frame_builder<proto::ConnectStage> request;
    auto body = request.body();
    write_addresses(body.initPrevious(count(previous)), previous);
    write_addresses(body.initNext(count(next)), next);
    write_address(body.initSource(), source);
    write_addresses(body.initReducers(count(reducers)), reducers);
    write_addresses(body.initShards(count(shards)), shards);
    write_addresses(body.initPeers(count(peers)), peers);
    write_address(body.initReducer(), cast.all(run_role::reducer)[placement]);
    write_address(body.initCache(), cast.all(run_role::cache)[placement]);
    write_address(body.initShard(), cast.all(run_role::shard)[placement]);
    write_address(body.initPeer(), cast.all(run_role::peer)[placement]);
    body.setPreviousIsColocated(stage > 0 && is_colocated(run, placement, stage - 1));
    body.setNextIsColocated(is_colocated(run, placement, stage + 1));
    body.setJoins(run.course.is_joining(replica));
    return request;
}

void write_restored(frame_builder<proto::ConnectStage>& to, const weights& from) {
    to.body().setRestored(true);
    to.body().setWeightVersion(from.version.value());
    write_counts(to.body().initUpdates(count(from.updates)), from.updates);
    for (tensor& t : from.tensors())
        to.attach(std::move(t));
}

} // namespace troupe
