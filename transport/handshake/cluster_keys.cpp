#include "transport/handshake/cluster_keys.hpp"

#include <algorithm>

namespace troupe {

namespace {

struct role_names {
    std::string_view people, one, word;
};

constexpr role_names names_of(peer_role role) noexcept {
    switch (role) {
    case peer_role::member:
        return {"nodes", "a node", "member"};
    case peer_role::client:
        return {"runs", "a run", "run"};
    case peer_role::observer:
        return {"observers", "an observer", "observe"};
    }
    return {};
}

} // namespace

std::string_view people_of(peer_role role) noexcept {
    return names_of(role).people;
}
std::string_view one_of(peer_role role) noexcept {
    return names_of(role).one;
}
std::string_view word_of(peer_role role) noexcept {
    return names_of(role).word;
}

const cluster_key* cluster_keys::offered_by(peer_role role) const noexcept {
    const auto found = std::ranges::find_if(
        all_, [&](const cluster_key& key) { return !key.role || key.role == role; });
    return found != all_.end() ? &*found : nullptr;
}

} // namespace troupe
