#include "tests/conformance/hostile_peer.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "transport/frame/wire.hpp"

namespace troupe::conformance {

node_identity identity_beside(node_id other, bool is_lower) {
    node_identity made;
    while ((made.node() < other) != is_lower)
        made = node_identity{};
    return made;
}

file_descriptor connected_from(world& w, node& from) {
    const auto listening = listen_on(resolve("127.0.0.1:0").value()).value();
    from.end->connect(local_address(listening).text());
    file_descriptor accepted;
    BOOST_TEST_REQUIRE(w.wait_for([&] {
        accepted = accept_from(listening);
        return static_cast<bool>(accepted);
    }));
    return accepted;
}

file_descriptor connected_to(const node& to) {
    return begin_connect(resolve(to.end->address()).value()).value();
}

talker::talker(node_world& w, file_descriptor connected, handshake_side side,
               const std::vector<cluster_key>& keys)
    : world_{w}, side_{side}, wire_{std::move(connected), side, keys} {
    wait_for([&] { return wire_.proven(); });
}

hello_message talker::hello_of(const node_identity& identity) const {
    hello_message hello{{{}, "talker", "127.0.0.1:1"}};
    hello.identity = identity.prove(wire_.secrets().name, side_);
    hello.tcp = true;
    hello.ucx = ucx_here();
    return hello;
}

void talker::hear(std::size_t messages) {
    wait_for([&] { return arrived.size() >= messages; });
}

bool talker::is_left() {
    return world_.wait_for([&] { return !wire_.advance(arrived).ok(); });
}

void talker::wait_for(const std::function<bool()>& done) {
    BOOST_TEST_REQUIRE(world_.wait_for([&] {
        (void)wire_.advance(arrived);
        return done();
    }));
}

hostile_peer::hostile_peer(node_world& w, node& victim, handshake_side side, claims says)
    : identity{says.identity ? *says.identity : identity_beside(victim.id, says.has_lower_id)},
      world_{w}, mark_{own_memory_mark::create(identity.node()).value()},
      victim_{resolve(victim.end->address()).value()} {
    control = std::make_unique<control_connection>(
        side == handshake_side::connector ? connected_to(victim) : connected_from(w, victim), side,
        test_keys);
    advance_until([&] { return control->proven(); });
    hello_message hello;
    hello.identity = identity.prove(control->secrets().name, side);
    hello.self.name = "hostile";
    hello.self.address = "127.0.0.1:1";
    hello.memory = mark_.where();
    if (!says.names_its_memory)
        hello.memory->token[0] ^= std::byte{1};
    hello.tcp = says.route == link_route::tcp;
    hello.ucx = ucx_here();
    exchange<hello_message>(hello);
    is_seen = exchange<sight_message>(sight_message{says.sees_memory, says.kind}).memory;
    if (says.route == link_route::tcp)
        return;
    context_ = ucx_context::create(ucx_transport::shared_memory).value();
    worker_ = ucx_worker::create(*context_).value();
    worker_->receive_with([](void*, const void*, std::size_t, void*, std::size_t,
                             const ucp_am_recv_param_t*) { return UCS_OK; },
                          nullptr); // what it is sent is dropped, once it makes progress
    auto address = worker_->address();
    if (says.alters_its_worker)
        std::ranges::fill(std::span{address}.subspan(20, 7), std::byte{0xff});
    their_worker = exchange<worker_message>(worker_message{std::move(address)}).address;
}

template <class Message>
Message hostile_peer::exchange(const control_message& mine) {
    control->send(mine);
    advance_until([&] { return !arrived.empty(); });
    const auto theirs = std::get<Message>(arrived.front());
    arrived.erase(arrived.begin());
    return theirs;
}

hostile_peer::~hostile_peer() {
    if (worker_ == nullptr)
        return;
    if (ep_ != nullptr)
        worker_->disconnect(ep_);
    world_.wait_for(
        [&] { return worker_->progress() == 0 && worker_->disconnects_pending() == 0; });
    worker_
        ->leave_to_the_end(); // nobody knows whether the connection was set up: see ucx_links::drop_worker
}

void hostile_peer::advance_until(const std::function<bool()>& done) {
    BOOST_TEST_REQUIRE(world_.wait_for([&] {
        (void)control->advance(arrived);
        return done();
    }));
}

file_descriptor hostile_peer::second_connection(const wire::connection_token& token) {
    control_connection second{begin_connect(victim_).value(), handshake_side::connector, test_keys};
    std::vector<control_message> none;
    BOOST_TEST_REQUIRE(world_.wait_for([&] {
        (void)second.advance(none);
        return second.proven();
    }));
    second.send(frames_message{token});
    return second.take_socket().value();
}

void hostile_peer::send(std::span<const std::byte> header, std::span<const std::byte> data) {
    if (worker_ == nullptr) {
        if (!stream_) {
            advance_until([&] {
                return std::ranges::any_of(arrived, [](const control_message& m) {
                    return std::holds_alternative<frames_message>(m);
                });
            });
            stream_ = second_connection(control->secrets().send_token);
        }
        for (std::span<const std::byte> bytes : {header, data})
            BOOST_TEST_REQUIRE(world_.wait_for([&] {
                const iovec rest{const_cast<std::byte*>(bytes.data()), bytes.size()};
                const auto sent = send_some(stream_.get(), {&rest, 1});
                bytes = bytes.subspan(sent ? *sent : bytes.size());
                return bytes.empty();
            }));
        return;
    }
    if (ep_ == nullptr)
        ep_ = worker_
                  ->connect(
                      their_worker, static_cast<std::uint32_t>(getpid()),
                      [](void*, ucp_ep_h, ucs_status_t) {}, nullptr)
                  .value();
    ucp_request_param_t params{};
    const auto request = ucp_am_send_nbx(ep_, frame_message, header.data(), header.size(),
                                         data.data(), data.size(), &params);
    BOOST_TEST_REQUIRE(!UCS_PTR_IS_ERR(request));
    if (UCS_PTR_IS_PTR(request)) {
        world_.wait_for([&] {
            worker_->progress();
            return ucp_request_check_status(request) != UCS_INPROGRESS;
        });
        ucp_request_free(request);
    }
    for (int i = 0; i < 1000; ++i)
        worker_->progress();
}

std::vector<std::byte> hostile_peer::rightful(const frame& f, std::uint64_t sequence) const {
    wire::header h = wire::measure(f).value();
    h.token = control->secrets().send_token;
    h.sequence = sequence;
    std::vector<std::byte> out(wire::header_bytes + h.words * sizeof(capnp::word));
    wire::write_header(h, std::span{out}.first<wire::header_bytes>());
    wire::write_words(f, std::span{out}.subspan(wire::header_bytes));
    return out;
}

} // namespace troupe::conformance
