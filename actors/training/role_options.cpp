#include "actors/training/role_options.hpp"

#include <algorithm>
#include <set>
#include <span>

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

void write_stage(proto::StageOptions::Builder to, proto::App::Reader app, const plan& p,
                 const planned_actor& actor) {
    to.setStages(static_cast<std::uint32_t>(p.stages.size()));
    to.setSchedule(p.shape.schedule);
    auto replicas = to.initStageReplicas(static_cast<unsigned>(p.stage_replicas.size()));
    for (unsigned s = 0; s < replicas.size(); ++s)
        replicas.set(s, p.stage_replicas[s]);
    if (app.getTopology().isPipeline()) {
        to.setRate(app.getTopology().getPipeline().getRate());
        to.setActivations(app.getTopology().getPipeline().getActivations());
    }
    to.setWorker(server_worker(p, actor.stage, actor.replicas[0]));
}

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
    const auto options = [&]<class Options>() {
        to.setOptionsType(type_id_of<Options>());
        auto made = to.getOptions().template initAs<Options>();
        write_part(made.initPart(), app, p, actor);
        return made;
    };
    switch (actor.role) {
    case run_role::stage: {
        auto stage = options.operator()<proto::StageOptions>();
        write_stage(stage, app, p, actor);
        stage.setSamples(samples);
        break;
    }
    case run_role::reducer:
        options.operator()<proto::ReducerOptions>();
        break;
    case run_role::peer:
        options.operator()<proto::PeerOptions>();
        break;
    case run_role::shard: {
        auto shard = options.operator()<proto::ShardOptions>();
        shard.setSamples(samples);
        shard.setWorkers(workers_of(p, actor.stage));
        break;
    }
    case run_role::cache: {
        auto cache = options.operator()<proto::CacheOptions>();
        cache.setWorkers(workers_of(p, actor.stage));
        cache.setMembers(static_cast<std::uint32_t>(actor.replicas.size()));
        break;
    }
    }
}

} // namespace troupe
