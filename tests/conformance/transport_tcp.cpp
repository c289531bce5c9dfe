// Bytes that no rightful peer sends over TCP: on the connection of a pair that carries frames, and on one that claims to
// be it.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tests/conformance/hostile_peer.hpp"

using namespace troupe;
using namespace troupe::conformance;
using namespace std::chrono_literals;
using downs = std::vector<std::pair<node_id, errc>>;

namespace {

const hostile_peer::claims over_tcp{.route = link_route::tcp};

// The bytes of a frame as a peer would rightly send it.
std::vector<std::byte> whole(const hostile_peer& from, const frame& f, std::uint64_t sequence) {
    std::vector<std::byte> bytes = from.rightful(f, sequence);
    for (const auto piece : wire::tensor_section(f))
        bytes.insert(bytes.end(), piece.begin(), piece.end());
    return bytes;
}

// Somebody between two nodes, who passes on what they say to each other, and changes the bytes of their second connection.
class go_between {
  public:
    using change = std::function<void(std::vector<std::byte>&)>;

    // `on_the_way` is applied to what the connecting node sends on its connection for frames, once the proof is through,
    // `on_the_way_back` to all that it gets there.
    go_between(const std::string& to, change on_the_way, change on_the_way_back = {})
        : to_{resolve(to).value()}, listening_{listen_on(resolve("127.0.0.1:0").value()).value()},
          change_{std::move(on_the_way)}, change_back_{std::move(on_the_way_back)} {}

    std::string address() const { return local_address(listening_).text(); }

    // Passes on what has come.
    void work() {
        if (file_descriptor next = accept_from(listening_))
            pairs_.push_back({std::move(next), begin_connect(to_).value()});
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            pass(pairs_[i].from, pairs_[i].to, [&](std::vector<std::byte>& bytes) {
                // Opening and announcement come first: 56 bytes, then a message of fewer than 200.
                std::size_t& passed = pairs_[i].passed;
                if (i == 1 && passed > 200)
                    change_(bytes);
                passed += bytes.size();
            });
            pass(pairs_[i].to, pairs_[i].from, [&](std::vector<std::byte>& bytes) {
                if (i == 1 && change_back_)
                    change_back_(bytes);
            });
        }
    }

  private:
    struct pair {
        file_descriptor from, to;
        std::size_t passed = 0; // bytes, from the connecting node
    };

    static void pass(const file_descriptor& from, const file_descriptor& to,
                     const change& on_the_way) {
        std::vector<std::byte> bytes(1u << 16);
        const iovec room{bytes.data(), bytes.size()};
        const auto got = receive_some(from.get(), {&room, 1});
        if (!got) {
            shut_down_socket(to.get());
            return;
        }
        bytes.resize(*got);
        if (*got > 0)
            on_the_way(bytes);
        for (std::size_t sent = 0; sent < bytes.size();) {
            const iovec rest{bytes.data() + sent, bytes.size() - sent};
            const auto now = send_some(to.get(), {&rest, 1});
            if (!now)
                return;
            sent += *now;
        }
    }

    socket_address to_;
    file_descriptor listening_;
    change change_;
    change change_back_;
    std::vector<pair> pairs_;
};

// The text "plain text" many times over, as a tensor and in the message.
frame_ptr readable_frame(memory_pool& pool, std::uint64_t number) {
    frame_builder<proto::Rejected> b;
    b.body().setSequence(number);
    tensor t = tensor::allocate(pool, data_type::uint8, {100'000}).value();
    std::size_t at = 0;
    for (std::uint8_t& value : t.mutable_values<std::uint8_t>())
        value = static_cast<std::uint8_t>("plain text "[at++ % 11]);
    b.attach(std::move(t));
    return std::move(b).finish();
}

} // namespace

BOOST_AUTO_TEST_SUITE(tcp)

BOOST_AUTO_TEST_CASE(sealed_frames_that_somebody_changes_on_the_way_cost_the_connection) {
    struct attack {
        const char* name;
        std::function<void(std::vector<std::byte>&)> change;
    };
    const attack attacks[] = {
        {"a bit", [](auto& bytes) { bytes[bytes.size() / 2] ^= std::byte{1}; }},
        {"the first byte", [](auto& bytes) { bytes[0] ^= std::byte{1}; }},
        {"the last byte", [](auto& bytes) { bytes.back() ^= std::byte{0x80}; }},
        {"repeated", [](auto& bytes) { bytes.insert(bytes.end(), bytes.begin(), bytes.end()); }},
        {"left out", [](auto& bytes) { bytes.clear(); }},
        {"turned round", [](auto& bytes) { std::ranges::reverse(bytes); }},
        {"foreign", [](auto& bytes) { bytes.insert(bytes.begin(), 40, std::byte{0x33}); }},
    };
    for (const attack& a : attacks) {
        sealed_world w;
        node from = w.add("from");
        node to = w.add("to");
        int blows = 0;
        go_between middle{to.end->address(), [&](std::vector<std::byte>& bytes) {
                              if (blows++ == 0)
                                  a.change(bytes);
                          }};
        const auto until = [&](const auto& done) {
            return w.wait_for([&] {
                middle.work();
                return done();
            });
        };
        from.end->connect(middle.address());
        BOOST_TEST_REQUIRE(
            until([&] { return to.heard->ups().size() == 1 && from.heard->ups().size() == 1; }));
        BOOST_TEST(to.heard->ups()[0].over == "tcp, sealed");
        for (std::uint64_t i = 0; i < 20; ++i)
            from.end->send(to.id, readable_frame(w.pool, i));
        BOOST_TEST_REQUIRE(until([&] { return !to.heard->downs().empty(); }), a.name);
        BOOST_TEST((to.heard->downs()[0].second == errc::protocol), a.name);
        // All that has arrived before is whole and in order.
        const auto frames = to.heard->frames();
        BOOST_TEST(frames.size() < 20u);
        for (std::uint64_t i = 0; i < frames.size(); ++i) {
            BOOST_TEST(frames[i].second->body<proto::Rejected>().getSequence() == i);
            BOOST_TEST(
                std::ranges::equal(frames[i].second->tensors()[0].values<std::uint8_t>(),
                                   readable_frame(w.pool, i)->tensors()[0].values<std::uint8_t>()));
        }
    }
}

BOOST_AUTO_TEST_CASE(who_listens_between_two_nodes_reads_nothing_of_sealed_frames) {
    for (const bool is_sealed : {true, false}) {
        node_world w{link_transports::tcp, is_sealed ? sealing::always : sealing::never};
        node from = w.add("from");
        node to = w.add("to");
        std::string heard;
        go_between middle{to.end->address(), [&](std::vector<std::byte>& bytes) {
                              heard.append(reinterpret_cast<const char*>(bytes.data()),
                                           bytes.size());
                          }};
        from.end->connect(middle.address());
        const auto until = [&](const auto& done) {
            return w.wait_for([&] {
                middle.work();
                return done();
            });
        };
        BOOST_TEST_REQUIRE(
            until([&] { return to.heard->ups().size() == 1 && from.heard->ups().size() == 1; }));
        for (std::uint64_t i = 0; i < 5; ++i)
            from.end->send(to.id, readable_frame(w.pool, i));
        BOOST_TEST_REQUIRE(until([&] { return to.heard->frame_count() == 5; }));
        BOOST_TEST(heard.size() >= 400'000u);
        BOOST_TEST((heard.find("plain text") == std::string::npos) == is_sealed);
        BOOST_TEST((heard.find("TRPF") == std::string::npos) == is_sealed);
    }
}

BOOST_AUTO_TEST_CASE(bytes_behind_the_answer_to_a_connection_for_frames_end_it) {
    // Somebody between two nodes can add some, without a key.
    for (const std::size_t more : {1u, 3u, 5u, 300u}) {
        sealed_world w;
        node from = w.add("from");
        node to = w.add("to");
        int answers = 0;
        go_between middle{to.end->address(), [](std::vector<std::byte>&) {},
                          [&](std::vector<std::byte>& bytes) {
                              if (answers++ == 0)
                                  bytes.resize(bytes.size() + more, std::byte{0});
                          }};
        from.end->connect(middle.address());
        BOOST_TEST_REQUIRE(w.wait_for([&] {
            middle.work();
            return !from.heard->downs().empty() || !from.heard->failures().empty();
        }));
        BOOST_TEST(from.heard->frames().empty());
    }
}

BOOST_AUTO_TEST_CASE(what_is_sent_before_a_close_right_after_peer_up_arrives) {
    for (int i = 0; i < 20; ++i) {
        tcp_world w;
        node from = w.add("from");
        node to = w.add("to");
        from.end->connect(to.end->address());
        BOOST_TEST_REQUIRE(w.wait_for([&] { return to.heard->ups().size() == 1; }));
        BOOST_TEST((to.end->send(from.id, conformance::numbered_frame(w.pool, 7, {1000})) ==
                    send_status::accepted));
        to.end->close();
        BOOST_TEST_REQUIRE(w.wait_for([&] { return from.heard->downs().size() == 1; }));
        BOOST_TEST((from.heard->downs()[0].second == errc::cancelled));
        BOOST_TEST(from.heard->frame_count() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_peer_whose_connection_for_frames_does_not_come_goes) {
    tcp_world w;
    node a = w.add("a");
    hostile_peer peer{w, a, handshake_side::connector, over_tcp};
    peer.advance_until([&] { return a.heard->ups().size() == 1; });
    w.settle();
    BOOST_TEST(a.heard->downs().empty());
    w.pass(60s);
    BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->downs().empty(); }));
    BOOST_TEST((a.heard->downs()[0].second == errc::lost));
}

// Between the two connections of the pair the acceptor's key is replaced, and the connector's later.
BOOST_AUTO_TEST_CASE(keys_that_are_replaced_while_a_pair_connects_cost_no_pair) {
    tcp_world w;
    const cluster_keys old{test_keys}, renewed{std::string{"another key for the tests"}};
    const auto of_from = std::make_shared<key_ring>(old), of_to = std::make_shared<key_ring>(old);
    std::atomic<int> refused = 0;
    node from = w.add_with({.name = "from", .ring = of_from});
    node to =
        w.add_with({.name = "to", .ring = of_to, .log = [&](const std::string&) { ++refused; }});
    go_between middle{to.end->address(), [](std::vector<std::byte>&) {}};
    const auto until = [&](const auto& done) {
        return w.wait_for([&] {
            middle.work();
            return done();
        });
    };
    from.end->connect(middle.address());
    BOOST_TEST_REQUIRE(until([&] { return to.heard->ups().size() == 1; }));
    of_to->replace(renewed);
    BOOST_TEST_REQUIRE(until([&] { return refused > 0 && from.heard->ups().size() == 1; }));
    from.end->send(to.id, numbered_frame(w.pool, 1));
    of_from->replace(renewed);
    BOOST_TEST_REQUIRE(until([&] { return to.heard->frame_count() == 1; }));
    BOOST_TEST((from.heard->downs().empty() && to.heard->downs().empty()));
}

BOOST_AUTO_TEST_CASE(nodes_that_do_not_agree_about_sealing_are_told_so) {
    for (const auto transports : {link_transports::tcp, link_transports::automatic}) {
        node_world plain{transports, sealing::never};
        node_world sealed{transports, sealing::always};
        node a = plain.add("a");
        node b = sealed.add("b");
        a.end->connect(b.end->address());
        BOOST_TEST(plain.wait_for([&] { return a.heard->failures().size() == 1; }));
        BOOST_TEST(a.heard->last_reason() == "it seals frames, this node sends them in clear; give "
                                             "--plain to both, or better to neither");
        b.end->connect(a.end->address());
        BOOST_TEST(plain.wait_for([&] { return b.heard->failures().size() == 1; }));
        BOOST_TEST(b.heard->last_reason() == "it sends frames in clear, this node seals them; give "
                                             "--plain to both, or better to neither");
        for (const node* n : {&a, &b})
            BOOST_TEST((n->heard->failures() == std::vector{errc::refused}));
    }
    sealed_world sealed;
    node b = sealed.add("b");
    // Who need not seal, and was not told to seal nothing, does what the other wants.
    tcp_world either;
    node c = either.add("c");
    c.end->connect(b.end->address());
    BOOST_TEST_REQUIRE(either.wait_for([&] { return c.heard->ups().size() == 1; }));
    BOOST_TEST(c.heard->ups()[0].over == "tcp, sealed");
}

BOOST_AUTO_TEST_CASE(bytes_that_come_one_by_one_are_frames_in_the_end) {
    tcp_world w;
    node a = w.add("a");
    hostile_peer slow{w, a, handshake_side::connector, over_tcp};
    slow.advance_until([&] { return a.heard->ups().size() == 1; });
    std::vector<std::byte> bytes;
    for (std::uint64_t i = 0; i < 3; ++i) {
        const auto one = whole(slow, *conformance::numbered_frame(w.pool, i, {100, 0, 7}, 40), i);
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    for (const std::byte& b : bytes)
        slow.send({&b, 1}, {});
    BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->frame_count() == 3; }));
    for (std::uint64_t i = 0; i < 3; ++i)
        BOOST_TEST(is_numbered(*a.heard->frames()[i].second, i, {100, 0, 7}, 40));
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_none_costs_its_sender_the_connection) {
    const auto changed = [](std::size_t at, std::vector<std::byte> bytes) {
        bytes[at] ^= std::byte{0x41};
        return bytes;
    };
    // The header's magic, version, counts, token, sequence and tensor bytes; the message's table.
    for (const std::size_t at : {0u, 4u, 6u, 12u, 20u, 34u, 46u, 66u}) {
        tcp_world w;
        node a = w.add("a");
        hostile_peer hostile{w, a, handshake_side::connector, over_tcp};
        hostile.advance_until([&] { return a.heard->ups().size() == 1; });
        const auto good = whole(hostile, *conformance::numbered_frame(w.pool, 1, {100}), 0);
        hostile.send(good, changed(at, whole(hostile, *conformance::numbered_frame(w.pool, 2), 1)));
        BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->downs().empty(); }));
        BOOST_TEST((a.heard->downs() == downs{{hostile.identity.node(), errc::protocol}}), at);
        BOOST_TEST(a.heard->frame_count() == 1u); // the good one
        BOOST_TEST(a.end->statistics().frames_malformed == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_second_connection_is_taken_from_its_peer_alone_and_once) {
    tcp_world w;
    node a = w.add("a");
    hostile_peer peer{w, a, handshake_side::connector, over_tcp};
    peer.advance_until([&] { return a.heard->ups().size() == 1; });
    const auto is_closed = [&](const file_descriptor& socket) {
        return w.wait_for([&] {
            std::byte b{};
            const iovec place{&b, 1};
            return !receive_some(socket.get(), {&place, 1}).ok();
        });
    };
    wire::connection_token other = peer.control->secrets().send_token;
    other[0] ^= std::byte{1};
    BOOST_TEST(is_closed(peer.second_connection(other)));
    BOOST_TEST(is_closed(peer.second_connection(peer.control->secrets().receive_token)));
    // The rightful one is taken, and no other after it.
    const auto f = conformance::numbered_frame(w.pool, 5, {100});
    peer.send(whole(peer, *f, 0), {});
    BOOST_TEST_REQUIRE(w.wait_for([&] { return a.heard->frame_count() == 1; }));
    BOOST_TEST(is_closed(peer.second_connection(peer.control->secrets().send_token)));
    peer.send(whole(peer, *f, 1), {});
    BOOST_TEST(w.wait_for([&] { return a.heard->frame_count() == 2; }));
    BOOST_TEST(a.heard->downs().empty());
}

BOOST_AUTO_TEST_CASE(a_peer_whose_second_connection_ends_is_lost) {
    tcp_world w;
    node a = w.add("a");
    hostile_peer peer{w, a, handshake_side::connector, over_tcp};
    peer.advance_until([&] { return a.heard->ups().size() == 1; });
    { // a half frame, and the end
        const auto bytes = whole(peer, *conformance::numbered_frame(w.pool, 5, {100}), 0);
        const auto second = peer.second_connection(peer.control->secrets().send_token);
        const iovec half{const_cast<std::byte*>(bytes.data()), bytes.size() / 2};
        BOOST_TEST(send_some(second.get(), {&half, 1}).ok());
    }
    BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->downs().empty(); }));
    BOOST_TEST((a.heard->downs() == downs{{peer.identity.node(), errc::lost}}));
    BOOST_TEST(a.heard->frame_count() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
