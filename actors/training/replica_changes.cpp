#include "actors/training/replica_changes.hpp"

#include <algorithm>

namespace troupe {

bool can_go_on_without(std::uint32_t replica, const plan& p, const training_cast& cast) {
    return p.sync.bears_loss() && replica > 0 && !cast.has_shard(replica) &&
           (!p.sync.node_servers || p.stages.size() == 1);
}

void replica_changes::lose(std::uint32_t replica, std::string why) {
    std::erase(joined_, replica);
    lost_.emplace_back(replica, std::move(why));
}

std::optional<std::string> replica_changes::report(std::uint32_t replica) {
    const auto lost =
        std::ranges::find(lost_, replica, &std::pair<std::uint32_t, std::string>::first);
    if (lost == lost_.end())
        return std::nullopt;
    std::string why = std::move(lost->second);
    lost_.erase(lost);
    return why;
}

bool replica_changes::confirm(actor_address who) {
    const auto asked = expecting_.find(who);
    if (asked == expecting_.end())
        return false;
    expecting_.erase(asked);
    return true;
}

} // namespace troupe
