#include "actors/trainer/run_cast.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

run_cast::run_cast(std::vector<planned_actor> actors) {
    for (planned_actor& actor : actors) {
        if (actor.role == run_role::stage)
            seats_.push_back({actor.replicas[0], actor.stage});
        actors_.push_back({.planned = std::move(actor)});
    }
    for (auto& of_role : addresses_)
        of_role.resize(seats_.size());
}

std::optional<std::size_t> run_cast::seat_of(std::uint32_t replica, std::uint32_t stage) const {
    const auto found = std::ranges::find(seats_, seat{replica, stage});
    if (found == seats_.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - seats_.begin());
}

std::vector<std::size_t> run_cast::actors_of(std::size_t number) const {
    const seat& of = seats_[number];
    std::vector<std::size_t> found;
    for (std::size_t a = 0; a < actors_.size(); ++a)
        if (actors_[a].planned.stage == of.stage &&
            std::ranges::count(actors_[a].planned.replicas, of.replica) > 0)
            found.push_back(a);
    return found;
}

bool run_cast::is_taken(std::size_t number) const {
    return std::ranges::all_of(actors_of(number), [&](std::size_t actor) {
        return actors_[actor].address.operator bool();
    });
}

std::uint64_t run_cast::ask(std::size_t actor) {
    actors_[actor].request = ++last_request_;
    asked_[last_request_] = {actor, actors_[actor].planned.where.node};
    return last_request_;
}

std::optional<run_cast::question> run_cast::asked(std::uint64_t request) const {
    const auto found = asked_.find(request);
    return found == asked_.end() ? std::nullopt : std::optional{found->second};
}

bool run_cast::enter(std::uint64_t request, actor_address address) {
    part& entering = actors_[asked_.extract(request).mapped().actor];
    if (entering.request != request)
        return false;
    entering.address = address;
    auto& of_role = addresses_[static_cast<std::size_t>(entering.planned.role)];
    for (const std::uint32_t replica : entering.planned.replicas)
        of_role[*seat_of(replica, entering.planned.stage)] = address;
    return true;
}

bool run_cast::refuse(std::uint64_t request) {
    return actors_[asked_.extract(request).mapped().actor].request == request;
}

std::vector<std::pair<node_id, actor_address>> run_cast::leave(std::uint32_t replica) {
    std::vector<std::pair<node_id, actor_address>> left;
    for (auto actor = actors_.rbegin(); actor != actors_.rend(); ++actor) { // stages first
        if (actor->planned.replicas != std::vector{replica})
            continue;
        actor->request = 0;
        if (const actor_address address = std::exchange(actor->address, {}))
            left.emplace_back(actor->planned.where.node, address);
    }
    return left;
}

void run_cast::move(std::size_t number, const plan_device& where) {
    addresses_[static_cast<std::size_t>(run_role::stage)][number] = {};
    for (const std::size_t actor : actors_of(number))
        actors_[actor].planned.where = where;
}

} // namespace troupe
