#include "transport/node/connection_table.hpp"

#include <algorithm>
#include <utility>

#include "transport/tcp/frame_stream.hpp"

namespace troupe {

peer_connection connection_table::take(std::uint64_t id) {
    peer_connection c = std::move(all_.at(id));
    all_.erase(id);
    std::erase_if(all_, [&](const auto& entry) { return entry.second.first == id; });
    return c;
}

void connection_table::erase_unfinished(bool also_newcomers) {
    std::erase_if(all_, [&](const auto& entry) {
        const peer_connection& c = entry.second;
        const bool is_newcomer = c.is_waiting() && c.state <= connection_phase::hello;
        return !c.is_up() && c.first == 0 && (also_newcomers || !is_newcomer);
    });
}

peer_connection* connection_table::find(std::uint64_t id) {
    const auto found = all_.find(id);
    return found != all_.end() ? &found->second : nullptr;
}

peer_connection* connection_table::find(const peer_state& peer) {
    for (auto& [id, c] : all_)
        if (c.peer.get() == &peer)
            return &c;
    return nullptr;
}

peer_connection* connection_table::find_up(node_id node) {
    for (auto& [id, c] : all_)
        if (c.is_up() && c.peer->info.node == node)
            return &c;
    return nullptr;
}

peer_connection* connection_table::find_awaiting(const wire::connection_token& token) {
    for (auto& [id, c] : all_)
        if (c.is_up() && c.side == handshake_side::acceptor && c.peer->stream != nullptr &&
            !c.peer->stream->is_open() && same_token(c.peer->receive_token, token))
            return &c;
    return nullptr;
}

bool connection_table::has_frames_under_way(std::uint64_t first) const {
    return std::ranges::any_of(all_,
                               [&](const auto& entry) { return entry.second.first == first; });
}

bool connection_table::has_other(const peer_connection& c) const {
    return std::ranges::any_of(all_, [&](const auto& entry) {
        const peer_connection& other = entry.second;
        return other.id != c.id && (other.state == connection_phase::verdict || other.is_up()) &&
               other.peer->info.node == c.peer->info.node;
    });
}

std::size_t connection_table::waiting() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(all_, [](const auto& entry) { return entry.second.is_waiting(); }));
}

// The longest silent of these in the group that has most of them, if they are more than `share`.
template <class Counts, class Group>
peer_connection* connection_table::of_largest(std::size_t share, Counts counts, Group group_of) {
    std::map<decltype(group_of(std::declval<const peer_connection&>())), std::size_t> sizes;
    for (const auto& [id, c] : all_)
        if (c.is_waiting() && counts(c))
            ++sizes[group_of(c)];
    peer_connection* found = nullptr;
    std::size_t most = share + 1;
    for (auto& [id, c] : all_) {
        if (!c.is_waiting() || !counts(c))
            continue;
        const std::size_t size = sizes[group_of(c)];
        if (size < most || (size == most && found != nullptr && c.heard_at >= found->heard_at))
            continue;
        found = &c;
        most = size;
    }
    return found;
}

peer_connection* connection_table::longest_unproven() {
    return of_largest(
        0, [](const peer_connection& c) { return c.state == connection_phase::proof; },
        [](const peer_connection& c) { return c.network; });
}

peer_connection* connection_table::longest_silent() {
    return of_largest(
        0, [](const peer_connection& c) { return c.state != connection_phase::proof; },
        [](const peer_connection&) { return true; });
}

peer_connection* connection_table::beyond_share(std::size_t share, const std::string& network) {
    const auto has_proof = [](const peer_connection& c) {
        return c.state != connection_phase::proof;
    };
    const auto is_elsewhere = [&](const peer_connection& c) {
        return has_proof(c) && c.network != network;
    };
    const auto key_for = [](const peer_connection& c) { return c.wire->secrets().key_for; };
    const auto has_narrow_key = [&](const peer_connection& c) {
        return has_proof(c) && key_for(c).value_or(peer_role::member) != peer_role::member;
    };
    if (const auto found =
            of_largest(share, is_elsewhere, [](const peer_connection& c) { return c.network; }))
        return found;
    return of_largest(share, has_narrow_key, key_for);
}

std::vector<std::uint64_t> connection_table::duplicates_of(node_id node) const {
    std::vector<std::uint64_t> found;
    for (const auto& [id, c] : all_)
        if (c.state == connection_phase::duplicate && c.peer->info.node == node)
            found.push_back(id);
    return found;
}

std::vector<std::uint64_t> connection_table::expired(time_point now) const {
    std::vector<std::uint64_t> found;
    for (const auto& [id, c] : all_)
        if (!c.is_up() && c.deadline <= now)
            found.push_back(id);
    return found;
}

std::optional<time_point> connection_table::next_deadline() const {
    std::optional<time_point> next;
    for (const auto& [id, c] : all_)
        if (!c.is_up() && (!next || c.deadline < *next))
            next = c.deadline;
    return next;
}

} // namespace troupe
