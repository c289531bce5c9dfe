#include "actors/training/training_cast.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

training_cast::training_cast(std::uint64_t run, std::vector<planned_actor> actors) : cast_{run} {
    for (planned_actor& actor : actors) {
        if (actor.role == run_role::stage)
            placements_.push_back({actor.replicas[0], actor.stage});
        cast_.add(actor.name, actor.where);
        actors_.push_back(std::move(actor));
    }
    for (auto& of_role : addresses_)
        of_role.resize(placements_.size());
}

std::optional<std::size_t> training_cast::placement_of(std::uint32_t replica,
                                                       std::uint32_t stage) const {
    const auto found = std::ranges::find(placements_, placement{replica, stage});
    if (found == placements_.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - placements_.begin());
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

frame_builder<proto::Spawn> training_cast::ask(std::size_t actor) {
    return cast_.ask(actor, name_of(actors_[actor].role));
}

result<cast::answer> training_cast::enter(proto::Spawned::Reader body, actor_address from) {
    auto answer = cast_.enter(body, from);
    if (!answer || !answer->is_wanted)
        return answer;
    const planned_actor& entering = actors_[answer->member];
    auto& of_role = addresses_[static_cast<std::size_t>(entering.role)];
    for (const std::uint32_t replica : entering.replicas)
        of_role[*placement_of(replica, entering.stage)] = answer->address;
    return answer;
}

std::vector<std::pair<node_id, actor_address>> training_cast::leave(std::uint32_t replica) {
    std::vector<std::pair<node_id, actor_address>> left;
    for (std::size_t actor = actors_.size(); actor-- > 0;) // stages before their companions
        if (actors_[actor].replicas == std::vector{replica})
            if (const actor_address address = cast_.leave(actor))
                left.emplace_back(actors_[actor].where.node, address);
    return left;
}

void training_cast::move(std::size_t number, const plan_device& where) {
    addresses_[static_cast<std::size_t>(run_role::stage)][number] = {};
    for (const std::size_t actor : actors_of(number)) {
        actors_[actor].where = where;
        cast_.move(actor, where);
    }
}

} // namespace troupe
