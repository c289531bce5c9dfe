#include "transport/node/control_plane.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "transport/node/link_means.hpp"
#include "transport/node/node_endpoint.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t listening_id = control_plane::first_id;
constexpr duration look_pause = std::chrono::milliseconds{100};
constexpr int accepted_at_once = 16; // afterwards connections that wait get their turn
// A node goes from message to message in milliseconds; one that has proven the key and says nothing for so long may go.
constexpr duration silence_max = std::chrono::milliseconds{500};
constexpr std::size_t shares = 4; // of the connections that may be set up at once

error duplicate_error() {
    return {errc::refused,
            "the node there still holds an earlier connection of this node; try again"};
}

error overdue_error(const peer_connection& c, const endpoint_options& options) {
    if (!c.wire->is_connected())
        return {errc::unreachable, "nobody there answers"};
    const bool is_newcomer = c.side == handshake_side::acceptor;
    const duration waited = is_newcomer ? options.handshake_timeout : options.connect_timeout;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(waited).count();
    if (is_newcomer)
        return {errc::unreachable,
                (c.state <= connection_phase::hello
                     ? "it has not proven the key and said who it is within "
                     : "it has proven the key, but the connection was not set up within ") +
                    std::to_string(seconds) + " s"};
    return {errc::unreachable, "it accepts connections, but has not answered within " +
                                   std::to_string(seconds) +
                                   " s: it is no Troupe node, or it hangs"};
}

// A newcomer that this node does not take for what it is: not one that went by itself or for others (say_crowd), nor one of
// two connections of a pair.
bool is_refusal(const peer_connection& c, const error& why) {
    return c.is_waiting() && c.state < connection_phase::verdict && !c.has_given_up &&
           why.code() != errc::lost && why.code() != errc::exhausted;
}

} // namespace

control_plane::control_plane(const endpoint_options& options, const socket_address& listen,
                             const link_means& means, control_events& events, poll_set& poll)
    : options_{options}, listen_address_{listen}, means_{means}, events_{events}, poll_{poll},
      self_{options.self}, line_{options.handshakes_max} {}

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
    line_.clear();
    looks_again_at_.reset();
    connections_.erase_unfinished(true);
}

void control_plane::connect(const std::string& address) {
    const auto to = parse_address(address);
    auto socket = to ? begin_connect(*to) : result<file_descriptor>{to.failure()};
    if (!socket) {
        events_.connect_failed(address, socket.failure());
        return;
    }
    connection& c = add({.socket = std::move(*socket), .is_on_loopback = to->is_loopback()},
                        handshake_side::connector, options_.connect_timeout);
    c.target = address;
}

void control_plane::say(const peer_state& peer, const control_message& message) {
    connection* const c = connections_.find_up(peer.info.node);
    // One sign of life is enough for a peer that does not read.
    if (c == nullptr ||
        (std::holds_alternative<alive_message>(message) && c->wire->wants_to_write()))
        return;
    c->wire->send(message);
    watch(*c);
}

void control_plane::say_given_up(const peer_state& peer, const error& why) {
    if (connection* const c = connections_.find(peer))
        c->wire->send(given_up_message{why.message()});
}

void control_plane::drop(const peer_state& peer, const error& why) {
    if (const connection* const found = connections_.find(peer))
        report_failure(connections_.take(found->id), why);
}

void control_plane::begin_closing() {
    is_closing_ = true;
    connections_.erase_unfinished(false);
}

// --- connections

control_plane::connection& control_plane::add(newcomer other, handshake_side side,
                                              duration timeout) {
    const std::uint64_t id = next_id_++;
    const cluster_keys keys = options_.keys->now();
    connection c;
    c.id = id;
    c.wire = std::make_unique<control_connection>(
        std::move(other.socket), side,
        side == handshake_side::acceptor ? keys.all() : std::vector{*keys.offered_by(self_.role)},
        other.is_on_loopback);
    c.side = side;
    c.host = std::move(other.host);
    c.network = std::move(other.network);
    c.heard_at = options_.links.time->now();
    c.deadline = c.heard_at + timeout;
    connection& added = connections_.add(std::move(c));
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

// Nobody overtakes another one of its network; those of other networks go by, as there may be room for them.
void control_plane::accept_waiting() {
    for (int i = 0; i < accepted_at_once; ++i) {
        newcomer next{accept_from(listening_)};
        if (!next.socket) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                poll_.change(listening_.get(), listening_id, readiness::none);
                looks_again_at_ = options_.links.time->now() + look_pause;
            }
            return;
        }
        const socket_address from = remote_address(next.socket.get());
        next.network = network_of(from);
        next.host = from.host();
        next.is_on_loopback = from.is_loopback();
        if (!line_.has(next.network) && make_room(next.network)) {
            add(std::move(next), handshake_side::acceptor, options_.handshake_timeout);
        } else {
            if (!line_.add(std::move(next)))
                say_crowd(connections_.waiting(), "the last in line of the address of most");
            if (!looks_again_at_)
                looks_again_at_ = options_.links.time->now() + look_pause;
        }
    }
}

// Drops the connection that has waited longest without proof of the key, as nodes with the key prove it at once; where all
// have proven it, one that has gone no further for long, or one of a crowd that has more than its share.
bool control_plane::make_room(const std::string& network) {
    const std::size_t unfinished = connections_.waiting();
    if (unfinished < options_.handshakes_max)
        return true;
    if (const connection* const unproven = connections_.longest_unproven()) {
        const std::uint64_t oldest = unproven->id;
        on_ready(oldest); // its proof may have arrived
        if (const connection* c = connections_.find(oldest);
            c == nullptr || c->state != phase::proof)
            return make_room(network);
        say_crowd(unfinished, "the oldest that has not proven the cluster's key");
        end(oldest, error{errc::exhausted, "others wait to prove the key"});
        return true;
    }
    const connection* const silent = connections_.longest_silent();
    if (silent != nullptr && options_.links.time->now() - silent->heard_at >= silence_max) {
        say_crowd(unfinished, "the oldest that says nothing");
        end(silent->id, error{errc::exhausted, "it says nothing, and others wait"});
        return true;
    }
    const connection* const greedy =
        connections_.beyond_share(options_.handshakes_max / shares, network);
    if (greedy == nullptr)
        return false;
    say_crowd(unfinished, "the oldest of those with one address or one narrow key");
    end(greedy->id,
        error{errc::exhausted, "too many from its address, or by its key, are being set "
                               "up, and others wait; try again"});
    return true;
}

void control_plane::say_crowd(std::size_t unfinished, const std::string& who_goes) {
    say_once(has_told_.of_crowd, std::to_string(unfinished) + " connections to " + self_.address +
                                     " are not set up: from now on " + who_goes +
                                     " is closed for a new one; see who connects there");
}

void control_plane::on_ready(std::uint64_t id) {
    if (id == listening_id) {
        if (listening_)
            accept_waiting();
        return;
    }
    connection* c = connections_.find(id);
    if (c == nullptr)
        return;
    std::vector<control_message> arrived;
    const auto alive = c->wire->advance(arrived);
    if (c->state == phase::proof && c->wire->proven()) {
        if (c->first != 0) {
            c->state = phase::frames;
            c->wire->send(frames_message{connections_.find(c->first)->peer->send_token});
        } else {
            c->state = phase::hello;
            if (c->side == handshake_side::connector)
                say_hello(*c);
        }
    }
    if (c->state == phase::frames && alive && !c->wire->wants_to_write())
        return arrived.empty() ? hand_over(*c, connections_.find(c->first)->peer)
                               : end(id, error{errc::protocol, "a message in the place of frames"});
    if (!arrived.empty())
        c->heard_at = options_.links.time->now();
    for (const control_message& message : arrived)
        if ((c = connections_.find(id)) != nullptr)
            std::visit([&](const auto& m) { admit(*c, m); }, message);
    c = connections_.find(id);
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
    c.peer = std::make_shared<peer_state>(options_.bounds);
    c.peer->send_token = c.wire->secrets().send_token;
    c.peer->receive_token = c.wire->secrets().receive_token;
    c.wire->send(hello_message{self_, options_.identity.prove(c.wire->secrets().name, c.side),
                               means_.mark(), means_.routes().rdma, means_.routes().tcp, ucx_here(),
                               seals(c), options_.seals == sealing::never});
}

// The other side may come to another answer, as who forwards a connection may have other addresses on its two sides.
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
    const std::shared_ptr<peer_state> peer = c.peer;
    if (peer->stream != nullptr && c.side == handshake_side::acceptor)
        c.wire->send(frames_message{peer->receive_token});
    events_.peer_accepted(peer);
    for (const std::uint64_t id : connections_.duplicates_of(peer->info.node))
        end(id, duplicate_error());
}

// The connection accepted instead may be one whose hello has not been read yet. Then this one waits for it, with its socket
// unwatched, so that a second connection is dropped silently.
void control_plane::end_duplicate(connection& c) {
    c.peer->wired.declined = true;
    if (connections_.has_other(c)) {
        end(c.id, duplicate_error());
        return;
    }
    c.state = phase::duplicate;
    poll_.forget(c.wire->descriptor());
}

// To the address at which the first connection has reached the peer.
void control_plane::connect_frames(const connection& c) {
    const socket_address to = remote_address(c.wire->descriptor());
    auto socket = begin_connect(to);
    if (!socket)
        return end(c.id, socket.failure().in("a second connection, for frames"));
    add({.socket = std::move(*socket), .is_on_loopback = to.is_loopback()},
        handshake_side::connector, options_.connect_timeout)
        .first = c.id;
}

// The keys may have been replaced since the first connection, on the other side not yet.
bool control_plane::connects_frames_again(const connection& refused, const error& why) {
    const time_point again_at = options_.links.time->now() + look_pause;
    const connection* const first = connections_.find(refused.first);
    const bool is_by_key = refused.state == phase::proof && why.code() == errc::refused;
    if (!is_by_key || first == nullptr || again_at >= first->deadline)
        return false;
    frames_again_at_[refused.first] = again_at;
    return true;
}

void control_plane::hand_over(connection& c, std::shared_ptr<peer_state> peer) {
    const int descriptor = c.wire->descriptor();
    auto socket = c.wire->take_socket();
    if (!socket)
        return end(c.id, socket.failure());
    poll_.forget(descriptor);
    const auto wire = std::move(connections_.take(c.id).wire);
    events_.frames_connected(peer, std::move(*socket), wire->secrets());
}

void control_plane::end(std::uint64_t id, const error& why) {
    if (connection& found = *connections_.find(id); found.state == phase::proof)
        found.wire->send_last_words();
    const connection c = connections_.take(id);
    if (c.first != 0 && connects_frames_again(c, why))
        return;
    if (c.first != 0) // the pair cannot do without it
        return end(c.first, error{errc::lost, "a second connection, for frames: " + why.message()});
    if (c.state == phase::proof && c.side == handshake_side::acceptor)
        ++refused_.unproven;
    if (options_.log && !is_closing_ && is_refusal(c, why))
        if (const auto told = refused_.log.refused(c.host, c.said.name, why.message(),
                                                   options_.links.time->now()))
            options_.log(*told);
    if (c.peer != nullptr && c.state <= phase::worker)
        c.peer->wired.declined = true; // without its worker's address it was never accepted
    if (c.peer != nullptr)
        events_.peer_ended(c.peer, why);
    report_failure(c, why);
}

void control_plane::report_failure(const connection& c, const error& why) {
    const bool is_duplicate = c.state >= phase::verdict && connections_.has_other(c);
    if (c.state != phase::up && c.side == handshake_side::connector && !is_duplicate)
        events_.connect_failed(
            c.target, why.code() == errc::lost ? error{errc::unreachable, why.message()} : why);
}

// --- time

void control_plane::expire(time_point now) {
    if (looks_again_at_ && *looks_again_at_ <= now) {
        looks_again_at_.reset();
        poll_.change(listening_.get(), listening_id, readiness::reading);
        line_.leave([&](const std::string& network) { return make_room(network); },
                    [&](newcomer next) {
                        add(std::move(next), handshake_side::acceptor, options_.handshake_timeout);
                    });
        if (!line_.is_empty())
            looks_again_at_ = now + look_pause;
    }
    for (auto due = frames_again_at_.begin(); due != frames_again_at_.end();) {
        const auto [first, at] = *due;
        due = at <= now ? frames_again_at_.erase(due) : std::next(due);
        if (const connection* c = at <= now ? connections_.find(first) : nullptr)
            connect_frames(*c);
    }
    for (const std::uint64_t id : connections_.expired(now))
        if (const connection* c = connections_.find(id))
            end(id, c->state == phase::duplicate ? duplicate_error() : overdue_error(*c, options_));
    for (const std::string& sentence : refused_.log.due(now))
        if (options_.log)
            options_.log(sentence);
}

std::optional<time_point> control_plane::next_deadline() const {
    std::optional<time_point> next = connections_.next_deadline();
    for (const auto& other : {looks_again_at_, refused_.log.next_due()})
        if (other)
            next = std::min(next.value_or(*other), *other);
    for (const auto& [first, at] : frames_again_at_)
        next = std::min(next.value_or(at), at);
    return next;
}

} // namespace troupe
