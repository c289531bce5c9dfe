#include "actors/training/role_options.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "actors/pipeline/shape/schedule_message.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/params.capnp.h"
#include "schemas/peers.capnp.h"
#include "schemas/pipeline.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

namespace {

// The number of a parameter server's workers: the replicas, or, if nodes have servers of their own, the nodes.
std::uint32_t workers_of(std::span<const plan_device> replicas, bool by_node) {
    std::set<node_id> nodes;
    for (const plan_device& where : replicas)
        nodes.insert(where.node);
    return static_cast<std::uint32_t>(by_node ? nodes.size() : replicas.size());
}

std::uint32_t workers_of(const plan& p, std::uint32_t stage) {
    return workers_of(p.stages[stage].where, p.sync.node_servers);
}

void write_part(proto::ModelPart::Builder to, proto::App::Reader app, const plan& p,
                const planned_actor& actor) {
    const planned_stage& stage = p.stages[actor.stage];
    to.setModel(app.getModel());
    to.setTrain(app.getTrain());
    to.setSync(app.getTopology().getSync());
    to.setStage(actor.stage);
    to.setFirstLayer(static_cast<std::uint32_t>(stage.layers.range.first));
    to.setLayers(static_cast<std::uint32_t>(stage.layers.range.count));
    to.setReplica(actor.replicas[0]);
    to.setReplicas(static_cast<std::uint32_t>(stage.where.size()));
    to.setSlowDown(actor.where.slow_down);
}

// An actor to spawn for a run of so many samples in an epoch.
struct spawning {
    proto::App::Reader app;
    const plan& planned;
    const planned_actor& actor;
    std::uint64_t samples = 0;
};

template <class Options>
Options::Builder write_part_of(proto::Spawn::Builder to, const spawning& s) {
    to.setOptionsType(type_id_of<Options>());
    auto made = to.getOptions().template initAs<Options>();
    write_part(made.initPart(), s.app, s.planned, s.actor);
    return made;
}

void write_stage(proto::Spawn::Builder spawn, const spawning& s) {
    const plan& p = s.planned;
    auto to = write_part_of<proto::StageOptions>(spawn, s);
    to.setStages(static_cast<std::uint32_t>(p.stages.size()));
    write_schedule(to.initSchedule(), p.schedule.of_stage(s.actor.stage, s.actor.replicas[0]));
    auto replicas = to.initStageReplicas(static_cast<unsigned>(p.stage_replicas.size()));
    for (unsigned i = 0; i < replicas.size(); ++i)
        replicas.set(i, p.stage_replicas[i]);
    if (const auto topology = s.app.getTopology(); topology.isPipeline()) {
        to.setRate(topology.getPipeline().getRate());
        to.setActivations(topology.getPipeline().getActivations());
    }
    to.setWorker(server_worker(p, s.actor.stage, s.actor.replicas[0]));
    to.setSamples(s.samples);
}

void write_shard(proto::Spawn::Builder to, const spawning& s) {
    auto shard = write_part_of<proto::ShardOptions>(to, s);
    shard.setSamples(s.samples);
    shard.setWorkers(workers_of(s.planned, s.actor.stage));
}

void write_cache(proto::Spawn::Builder to, const spawning& s) {
    auto cache = write_part_of<proto::CacheOptions>(to, s);
    cache.setWorkers(workers_of(s.planned, s.actor.stage));
    cache.setMembers(static_cast<std::uint32_t>(s.actor.replicas.size()));
}

struct options_row {
    run_role role;
    void (*write)(proto::Spawn::Builder to, const spawning& s);
};

const options_row rows[] = {
    {run_role::stage, write_stage},
    {run_role::reducer,
     [](auto to, const auto& s) { write_part_of<proto::ReducerOptions>(to, s); }},
    {run_role::peer, [](auto to, const auto& s) { write_part_of<proto::PeerOptions>(to, s); }},
    {run_role::shard, write_shard},
    {run_role::cache, write_cache},
};

} // namespace

std::uint32_t server_worker(const plan& p, std::uint32_t stage, std::uint32_t replica) {
    if (!p.sync.node_servers)
        return replica;
    const auto& all = p.stages[stage].where;
    const auto first = std::ranges::find(all, all[replica].node, &plan_device::node);
    return workers_of({all.begin(), first}, true);
}

void write_options(proto::Spawn::Builder to, proto::App::Reader app, const plan& p,
                   const planned_actor& actor, std::uint64_t samples) {
    const auto row = std::ranges::find(rows, actor.role, &options_row::role);
    TROUPE_CHECK(row != std::end(rows), "a role has options");
    row->write(to, {app, p, actor, samples});
}

} // namespace troupe
