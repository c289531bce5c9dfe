// What a UCX endpoint does with large frames when its pool has little room.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>

#include "tests/conformance/transport_world.hpp"
#include "transport/node/node_endpoint.hpp"

using namespace troupe;
using namespace troupe::conformance;
using namespace std::chrono_literals;

namespace {

// A node with a pool of 8 MiB.
struct small_node : node {
    explicit small_node(duration memory_timeout, std::uint64_t backlog_bytes_max) {
        endpoint_options options; // takes the transport that the other node has
        id = options.identity.node();
        options.self.name = "small";
        options.self.address = "127.0.0.1:0";
        options.keys = std::make_shared<key_ring>(cluster_keys{"a key for the tests"});
        options.links.pool = &pool;
        options.links.time = &time;
        options.links.memory_timeout = memory_timeout;
        options.links.backlog_bytes_max = backlog_bytes_max;
        end = make_node_endpoint(std::move(options)).value();
        BOOST_TEST_REQUIRE(end->start(*heard).ok());
    }
    ~small_node() {
        end->close();
        heard->forget_frames();
    }
    memory_pool pool{8u << 20};
    shifted_time time;
};

// Lets go of every frame as it comes.
struct counting_listener final : endpoint_listener {
    void peer_up(const peer_info&) override {}
    void frame_arrived(node_id, frame_ptr) override { ++frames; }
    void peer_writable(node_id) override {}
    void peer_down(node_id, const error&) override {}
    void connect_failed(const std::string&, const error&) override {}
    std::atomic<std::size_t> frames{0};
};

using processes = boost::mpl::list<shm_world, tcp_world>; // with a node of each

} // namespace

BOOST_AUTO_TEST_SUITE(ucx_memory)

BOOST_AUTO_TEST_CASE_TEMPLATE(frames_wait_for_room_in_the_pool_and_keep_their_order, World,
                              processes) {
    World big;
    node a = big.add("a");
    small_node b{30s, 1u << 20};
    big.join(a, b);
    constexpr std::size_t count = 8;
    const auto size = [](std::uint64_t i) { return std::size_t{i % 2 == 0 ? 3u << 20 : 3000u}; };
    for (std::uint64_t i = 0; i < count; ++i)
        a.end->send(b.id, conformance::numbered_frame(big.pool, i, {size(i)}));
    std::uint64_t seen = 0; // each frame frees its room once it has been looked at
    while (seen < count) {
        BOOST_TEST_REQUIRE(big.wait_for([&] { return b.heard->frame_count() > 0; }));
        big.settle();
        const auto frames = b.heard->frames();
        b.heard->forget_frames();
        for (const auto& [from, f] : frames) {
            BOOST_TEST(is_numbered(*f, seen, {size(seen)}));
            ++seen;
        }
    }
    // One that can never fit is the end.
    a.end->send(b.id, conformance::numbered_frame(big.pool, 0, {16u << 20}));
    BOOST_TEST_REQUIRE(big.wait_for([&] { return !b.heard->downs().empty(); }));
    BOOST_TEST((b.heard->downs()[0].second == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(a_peer_that_sends_more_than_may_wait_outside_the_pool_is_given_up) {
    shm_world big;
    node a = big.add("a");
    constexpr std::size_t backlog_bytes_max = 1u << 20;
    small_node b{1h, backlog_bytes_max};
    big.join(a, b);
    a.end->send(b.id, conformance::numbered_frame(big.pool, 0, {6u << 20}));
    BOOST_TEST_REQUIRE(big.wait_for([&] { return b.heard->frame_count() == 1; })); // it stays
    a.end->send(b.id, conformance::numbered_frame(big.pool, 1, {6u << 20}));
    constexpr std::size_t frame_bytes = 3000;
    const auto send = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            a.end->send(b.id, conformance::numbered_frame(big.pool, 2, {frame_bytes}));
    };
    send(backlog_bytes_max / frame_bytes / 2);
    big.settle();
    BOOST_TEST(b.heard->downs().empty());
    send(backlog_bytes_max / frame_bytes / 2 + 1);
    BOOST_TEST_REQUIRE(big.wait_for([&] { return !b.heard->downs().empty(); }));
    BOOST_TEST((b.heard->downs()[0].second == errc::exhausted));
    BOOST_TEST(b.heard->frame_count() == 1u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_peer_is_not_given_up_for_memory_while_its_frames_get_some, World,
                              processes) {
    World big;
    node a = big.add("a");
    small_node b{30s, 64u << 20}; // one frame fits
    big.join(a, b);
    constexpr std::size_t count = 10;
    for (std::size_t i = 0; i < count; ++i)
        a.end->send(b.id, numbered_frame(big.pool, i, {5u << 20}));
    for (std::size_t i = 0; i < count; ++i) {
        BOOST_TEST_REQUIRE(big.wait_for([&] { return b.heard->frame_count() == 1; }));
        b.time.shift(
            20s); // a slow reader: all together wait longer than the time-out, none of them does
        b.heard->forget_frames();
    }
    BOOST_TEST(b.heard->downs().empty());
}

BOOST_AUTO_TEST_CASE(large_frames_that_one_peer_has_announced_take_memory_in_turn) {
    shm_world w;
    node a = w.add("a");
    memory_pool pool{256u << 20};
    const monotonic_time time;
    endpoint_options options;
    const node_id id = options.identity.node();
    options.self = {{}, "b", "127.0.0.1:0", peer_role::member};
    options.keys = std::make_shared<key_ring>(cluster_keys{"a key for the tests"});
    options.links.pool = &pool;
    options.links.time = &time;
    counting_listener heard;
    const auto b = make_node_endpoint(std::move(options)).value();
    BOOST_TEST_REQUIRE(b->start(heard).ok());
    a.end->connect(b->address());
    BOOST_TEST_REQUIRE(w.wait_for([&] { return !a.heard->ups().empty(); }));
    constexpr std::size_t count = 24;
    constexpr std::size_t frame_bytes = 4u << 20;
    for (std::size_t i = 0; i < count; ++i)
        a.end->send(id, numbered_frame(w.pool, i, {frame_bytes}));
    BOOST_TEST(w.wait_for([&] { return heard.frames == count; }));
    b->close();
    BOOST_TEST(pool.statistics().bytes_in_use_peak <= 4 * frame_bytes);
}

BOOST_AUTO_TEST_SUITE_END()
