#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "actors/cluster/heartbeat.hpp"
#include "actors/cluster/membership.hpp"
#include "schemas/base/limits.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

member_info member(std::uint64_t node, const std::string& name) {
    return {.node = node_id{node},
            .name = name,
            .address = name + ":4100",
            .role = peer_role::member,
            .devices = {{"cpu:0", 1024, "", "AVX2"}, {"cuda:0", 2048, "NVIDIA H200", ""}}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(membership_values)

BOOST_AUTO_TEST_CASE(a_member_is_read_as_it_was_written) {
    capnp::MallocMessageBuilder message;
    auto builder = message.initRoot<proto::Member>();
    write_member(builder, member(7, "a"));
    BOOST_TEST((read_member(builder.asReader()).value() == member(7, "a")));
}

BOOST_AUTO_TEST_CASE(members_are_read_in_order_and_no_more_than_a_cluster_has) {
    capnp::MallocMessageBuilder message;
    const std::vector<member_info> two{member(7, "a"), member(3, "b")};
    auto list = message.initRoot<proto::MemberList>().initMembers(2);
    write_members(list, two);
    BOOST_TEST((read_members(list.asReader()).value() == two));
    list[1].setName("");
    BOOST_TEST(!read_members(list.asReader()).ok());
    const std::vector<member_info> many(limits::nodes_max + 1, member(7, "a"));
    auto long_list = message.initRoot<proto::MemberList>().initMembers(limits::nodes_max + 1);
    write_members(long_list, many);
    BOOST_TEST(!read_members(long_list.asReader()).ok());
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_not_read) {
    const auto read = [](auto change) {
        capnp::MallocMessageBuilder message;
        auto builder = message.initRoot<proto::Member>();
        write_member(builder, member(7, "a"));
        change(builder);
        return read_member(builder.asReader()).ok();
    };
    BOOST_TEST(read([](auto) {}));
    BOOST_TEST(!read([](auto m) { m.setNode(0); }));
    BOOST_TEST(!read([](auto m) { m.setName(""); }));
    BOOST_TEST(!read([](auto m) { m.setName("a\nb"); }));
    BOOST_TEST(!read([](auto m) { m.setName("a\u009b31m"); })); // CSI as one C1 control
    BOOST_TEST(!read([](auto m) { m.initDevices(1)[0].setName("cpu:0\u202e"); }));
    BOOST_TEST(!read([](auto m) { m.getDevices()[0].setInstructionSet("AVX2\n"); }));
    BOOST_TEST(!read([](auto m) { m.getDevices()[1].setModel("H200\x1b[31m"); }));
    BOOST_TEST(read([](auto m) { m.setName("Bühne"); }));
    BOOST_TEST(!read([](auto m) { m.setName(std::string(limits::name_bytes_max + 1, 'x')); }));
    BOOST_TEST(!read([](auto m) { m.setAddress(""); }));
    BOOST_TEST(!read([](auto m) { m.setRole(proto::Role::OBSERVER); }));
    BOOST_TEST(!read([](auto m) { m.setRole(static_cast<proto::Role>(7)); }));
    BOOST_TEST(!read([](auto m) { m.initDevices(limits::node_devices_max + 1); }));
    BOOST_TEST(!read([](auto m) {
        auto twice = m.initDevices(2);
        twice[0].setName("cpu:0");
        twice[1].setName("cpu:0");
    }));
}

BOOST_AUTO_TEST_CASE(a_name_belongs_to_one_member) {
    membership cluster{member(1, "a")};
    BOOST_TEST(cluster.admit(member(2, "b")).value());
    BOOST_TEST(!cluster.admit(member(2, "b")).value()); // known already
    const auto refused = cluster.admit(member(3, "b"));
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST(refused.failure().message().find("--name") != std::string::npos);
    BOOST_TEST(cluster.remove(node_id{2})->name == "b");
    BOOST_TEST(!cluster.remove(node_id{2}).has_value());
    BOOST_TEST(cluster.admit(member(3, "b")).value());
    BOOST_TEST(cluster.list().size() == 2u);
    BOOST_TEST((cluster.others() == std::vector<node_id>{node_id{3}}));
}

BOOST_AUTO_TEST_CASE(a_newcomer_has_joined_when_everybody_named_has_welcomed_it) {
    membership known{member(9, "new")};
    join_progress progress{"b:4100"};
    BOOST_TEST((progress.now() == join_progress::state::joining));
    known.admit(member(1, "b")).value();
    const auto strangers =
        progress.welcomed(member(1, "b"), {member(2, "c"), member(3, "d")}, known);
    BOOST_TEST(strangers.size() == 2u);
    BOOST_TEST((progress.now() == join_progress::state::joining));
    known.admit(member(2, "c")).value();
    BOOST_TEST(progress.welcomed(member(2, "c"), {member(1, "b"), member(3, "d")}, known).empty());
    BOOST_TEST((progress.now() == join_progress::state::joining));
    progress.lost(node_id{3});
    BOOST_TEST((progress.now() == join_progress::state::joined));
}

BOOST_AUTO_TEST_CASE(joining_fails_when_the_first_member_cannot_be_reached_and_not_later) {
    membership known{member(9, "new")};
    join_progress first{"b:4100"};
    first.unreachable("b:4100", {errc::unreachable, "nobody there answers"});
    BOOST_TEST((first.now() == join_progress::state::failed));
    join_progress later{"b:4100"};
    later.welcomed(member(1, "b"), {member(2, "c")}, known);
    later.unreachable("c:4100", {errc::refused, "another key"});
    BOOST_TEST((later.now() == join_progress::state::joined));
    const std::vector<unreached_member> without{{node_id{2}, "c", "c:4100", "another key"}};
    BOOST_TEST((later.unreached() == without));
    join_progress beside_a_run{"b:4100"};
    member_info run = member(3, "run");
    run.role = peer_role::client;
    beside_a_run.welcomed(member(1, "b"), {run}, known);
    beside_a_run.unreachable(run.address, {errc::refused, "another key"});
    BOOST_TEST((beside_a_run.now() == join_progress::state::joined));
    BOOST_TEST(beside_a_run.unreached().empty());
    BOOST_TEST((join_progress{""}.now() == join_progress::state::joined));
}

BOOST_AUTO_TEST_CASE(a_node_is_silent_after_the_timeout_and_reported_once) {
    heartbeat_judge judge{{.interval = 500ms, .timeout = 3s}};
    time_point now{};
    judge.watch(node_id{1}, peer_role::member, now);
    judge.watch(node_id{2}, peer_role::member, now);
    std::vector<node_id> silent;
    for (int i = 0; i < 20; ++i) {
        now = now + 500ms;
        judge.heard(node_id{1}, now);
        for (const node_id node : judge.tick(now).lost) {
            silent.push_back(node);
            BOOST_TEST(now.ns == 3'500'000'000);
        }
    }
    BOOST_TEST((silent == std::vector<node_id>{node_id{2}}));
}

BOOST_AUTO_TEST_CASE(late_news_does_not_make_a_node_look_silent) {
    heartbeat_judge judge{{.interval = 500ms, .timeout = 3s}};
    time_point now{};
    const time_point long_ago = now;
    judge.watch(node_id{1}, peer_role::member, now);
    judge.heard(node_id{1}, now = now + 10s);
    judge.heard(node_id{1}, long_ago);
    BOOST_TEST(judge.tick(now).lost.empty());
}

BOOST_AUTO_TEST_CASE(a_judge_that_slept_blames_nobody) {
    heartbeat_judge judge{{.interval = 500ms, .timeout = 3s}};
    time_point now{};
    judge.watch(node_id{1}, peer_role::member, now);
    judge.tick(now = now + 500ms);
    BOOST_TEST(judge.tick(now = now + 60s).lost.empty());
    BOOST_TEST(judge.tick(now = now + 500ms).lost.empty());
    for (int i = 0; i < 6; ++i)
        now = now + 500ms, judge.tick(now);
    // Reported in the loop, once the time-out passed anew.
    BOOST_TEST(judge.tick(now + 500ms).lost.empty());
}

BOOST_AUTO_TEST_CASE(a_judge_that_slept_before_its_first_tick_blames_nobody) {
    heartbeat_judge judge{{.interval = 500ms, .timeout = 3s}};
    time_point now{};
    judge.watch(node_id{1}, peer_role::member, now);
    BOOST_TEST(judge.tick(now = now + 10s).lost.empty());
    BOOST_TEST(judge.tick(now = now + 500ms).lost.empty());
}

// Each time that it falls silent is told once.
BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_is_waited_for) {
    heartbeat_judge judge{{.interval = 500ms, .timeout = 3s, .run_timeout = 20s}};
    const node_id run{7};
    time_point now{};
    judge.watch(run, peer_role::client, now);
    std::vector<double> waited_at, back_at, lost_at;
    for (int i = 0; i < 80; ++i) {
        now = now + 500ms;
        if (i == 29) // goes on after 15 s, and is stopped again
            judge.heard(run, now);
        const auto silent = judge.tick(now);
        if (!silent.waiting.empty())
            waited_at.push_back(static_cast<double>(now.ns) / 1e9);
        if (!silent.back.empty())
            back_at.push_back(static_cast<double>(now.ns) / 1e9);
        if (!silent.lost.empty())
            lost_at.push_back(static_cast<double>(now.ns) / 1e9);
    }
    BOOST_TEST(back_at == std::vector<double>{15}, boost::test_tools::per_element());
    BOOST_TEST(waited_at == (std::vector<double>{3.5, 18.5}), boost::test_tools::per_element());
    BOOST_TEST(lost_at == std::vector<double>{35.5}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_node_that_slept_says_of_no_run_that_it_is_back_before_it_is_heard) {
    heartbeat_judge judge{{.interval = 500ms, .timeout = 3s, .run_timeout = 60s}};
    const node_id run{7};
    time_point now{};
    judge.watch(run, peer_role::client, now);
    for (int i = 0; i < 10; ++i)
        (void)judge.tick(now = now + 500ms); // the run is waited for
    (void)judge.tick(now = now + 30s);
    for (int i = 0; i < 4; ++i)
        BOOST_TEST(judge.tick(now = now + 500ms).back.empty());
    judge.heard(run, now = now + 100ms);
    BOOST_TEST((judge.tick(now = now + 400ms).back == std::vector{run}));
}

BOOST_AUTO_TEST_SUITE_END()
