#include "actors/cluster/missing_members.hpp"

#include <algorithm>
#include <utility>

#include "schemas/base/limits.hpp"

namespace troupe {

void missing_members::look_for(const member_info& m, cause why, time_point now) {
    if (missing_.size() < limits::nodes_max)
        missing_.try_emplace(m.node, search{.name = m.name,
                                            .address = m.address,
                                            .next = now + times_.first,
                                            .wait = 2 * times_.first,
                                            .end = now + times_.give_up,
                                            .is_said = why == cause::lost});
}

void missing_members::found(const member_info& m) {
    std::erase_if(missing_, [&](const auto& entry) {
        const auto& [node, lost] = entry;
        return node == m.node || lost.name == m.name || lost.address == m.address;
    });
}

void missing_members::answered(node_id node, const std::string& address) {
    std::erase_if(missing_, [&](const auto& entry) {
        return entry.first != node && entry.second.address == address;
    });
}

bool missing_members::refused(node_id node) {
    const auto found = missing_.find(node);
    return found != missing_.end() && !std::exchange(found->second.has_refused, true);
}

std::string missing_members::unreachable(const std::string& address) {
    for (auto& [node, sought] : missing_)
        if (sought.address == address && !std::exchange(sought.is_said, true))
            return sought.name;
    return {};
}

std::vector<missing_members::attempt> missing_members::due(time_point now) {
    std::erase_if(missing_, [&](const auto& entry) { return entry.second.end <= now; });
    std::vector<attempt> attempts;
    for (auto& [node, lost] : missing_) {
        if (lost.next > now)
            continue;
        attempts.push_back({node, lost.address});
        lost.next = now + lost.wait;
        lost.wait = std::min(2 * lost.wait, times_.longest);
    }
    return attempts;
}

} // namespace troupe
