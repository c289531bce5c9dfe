#include "actors/training/plan/plan_actors.hpp"

#include <algorithm>

#include "actors/training/plan/plan_text.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

// The cache of this stage that all replicas on this node share; null: there is none yet.
planned_actor* node_server(std::vector<planned_actor>& actors, std::uint32_t stage, node_id node) {
    const auto found = std::ranges::find_if(actors, [&](const planned_actor& a) {
        return a.role == run_role::cache && a.stage == stage && a.where.node == node;
    });
    return found == actors.end() ? nullptr : &*found;
}

void add_actors(std::vector<planned_actor>& actors, const planned_stage& stage,
                std::uint32_t number, std::uint32_t replica, const replica_sync& sync) {
    const replica_place at{replica, static_cast<std::uint32_t>(stage.where.size())};
    const plan_device& where = stage.where[replica];
    const auto add = [&](const run_role& role) {
        actors.push_back({role, actor_name(role, number, at, sync), where, number, {replica}});
    };
    for (const run_role& role :
         companions_of({sync, stage.weights.factor_rows.size(), stage.weights.averages, at})) {
        planned_actor* const shared = role == run_role::cache && sync.node_servers
                                          ? node_server(actors, number, where.node)
                                          : nullptr;
        if (shared != nullptr)
            shared->replicas.push_back(replica);
        else
            add(role);
    }
    add(run_role::stage);
}

} // namespace

std::vector<planned_actor> list_actors(const plan& p, proto::Sync::Reader sync) {
    std::vector<replica_sync> agreed; // by stage
    std::size_t replicas = 0;
    for (const planned_stage& stage : p.stages) {
        auto way = replica_sync::of(sync, static_cast<std::uint32_t>(stage.where.size()));
        TROUPE_CHECK(way, "the app file was checked by this build");
        agreed.push_back(std::move(*way));
        replicas = std::max(replicas, stage.where.size());
    }
    std::vector<planned_actor> actors;
    for (std::uint32_t r = 0; r < replicas; ++r)
        for (std::uint32_t s = 0; s < p.stages.size(); ++s)
            if (r < p.stages[s].where.size())
                add_actors(actors, p.stages[s], s, r, agreed[s]);
    return actors;
}

std::string describe_actors(const plan& p) {
    std::vector<std::pair<std::string, std::vector<std::string>>> devices;
    for (const planned_actor& actor : p.actors) {
        const std::string where = where_text(actor.where);
        auto found = std::ranges::find(devices, where, [](const auto& d) { return d.first; });
        if (found == devices.end())
            found = devices.insert(devices.end(), {where, {}});
        found->second.push_back(actor.name);
    }
    std::string text = "actors\n";
    for (const auto& [where, names] : devices)
        text += "  " + where + ": " + join(names) + "\n";
    return text;
}

} // namespace troupe
