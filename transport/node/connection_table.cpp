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

peer_connection* connection_table::longest_silent(bool has_proof) {
    peer_connection* found = nullptr;
    for (auto& [id, c] : all_)
        if (c.is_waiting() && (c.state != connection_phase::proof) == has_proof &&
            (found == nullptr || c.heard_at < found->heard_at))
            found = &c;
    return found;
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
