#include "actors/training/training_cast.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

training_cast::training_cast(std::uint64_t run, std::vector<planned_actor> actors) : cast_{run} {
    for (planned_actor& actor : actors) {
        if (actor.role == run_role::stage)
            placements_.push_back({actor.replicas[0], actor.stage, actors_.size()});
        cast_.add(actor.name, actor.where);
        actors_.push_back(std::move(actor));
    }
    addresses_[run_role::stage].resize(placements_.size());
    for (const run_role& role : companions())
        addresses_[role].resize(placements_.size());
}

std::optional<std::size_t> training_cast::placement_of(std::uint32_t replica,
                                                       std::uint32_t stage) const {
    const auto found = std::ranges::find_if(
        placements_, [&](const placement& p) { return p.replica == replica && p.stage == stage; });
    if (found == placements_.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - placements_.begin());
}

std::optional<std::size_t> training_cast::placement_of(actor_address stage) const {
    const auto found = std::ranges::find(all(run_role::stage), stage);
    if (found == all(run_role::stage).end())
        return std::nullopt;
    return static_cast<std::size_t>(found - all(run_role::stage).begin());
}

std::vector<std::size_t> training_cast::placements_on(node_id node) const {
    std::vector<std::size_t> found;
    for (std::size_t number = 0; number < placements_.size(); ++number)
        if (where(number).node == node)
            found.push_back(number);
    return found;
}

std::vector<std::size_t> training_cast::actors_of(std::size_t number) const {
    const placement& of = placements_[number];
    std::vector<std::size_t> found;
    for (std::size_t a = 0; a < actors_.size(); ++a)
        if (actors_[a].stage == of.stage && std::ranges::count(actors_[a].replicas, of.replica) > 0)
            found.push_back(a);
    return found;
}

bool training_cast::is_taken(std::size_t number) const {
    return std::ranges::all_of(actors_of(number), [&](std::size_t actor) {
        return static_cast<bool>(cast_.address_of(actor));
    });
}

std::string training_cast::describe(std::size_t number) const {
    const placement& of = placements_[number];
    const std::string replica = std::ranges::count(placements_, of.stage, &placement::stage) > 1
                                    ? " of replica " + std::to_string(of.replica)
                                    : "";
    return "stage " + std::to_string(of.stage) + replica + " on " + where_text(where(number));
}

std::vector<actor_address> training_cast::replicas_of(std::size_t stage,
                                                      const run_role& role) const {
    std::vector<actor_address> found;
    for (std::size_t number = 0; number < placements_.size(); ++number)
        if (stage_at(number) == stage && (role == run_role::stage || all(role)[number]))
            found.push_back(all(role)[number]);
    return found;
}

bool training_cast::has_shard(std::uint32_t replica) const {
    for (std::size_t number = 0; number < placements_.size(); ++number)
        if (replica_at(number) == replica && all(run_role::shard)[number])
            return true;
    return false;
}

bool training_cast::has_other_shards(std::size_t of) const {
    for (std::size_t number = 0; number < placements_.size(); ++number)
        if (number != of && stage_at(number) == stage_at(of) && all(run_role::shard)[number])
            return true;
    return false;
}

frame_builder<proto::Spawn> training_cast::ask(std::size_t actor) {
    return cast_.ask(actor, std::string{actors_[actor].role.name});
}

result<cast::answer> training_cast::enter(proto::Spawned::Reader body, actor_address from) {
    auto answer = cast_.enter(body, from);
    if (!answer || !answer->is_wanted)
        return answer;
    const planned_actor& entering = actors_[answer->member];
    auto& of_role = addresses_.at(entering.role);
    for (const std::uint32_t replica : entering.replicas)
        of_role[*placement_of(replica, entering.stage)] = answer->address;
    return answer;
}

std::map<node_id, std::vector<actor_address>> training_cast::leave(std::uint32_t replica) {
    std::map<node_id, std::vector<actor_address>> left;
    for (std::size_t actor = actors_.size(); actor-- > 0;) // stages before their companions
        if (actors_[actor].replicas == std::vector{replica})
            if (const actor_address address = cast_.leave(actor))
                left[actors_[actor].where.node].push_back(address);
    return left;
}

void training_cast::move(std::size_t number, const plan_device& where) {
    addresses_.at(run_role::stage)[number] = {};
    for (const std::size_t actor : actors_of(number)) {
        actors_[actor].where = where;
        cast_.move(actor, where);
    }
}

} // namespace troupe
