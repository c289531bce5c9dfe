// The part of the control plane that takes the peers' messages.
#include "transport/node/control_plane.hpp"

#include <string_view>
#include <utility>

#include "transport/handshake/admission.hpp"
#include "transport/node/link_means.hpp"
#include "transport/node/node_endpoint.hpp"
#include "transport/tcp/frame_stream.hpp"
#include "transport/ucx/ucx_link.hpp"

namespace troupe {

namespace {

std::string text(const ucx_version& v) {
    return std::to_string(v.major) + "." + std::to_string(v.minor);
}

error other_ucx(const ucx_version& theirs) {
    return {errc::refused, "it runs UCX " + text(theirs) + ", this side " + text(ucx_here()) +
                               "; let all of a cluster find the same one (LD_LIBRARY_PATH)"};
}

error other_sealing(bool seals_there) {
    return {errc::refused,
            std::string{seals_there ? "it seals frames, this node sends them in clear"
                                    : "it sends frames in clear, this node seals them"} +
                "; give --plain to both, or better to neither"};
}

constexpr std::string_view other_worker = "its UCX has other transports within the machine than "
                                          "this node's, or uses them in another way";

error other_worker_error() {
    return {errc::refused, std::string{other_worker} + "; give --transport auto to both"};
}

// An observer is nothing to UCX, whatever may be used between nodes.
bool is_with_observer(const peer_info& self, const peer_connection& c) {
    return self.role == peer_role::observer || c.peer->info.role == peer_role::observer;
}

handshake_side other(handshake_side side) {
    return side == handshake_side::connector ? handshake_side::acceptor : handshake_side::connector;
}

} // namespace

void control_plane::admit(connection& c, const hello_message& hello) {
    if (c.state != phase::hello)
        return end(c.id, error{errc::protocol, "a second hello"});
    if (is_closing_)
        return give_up(c, error{errc::refused, "this node is closing"});
    c.said.name = hello.self.name;
    const auto proven = admitted(hello, c.wire->secrets(), other(c.side));
    if (!proven)
        return give_up(c, proven.failure());
    if (c.side == handshake_side::acceptor)
        say_hello(c);
    peer_state& peer = *c.peer;
    if (proven->node == self_.node)
        return end(c.id, error{errc::refused, "this address is the node itself"});
    peer.info = *proven;
    peer.info.address = reachable_address(hello.self.address, remote_address(c.wire->descriptor()));
    c.said.has_other_ucx = hello.ucx != ucx_here();
    c.said.seals = hello.seals;
    if (const bool sealed_there = hello.seals;
        (seals(c) && hello.plain) || (sealed_there && options_.seals == sealing::never))
        return end(c.id, other_sealing(sealed_there));
    c.said.routes = {hello.memory.has_value() && !c.said.has_other_ucx,
                     hello.rdma && !c.said.has_other_ucx, hello.tcp};
    if (is_with_observer(self_, c))
        c.said.routes = {.tcp = true};
    const link_routes here = routes_for(c);
    if (c.said.has_other_ucx && !(c.said.routes.tcp && here.tcp))
        return end(c.id, other_ucx(hello.ucx));
    if (c.said.routes.shared_memory && here.shared_memory && is_seen(*hello.memory, proven->node)) {
        const auto ready = events_.route_found(c.peer, link_route::shared_memory);
        if (!ready && !here.tcp)
            return give_up(c, ready.failure());
        if (!ready)
            say_once(has_told_.of_memory,
                     "links to nodes of this machine go over TCP from now on: " +
                         ready.failure().message());
        else
            c.peer->ucx->peers_process = hello.memory->process;
        c.sees_memory = ready.ok();
    }
    c.state = phase::sight;
    c.wire->send(
        sight_message{c.sees_memory, c.sees_memory ? c.peer->ucx->worker->kind() : worker_kind{}});
}

link_routes control_plane::routes_for(const connection& c) const {
    return is_with_observer(self_, c) ? link_routes{.tcp = true} : means_.routes();
}

void control_plane::give_up(connection& c, const error& why) {
    c.wire->send(given_up_message{why.message()});
    end(c.id, why);
}

void control_plane::say_once(bool& is_said, const std::string& sentence) {
    if (!std::exchange(is_said, true) && options_.log)
        options_.log(sentence);
}

void control_plane::admit(connection& c, const sight_message& sight) {
    if (c.state != phase::sight)
        return end(c.id, error{errc::protocol, "a sight out of turn"});
    const bool shares_memory = c.sees_memory && sight.memory;
    const bool has_other_worker =
        shares_memory && sight.kind != worker_kind{} && sight.kind != c.peer->ucx->worker->kind();
    const auto route =
        route_between(routes_for(c), c.said.routes, shares_memory && !has_other_worker);
    if (!route)
        return end(c.id, has_other_worker ? other_worker_error() : route.failure());
    if (has_other_worker)
        say_once(has_told_.of_other_worker,
                 "frames to " + c.peer->info.name + " do not go over shared memory: " +
                     std::string{other_worker} + "; likewise from now on to others like it");
    // Called before the address is sent: the peer's first frame may overtake its own messages.
    if (*route != link_route::shared_memory)
        if (const auto ready = events_.route_found(c.peer, *route); !ready)
            return give_up(c, ready.failure());
    if (*route == link_route::tcp) {
        c.peer->is_sealed = seals(c) || c.said.seals;
        return judge(c);
    }
    c.state = phase::worker;
    c.wire->send(worker_message{c.peer->ucx->worker->address()});
}

void control_plane::admit(connection& c, const worker_message& worker) {
    if (c.state != phase::worker)
        return end(c.id, error{errc::protocol, "a worker out of turn"});
    c.peer->ucx->peers_worker = worker.address;
    judge(c);
}

void control_plane::judge(connection& c) {
    c.state = phase::verdict;
    if (self_.node > c.peer->info.node)
        return; // the other node decides
    if (connections_.find_up(c.peer->info.node) != nullptr) {
        c.wire->send(verdict_message::duplicate);
        end_duplicate(c);
    } else {
        c.wire->send(verdict_message::accepted);
        become_up(c);
    }
}

void control_plane::admit(connection& c, verdict_message verdict) {
    if (c.state != phase::verdict)
        return end(c.id, error{errc::protocol, "a verdict out of turn"});
    if (verdict == verdict_message::duplicate)
        return end_duplicate(c);
    // The other node has lost the earlier one, and comes back once this node has noticed it too.
    if (connections_.find_up(c.peer->info.node) != nullptr)
        return give_up(c, {errc::refused, "the earlier connection of these two nodes has not ended "
                                          "on this side; try again later"});
    become_up(c);
}

void control_plane::admit(connection& c, const goodbye_message& goodbye) {
    if (c.state != phase::up)
        return end(c.id, error{errc::protocol, "a goodbye out of turn"});
    events_.peer_said_goodbye(c.peer, goodbye.frames);
}

void control_plane::admit(connection& c, alive_message) {
    if (c.state != phase::up)
        return end(c.id, error{errc::protocol, "a sign of life out of turn"});
    events_.peer_said_alive(c.peer);
}

void control_plane::admit(connection& c, wired_message) {
    if (c.state != phase::up)
        return end(c.id, error{errc::protocol, "a Wired out of turn"});
    c.peer->wired.there = true;
}

// On the first connection an acceptor asks for the second one, on which a connector says of which pair it is.
void control_plane::admit(connection& c, const frames_message& frames) {
    const error out_of_turn{errc::protocol, "frames are announced out of turn"};
    if (c.side == handshake_side::connector) {
        const bool is_due = c.state == phase::up && c.peer->stream != nullptr &&
                            !c.peer->stream->is_open() && !connections_.has_frames_under_way(c.id);
        return is_due ? connect_frames(c) : end(c.id, out_of_turn);
    }
    const connection* const first = connections_.find_awaiting(frames.token);
    if (first == nullptr || c.state != phase::hello)
        return end(c.id, out_of_turn);
    hand_over(c, first->peer);
}

void control_plane::admit(connection& c, const given_up_message& given_up) {
    c.has_given_up = true;
    end(c.id, error{errc::refused, "it gave up the connection: " + given_up.why});
}

} // namespace troupe
