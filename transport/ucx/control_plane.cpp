#include "transport/ucx/control_plane.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/ucx/ucx_endpoint.hpp"
#include "transport/ucx/ucx_means.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t listening_id = control_plane::first_id;
constexpr duration listen_pause = std::chrono::milliseconds{100};
constexpr int accepted_at_once = 16; // afterwards connections that wait get their turn
// A node goes from message to message in milliseconds; one that has proven the key and says nothing for so long may go.
constexpr duration silence_max = std::chrono::milliseconds{500};

error duplicate_error() {
    return {errc::refused,
            "the node there still holds an earlier connection of this node; try again"};
}

} // namespace

control_plane::control_plane(const ucx_options& options, const socket_address& listen,
                             const ucx_means& means, control_events& events, poll_set& poll)
    : options_{options},
      listen_address_{listen}, means_{means}, events_{events}, poll_{poll}, self_{options.self} {}

result<void> control_plane::listen() {
    auto opened = listen_on(listen_address_);
    if (!opened)
        return opened.failure();
    listening_ = std::move(*opened);
    self_.address = local_address(listening_).text();
    poll_.watch(listening_.get(), listening_id);
    return {};
}

void control_plane::stop_listening() {
    listening_ = {};
    held_ = {};
    listens_again_at_.reset();
}

void control_plane::connect(const std::string& address) {
    const auto to = parse_address(address);
    auto socket = to ? begin_connect(*to) : result<file_descriptor>{to.failure()};
    if (!socket) {
        events_.connect_failed(address, socket.failure());
        return;
    }
    connection& c = add(std::move(*socket), handshake_side::connector, options_.connect_timeout);
    c.target = address;
}

void control_plane::say_alive(const ucx_peer& peer) {
    if (const auto up = up_.find(peer.info.node); up != up_.end()) {
        connection& c = *find(up->second);
        if (c.wire->wants_to_write())
            return; // it does not read; one message is enough
        c.wire->send(alive_message{});
        watch(c);
    }
}

void control_plane::say_wired(const ucx_peer& peer) {
    if (const auto up = up_.find(peer.info.node); up != up_.end()) {
        connection& c = *find(up->second);
        c.wire->send(wired_message{});
        watch(c);
    }
}

void control_plane::say_goodbye(const ucx_peer& peer) {
    if (const auto up = up_.find(peer.info.node); up != up_.end()) {
        connection& c = *find(up->second);
        c.wire->send(goodbye_message{peer.frames_sent()});
        watch(c);
    }
}

void control_plane::say_given_up(const ucx_peer& peer, const error& why) {
    if (connection* const c = find(peer))
        c->wire->send(given_up_message{why.message()});
}

void control_plane::drop(const ucx_peer& peer, const error& why) {
    connection* const found = find(peer);
    if (found == nullptr)
        return;
    const connection c = std::move(*found);
    connections_.erase(c.id);
    drop_second(c.id);
    if (c.state == phase::up)
        up_.erase(peer.info.node);
    report_failure(c, why);
}

void control_plane::drop_second(std::uint64_t first) {
    std::erase_if(connections_, [&](const auto& entry) { return entry.second.first == first; });
}

void control_plane::drop_unfinished() {
    std::erase_if(connections_, [](const auto& entry) {
        return entry.second.state != phase::up && entry.second.first == 0;
    });
}

// --- connections

control_plane::connection& control_plane::add(file_descriptor socket, handshake_side side,
                                              duration timeout) {
    const std::uint64_t id = next_id_++;
    const cluster_keys keys = options_.keys->now();
    connection c;
    c.id = id;
    c.wire = std::make_unique<control_connection>(
        std::move(socket), side,
        side == handshake_side::acceptor ? keys.all() : std::vector{*keys.offered_by(self_.role)});
    c.side = side;
    c.heard_at = options_.time->now();
    c.deadline = c.heard_at + timeout;
    connection& added = connections_.emplace(id, std::move(c)).first->second;
    watch(added, true);
    return added;
}

void control_plane::watch(connection& c, bool is_new) {
    const bool writing = c.wire->wants_to_write();
    const auto what = writing ? readiness::reading_or_writing : readiness::reading;
    if (is_new)
        poll_.watch(c.wire->descriptor(), c.id, what);
    else if (writing != c.polls_for_writing)
        poll_.change(c.wire->descriptor(), c.id, what);
    c.polls_for_writing = writing;
}

void control_plane::accept_waiting() {
    for (int i = 0; i < accepted_at_once; ++i) {
        if (!held_)
            held_ = accept_from(listening_);
        if (!held_) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_listening();
            return;
        }
        if (!make_room())
            return pause_listening(); // this one and those behind it wait in line
        add(std::move(held_), handshake_side::acceptor, options_.handshake_timeout);
    }
}

void control_plane::pause_listening() {
    poll_.change(listening_.get(), listening_id, readiness::none);
    listens_again_at_ = options_.time->now() + listen_pause;
}

// The longest silent of the incoming connections that are not up, with or without proof of the key.
control_plane::connection* control_plane::longest_silent(bool has_proof) {
    connection* found = nullptr;
    for (auto& [id, c] : connections_)
        if (c.side == handshake_side::acceptor && c.state != phase::up &&
            (c.state != phase::proof) == has_proof &&
            (found == nullptr || c.heard_at < found->heard_at))
            found = &c;
    return found;
}

// Drops the connection that has waited longest without proof of the key, as nodes with the key prove it at once; where all
// have proven it, one that has gone no further for long.
bool control_plane::make_room() {
    const auto unfinished =
        static_cast<std::size_t>(std::ranges::count_if(connections_, [](const auto& entry) {
            return entry.second.side == handshake_side::acceptor && entry.second.state != phase::up;
        }));
    if (unfinished < options_.handshakes_max)
        return true;
    if (const connection* const unproven = longest_silent(false)) {
        const std::uint64_t oldest = unproven->id;
        on_ready(oldest); // its proof may have arrived
        if (const connection* c = find(oldest); c == nullptr || c->state != phase::proof)
            return make_room();
        say_crowd(unfinished, "that has not proven the cluster's key");
        end(oldest, error{errc::refused, "others wait to prove the key"});
        return true;
    }
    const connection* const silent = longest_silent(true);
    if (silent == nullptr || options_.time->now() - silent->heard_at < silence_max)
        return false;
    say_crowd(unfinished, "that says nothing");
    end(silent->id, error{errc::refused, "it says nothing, and others wait"});
    return true;
}

void control_plane::say_crowd(std::size_t unfinished, const std::string& who_goes) {
    if (!std::exchange(has_told_of_crowd_, true) && options_.log)
        options_.log(std::to_string(unfinished) + " connections to " + self_.address +
                     " are not set up: from now on the oldest " + who_goes +
                     " is closed for a new one; see who connects there");
}

void control_plane::on_ready(std::uint64_t id) {
    if (id == listening_id) {
        if (listening_)
            accept_waiting();
        return;
    }
    connection* c = find(id);
    if (c == nullptr)
        return;
    std::vector<control_message> arrived;
    const auto alive = c->wire->advance(arrived);
    if (c->state == phase::proof && c->wire->proven()) {
        if (c->first != 0) {
            c->state = phase::frames;
            c->wire->send(frames_message{find(c->first)->peer->send_token});
        } else {
            c->state = phase::hello;
            if (c->side == handshake_side::connector)
                say_hello(*c);
        }
    }
    if (c->state == phase::frames && alive && !c->wire->wants_to_write())
        return hand_over(*c, find(c->first)->peer);
    if (!arrived.empty())
        c->heard_at = options_.time->now();
    for (const control_message& message : arrived)
        if ((c = find(id)) != nullptr)
            std::visit([&](const auto& m) { admit(*c, m); }, message);
    c = find(id);
    if (c == nullptr || c->state == phase::duplicate)
        return;
    if (alive)
        watch(*c);
    else if (c->state == phase::up && alive.failure().code() == errc::lost)
        end(id, error{errc::lost, "its process at " + c->peer->info.address + " is gone (" +
                                      alive.failure().message() + ")"});
    else
        end(id, alive.failure());
}

void control_plane::say_hello(connection& c) {
    c.peer = std::make_shared<ucx_peer>(options_.bounds);
    c.peer->send_token = c.wire->secrets().send_token;
    c.peer->receive_token = c.wire->secrets().receive_token;
    c.wire->send(hello_message{self_, options_.identity.prove(c.wire->secrets().name, c.side),
                               means_.mark(), means_.routes().rdma, means_.routes().tcp, ucx_here(),
                               seals(c)});
}

// Both sides come to the same, as both ends of a connection over loopback are loopback addresses.
bool control_plane::seals(const connection& c) const {
    switch (options_.seals) {
    case sealing::between_machines:
        return !remote_address(c.wire->descriptor()).is_loopback();
    case sealing::always:
        return true;
    case sealing::never:
        break;
    }
    return false;
}

void control_plane::become_up(connection& c) {
    c.state = phase::up;
    up_[c.peer->info.node] = c.id;
    const std::shared_ptr<ucx_peer> peer = c.peer;
    if (peer->stream != nullptr && c.side == handshake_side::acceptor)
        c.wire->send(frames_message{peer->receive_token});
    events_.peer_accepted(peer);
    std::vector<std::uint64_t> duplicates;
    for (const auto& [id, other] : connections_)
        if (other.state == phase::duplicate && other.peer->info.node == peer->info.node)
            duplicates.push_back(id);
    for (const std::uint64_t id : duplicates)
        end(id, duplicate_error());
}

bool control_plane::has_other(const connection& c) const {
    return std::ranges::any_of(connections_, [&](const auto& entry) {
        const connection& other = entry.second;
        return other.id != c.id && (other.state == phase::verdict || other.state == phase::up) &&
               other.peer->info.node == c.peer->info.node;
    });
}

// The connection accepted instead may be one whose hello has not been read yet. Then this one waits for it, with its socket
// unwatched, so that a second connection is dropped silently.
void control_plane::end_duplicate(connection& c) {
    c.peer->was_declined = true;
    if (has_other(c)) {
        end(c.id, duplicate_error());
        return;
    }
    c.state = phase::duplicate;
    poll_.forget(c.wire->descriptor());
}

// To the address at which the first connection has reached the peer.
void control_plane::connect_frames(const connection& c) {
    auto socket = begin_connect(remote_address(c.wire->descriptor()));
    if (!socket)
        return end(c.id, socket.failure().in("a second connection, for frames"));
    add(std::move(*socket), handshake_side::connector, options_.connect_timeout).first = c.id;
}

void control_plane::hand_over(connection& c, const std::shared_ptr<ucx_peer>& peer) {
    poll_.forget(c.wire->descriptor());
    const auto wire = std::move(c.wire);
    connections_.erase(c.id);
    events_.frames_connected(peer, wire->take_socket(), wire->secrets());
}

void control_plane::end(std::uint64_t id, const error& why) {
    connection& found = *find(id);
    if (const std::uint64_t first = found.first; first != 0) { // the pair cannot do without it
        connections_.erase(id);
        if (find(first) != nullptr)
            end(first, error{errc::lost, "a second connection, for frames: " + why.message()});
        return;
    }
    drop_second(id);
    if (found.state == phase::proof)
        found.wire->send_last_words();
    const connection c = std::move(found);
    connections_.erase(id);
    if (c.state == phase::proof && c.side == handshake_side::acceptor)
        ++refused_;
    if (c.state == phase::up)
        up_.erase(c.peer->info.node);
    if (c.peer != nullptr && c.state <= phase::worker)
        c.peer->was_declined = true; // without its worker's address it was never accepted
    if (c.peer != nullptr)
        events_.peer_ended(c.peer, why);
    report_failure(c, why);
}

void control_plane::report_failure(const connection& c, const error& why) {
    const bool is_second = c.state >= phase::verdict && has_other(c);
    if (c.state != phase::up && c.side == handshake_side::connector && !is_second)
        events_.connect_failed(
            c.target, why.code() == errc::lost ? error{errc::unreachable, why.message()} : why);
}

control_plane::connection* control_plane::find(std::uint64_t id) {
    const auto found = connections_.find(id);
    return found != connections_.end() ? &found->second : nullptr;
}

control_plane::connection* control_plane::find(const ucx_peer& peer) {
    const auto found = std::ranges::find_if(
        connections_, [&](const auto& entry) { return entry.second.peer.get() == &peer; });
    return found != connections_.end() ? &found->second : nullptr;
}

// --- time

error control_plane::overdue_error(const control_connection& wire) const {
    if (!wire.is_connected())
        return {errc::unreachable, "nobody there answers"};
    const auto waited = std::chrono::ceil<std::chrono::seconds>(options_.connect_timeout).count();
    return {errc::unreachable, "it accepts connections, but has not answered within " +
                                   std::to_string(waited) +
                                   " s: it is no Troupe node, or it hangs"};
}

void control_plane::expire(time_point now) {
    if (listens_again_at_ && *listens_again_at_ <= now) {
        listens_again_at_.reset();
        poll_.change(listening_.get(), listening_id, readiness::reading);
        if (held_)
            accept_waiting();
    }
    std::vector<std::uint64_t> expired;
    for (const auto& [id, c] : connections_)
        if (c.state != phase::up && c.deadline <= now)
            expired.push_back(id);
    for (const std::uint64_t id : expired)
        if (const connection* c = find(id))
            end(id, c->state == phase::duplicate ? duplicate_error() : overdue_error(*c->wire));
}

std::optional<time_point> control_plane::next_deadline() const {
    std::optional<time_point> next = listens_again_at_;
    for (const auto& [id, c] : connections_)
        if (c.state != phase::up && (!next || c.deadline < *next))
            next = c.deadline;
    return next;
}

} // namespace troupe
