#include <boost/test/unit_test.hpp>

#include <memory>

#include "tests/support/seeds.hpp"
#include "tests/unit/transport/recording_listener.hpp"
#include "transport/sim/sim_network.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;
using lines = std::vector<std::string>;

namespace {

// Nodes 1..N named n1..nN at addresses n1..nN.
struct simulated_nodes {
    explicit simulated_nodes(std::size_t count, sim_network_options options = {},
                             send_bounds node_bounds = {})
        : net{events, options}, bounds{node_bounds} {
        for (std::size_t i = 0; i < count; ++i)
            add("n" + std::to_string(i + 1), "key");
    }

    void add(const std::string& name, const std::string& key) {
        const node_id id{nodes.size() + 1};
        nodes.push_back(std::make_unique<node>());
        sim_node_options options;
        options.self.node = id;
        options.self.name = name;
        options.self.address = name;
        options.key = key;
        options.bounds = bounds;
        nodes.back()->end = net.make_endpoint(std::move(options));
        BOOST_TEST_REQUIRE(nodes.back()->end->start(nodes.back()->heard).ok());
    }

    struct node {
        recording_listener heard;
        std::unique_ptr<endpoint> end;
    };
    endpoint& end(std::size_t number) { return *nodes[number - 1]->end; }
    recording_listener& heard(std::size_t number) { return nodes[number - 1]->heard; }
    void run() {
        while (events.run_next()) {
        }
    }
    void connect(std::size_t from, std::size_t to) {
        end(from).connect("n" + std::to_string(to));
        run();
        heard(from).lines.clear();
        heard(to).lines.clear();
    }

    event_queue events;
    sim_network net;
    send_bounds bounds;
    std::vector<std::unique_ptr<node>> nodes;
};

const sim_faults rough{.delay_min = 10us, .delay_max = 3ms, .drop = 0.2, .duplicate = 0.2};

lines numbered_lines(std::size_t from, std::size_t count) {
    lines all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back("frame " + std::to_string(from) + " " + std::to_string(i));
    return all;
}

frame_ptr frame_of(std::size_t bytes, memory_pool& pool) {
    frame_builder<proto::Rejected> b;
    b.attach(tensor::allocate(pool, data_type::uint8, {bytes}).value());
    return std::move(b).finish();
}

} // namespace

BOOST_AUTO_TEST_SUITE(sim_networks)

BOOST_AUTO_TEST_CASE(without_faults_frames_take_no_time_and_no_copy) {
    simulated_nodes s{2};
    s.end(1).connect("n2");
    s.run();
    BOOST_TEST(s.heard(1).lines == lines{"up n2"});
    BOOST_TEST(s.heard(2).lines == lines{"up n1"}, boost::test_tools::per_element());
    const frame_ptr f = numbered_frame(7);
    frame_ptr seen;
    s.heard(2).on_frame = [&](node_id, const frame_ptr& g) { seen = g; };
    BOOST_TEST((s.end(1).send(node_id{2}, f) == send_status::accepted));
    s.run();
    BOOST_TEST(seen == f);
    BOOST_TEST(s.events.now().ns == 0);
    BOOST_TEST(s.end(2).statistics().frames_received == 1u);
}

BOOST_AUTO_TEST_CASE(under_faults_frames_arrive_in_order_each_once) {
    simulated_nodes s{2, {.seed = 5, .faults = rough}};
    s.connect(1, 2);
    for (std::uint64_t i = 0; i < 500; ++i)
        s.end(1).send(node_id{2}, numbered_frame(i));
    s.run();
    BOOST_TEST(s.heard(2).lines == numbered_lines(1, 500));
    BOOST_TEST(s.net.statistics().packets_dropped > 50u);
    BOOST_TEST(s.net.statistics().packets_duplicated > 50u);
    BOOST_TEST(s.net.statistics().packets_out_of_order > 50u);
}

BOOST_AUTO_TEST_CASE(nodes_that_connect_to_each_other_at_once_get_one_connection_for_any_seed,
                     *seeded) {
    for (const std::uint64_t seed : seed_range{50}) {
        simulated_nodes s{2, {.seed = seed, .faults = rough}};
        s.end(1).connect("n2");
        s.end(2).connect("n1");
        s.run();
        BOOST_TEST(s.heard(1).lines == lines{"up n2"});
        BOOST_TEST(s.heard(2).lines == lines{"up n1"}, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_run) {
    const auto run = [](std::uint64_t seed) {
        simulated_nodes s{3, {.seed = seed, .faults = rough}};
        s.end(1).connect("n2");
        s.end(1).connect("n3");
        for (std::size_t i = 1; i <= 3; ++i)
            s.heard(i).on_frame = [&s, i](node_id from, const frame_ptr& f) {
                if (const auto n = f->body<proto::Rejected>().getSequence(); n < 50)
                    s.end(i).send(from, numbered_frame(n + 1));
            };
        s.events.run_for(100ms);
        s.end(1).send(node_id{2}, numbered_frame(0));
        s.end(1).send(node_id{3}, numbered_frame(0));
        s.run();
        return std::pair{s.heard(1).lines, s.events.now().ns};
    };
    BOOST_TEST((run(1) == run(1)));
    BOOST_TEST((run(1) != run(2)));
}

BOOST_AUTO_TEST_CASE(another_key_is_refused) {
    simulated_nodes s{1};
    s.add("n2", "another key");
    s.end(2).connect("n1");
    s.run();
    BOOST_TEST(s.heard(2).lines == lines{"failed n1 refused"});
    BOOST_TEST(s.heard(1).lines.empty());
    BOOST_TEST(s.end(1).statistics().handshakes_refused == 1u);
}

BOOST_AUTO_TEST_CASE(nobody_there_is_unreachable_and_an_address_serves_one) {
    simulated_nodes s{1};
    s.end(1).connect("n9");
    s.run();
    BOOST_TEST(s.heard(1).lines == lines{"failed n9 unreachable"});
    sim_node_options options;
    options.self.node = node_id{9};
    options.self.address = "n1";
    const auto second = s.net.make_endpoint(options);
    recording_listener heard;
    BOOST_TEST((second->start(heard).failure().code() == errc::io));
}

BOOST_AUTO_TEST_CASE(a_killed_process_is_reported_by_its_host) {
    simulated_nodes s{2, {.faults = {.delay_min = 1ms, .delay_max = 1ms}}};
    s.connect(1, 2);
    s.net.kill(node_id{2});
    const auto killed_at = s.events.now();
    s.run();
    BOOST_TEST(s.heard(1).lines == lines{"down 2 lost"});
    BOOST_TEST(((s.events.now() - killed_at) == 1ms));
    BOOST_TEST(s.heard(2).lines.empty());
    BOOST_TEST((s.end(1).send(node_id{2}, numbered_frame(0)) == send_status::gone));
}

BOOST_AUTO_TEST_CASE(a_machine_without_power_is_noticed_when_frames_go_unanswered) {
    simulated_nodes s{2, {.give_up_after = 10s}};
    s.connect(1, 2);
    s.net.power_off(node_id{2});
    s.run();
    BOOST_TEST(s.heard(1).lines.empty());
    s.end(1).send(node_id{2}, numbered_frame(0));
    s.run();
    BOOST_TEST(s.heard(1).lines == lines{"down 2 lost"});
    BOOST_TEST((s.events.now().ns >= 10'000'000'000));
}

BOOST_AUTO_TEST_CASE(a_cut_delays_frames_and_a_long_one_ends_the_connection) {
    simulated_nodes s{2, {.give_up_after = 10s}};
    s.connect(1, 2);
    s.net.cut(node_id{1}, node_id{2});
    s.end(1).send(node_id{2}, numbered_frame(0));
    s.events.run_for(5s);
    BOOST_TEST(s.heard(2).lines.empty());
    s.net.heal();
    s.run();
    BOOST_TEST(s.heard(2).lines == numbered_lines(1, 1));

    s.net.cut(node_id{1}, node_id{2});
    s.end(1).send(node_id{2}, numbered_frame(1));
    s.run();
    BOOST_TEST(s.heard(1).lines == lines{"down 2 lost"});
    s.net.heal();
    // The other end learns of it when it speaks, and a new connection works.
    s.end(2).send(node_id{1}, numbered_frame(1));
    s.run();
    BOOST_TEST(s.heard(2).lines.back() == "down 1 lost");
    s.end(1).connect("n2");
    s.run();
    BOOST_TEST(s.heard(1).lines.back() == "up n2");
    BOOST_TEST(s.heard(2).lines.back() == "up n1");
}

BOOST_AUTO_TEST_CASE(a_stopped_process_hears_everything_once_it_is_resumed) {
    simulated_nodes s{2, {.give_up_after = 10s}, send_bounds{.frames_soft = 4}};
    s.connect(1, 2);
    s.net.stop(node_id{2});
    lines statuses;
    for (std::uint64_t i = 0; i < 6; ++i)
        statuses.push_back(s.end(1).send(node_id{2}, numbered_frame(i)) == send_status::congested
                               ? "congested"
                               : "accepted");
    BOOST_TEST(statuses ==
               (lines{"accepted", "accepted", "accepted", "accepted", "congested", "congested"}));
    s.events.run_for(60s);
    BOOST_TEST(s.heard(1).lines.empty()); // its host still answers
    BOOST_TEST(s.heard(2).lines.empty());
    s.net.resume(node_id{2});
    s.run();
    BOOST_TEST(s.heard(2).lines == numbered_lines(1, 6));
    BOOST_TEST(s.heard(1).lines == lines{"writable 2"});
}

BOOST_AUTO_TEST_CASE(closing_delivers_what_is_queued_and_then_says_goodbye) {
    simulated_nodes s{2, {.seed = 3, .faults = rough}};
    s.connect(1, 2);
    for (std::uint64_t i = 0; i < 50; ++i)
        s.end(1).send(node_id{2}, numbered_frame(i));
    s.end(1).close();
    s.run();
    lines expected = numbered_lines(1, 50);
    expected.push_back("down 1 cancelled");
    BOOST_TEST(s.heard(2).lines == expected);
    BOOST_TEST(s.heard(1).lines.empty());
}

BOOST_AUTO_TEST_CASE(disconnecting_is_down_here_and_refused_there) {
    simulated_nodes s{2};
    s.connect(1, 2);
    s.end(1).disconnect(node_id{2}, error{errc::protocol, "nonsense"});
    BOOST_TEST(s.heard(1).lines.empty()); // not from within the call
    s.run();
    BOOST_TEST(s.heard(1).lines == lines{"down 2 protocol"});
    BOOST_TEST(s.heard(2).lines == lines{"down 1 refused"});
}

BOOST_AUTO_TEST_CASE(a_bandwidth_spreads_frames_over_time) {
    memory_pool pool{1 << 24};
    simulated_nodes s{2, {.faults = {.bytes_per_second = 1e6}}};
    s.connect(1, 2);
    const auto before = s.events.now();
    s.end(1).send(node_id{2}, frame_of(1000000, pool));
    while (s.heard(2).lines.empty())
        s.events.run_next();
    BOOST_TEST((s.events.now() - before).count() >= 1'000'000'000);
    BOOST_TEST((s.events.now() - before).count() < 1'010'000'000);
    s.run();
}

BOOST_AUTO_TEST_CASE(
    while_a_frame_takes_long_its_sender_is_heard_unless_it_stands_still_or_is_cut_off) {
    memory_pool pool{1 << 24};
    simulated_nodes s{2, {.faults = {.bytes_per_second = 1e6}}};
    s.connect(1, 2);
    for (int i = 0; i < 10; ++i) // not of frames that are soon there
        s.end(1).send(node_id{2}, frame_of(100000, pool));
    s.run();
    BOOST_TEST(s.heard(2).alive == 0u);
    s.end(1).send(node_id{2}, frame_of(9900000, pool));
    s.events.run_for(3100ms);
    BOOST_TEST(s.heard(2).alive == 6u);
    BOOST_TEST(s.heard(1).alive == 0u);
    s.net.stop(node_id{1});
    s.events.run_for(2s);
    BOOST_TEST(s.heard(2).alive == 6u);
    s.net.resume(node_id{1});
    s.net.cut(node_id{1}, node_id{2});
    s.events.run_for(2s);
    BOOST_TEST(s.heard(2).alive == 6u);
    s.net.heal();
    s.events.run_for(1s);
    BOOST_TEST(s.heard(2).alive == 8u);
    s.run();
    BOOST_TEST(s.heard(2).lines.size() == 11u);
    BOOST_TEST(s.heard(2).alive == 11u);
}

BOOST_AUTO_TEST_SUITE_END()
