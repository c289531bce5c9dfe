// The links of a host of the simulated network: items sent, retransmitted, acknowledged and given up.
#include <algorithm>

#include "transport/sim/sim_state.hpp"

namespace troupe::sim {

namespace {

constexpr duration retransmit_floor = std::chrono::milliseconds{1};
constexpr duration retransmit_ceiling = std::chrono::seconds{1};
constexpr std::uint64_t retransmit_burst = 16; // items retransmitted at once

} // namespace

void host::push(link& l, item i) {
    if (l.out.empty()) {
        l.waiting_since = net_.events().now();
        l.backoff = 0;
    }
    const std::uint64_t sequence = l.out.push(std::move(i));
    transmit_item(l, sequence);
    if (!l.retransmit)
        arm_retransmit(l);
}

void host::transmit_item(const link& l, std::uint64_t sequence) {
    packet p = make_packet(packet::kind::item, l);
    p.sequence = sequence;
    p.item = l.out.at(sequence);
    net_.transmit(std::move(p));
}

void host::arm_retransmit(link& l) {
    l.retransmit = {};
    if (l.out.empty() && l.state != link::phase::connecting)
        return;
    const duration first = retransmit_floor + 2 * net_.round_trip_max(options_.self.node, l.peer);
    const duration wait =
        std::max(first, std::min(first * (1 << std::min(l.backoff, 10u)), retransmit_ceiling));
    l.retransmit =
        net_.events().schedule_after(wait, [this, number = l.number] { retransmit(number); });
}

void host::retransmit(std::uint64_t number) {
    link& l = *find(number);
    if (l.state == link::phase::connecting) {
        packet p = make_packet(packet::kind::connect, l);
        p.key = options_.key;
        net_.transmit(std::move(p));
    } else if (net_.events().now() - l.waiting_since > net_.options().give_up_after) {
        end(number,
            error{errc::lost, "no acknowledgement from the peer for " +
                                  std::to_string(net_.options().give_up_after.count() / 1000000) +
                                  " ms"});
        return;
    } else if (l.out.first_unreceived() == l.out.next()) {
        net_.transmit(make_packet(packet::kind::probe, l));
    } else {
        const std::uint64_t last =
            std::min(l.out.next(), l.out.first_unreceived() + retransmit_burst);
        for (std::uint64_t sequence = l.out.first_unreceived(); sequence < last; ++sequence) {
            ++net_.statistics.packets_retransmitted;
            transmit_item(l, sequence);
        }
    }
    ++l.backoff;
    arm_retransmit(l);
}

// A timer of the process: it does not expire while the process is stopped.
void host::handshake_expired(std::uint64_t number) {
    in_process([this, number] {
        const link* l = find(number);
        if (l == nullptr || l->state == link::phase::up || l->state == link::phase::closing)
            return;
        end(number, error{errc::unreachable,
                          "no answer from " + (l->address.empty() ? "the peer" : l->address)});
    });
}

void host::acknowledge(const link& l) {
    packet p = make_packet(packet::kind::acknowledge, l);
    p.heard = l.in.state();
    net_.transmit(std::move(p));
}

void host::reset(const link& l, std::optional<error> why) {
    packet p = make_packet(packet::kind::reset, l);
    p.why = std::move(why);
    net_.transmit(std::move(p));
}

void host::end(std::uint64_t number, std::optional<error> why) {
    const link& l = *find(number);
    const node_id peer = l.peer;
    const std::string address = l.address;
    const bool was_up = l.state == link::phase::up;
    const bool was_mine = !address.empty();
    forget(number);
    if (was_up) {
        up_.erase(peer);
        places_.erase(peer);
        report([this, peer, why = *why] { listener_->peer_down(peer, why); });
    } else if (was_mine && !has_link_to(peer)) {
        const error reason = why.value_or(error{
            errc::refused, address + " still holds an earlier connection of this node; try again"});
        report([this, address, reason] { listener_->connect_failed(address, reason); });
    }
}

void host::forget(std::uint64_t number) {
    const link& l = *find(number);
    net_.events().cancel(l.retransmit);
    net_.events().cancel(l.deadline);
    links_.erase(number);
    ended_.insert(number);
}

bool host::has_link_to(node_id peer) const {
    return std::any_of(links_.begin(), links_.end(), [&](const auto& entry) {
        return entry.second.peer == peer && entry.second.state != link::phase::connecting;
    });
}

link* host::find(std::uint64_t number) {
    const auto found = links_.find(number);
    return found != links_.end() ? &found->second : nullptr;
}

packet host::make_packet(packet::kind what, const link& l) const {
    return {what, l.number, options_.self.node, l.peer};
}

} // namespace troupe::sim
