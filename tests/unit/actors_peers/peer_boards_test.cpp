// What inspectors are shown of replicas that wait for each other.
#include <boost/test/unit_test.hpp>

#include "actors/peers/admm_peer.hpp"
#include "actors/peers/elastic_peer.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using maybe_worker = std::optional<std::uint32_t>;

// The peer of the first of three replicas, whose weights are one element each.
struct first_of_three : puppet_stage {
    part& stage = add<proto::Exchanged>("stage");
    part& one = add<proto::Met, proto::Consensus>("one");
    part& two = add<proto::Met, proto::Consensus>("two");
    part& trainer = add<>("trainer");
    actor_address peer;

    template <class Peer, class Rule>
    void join(const Rule& rule) {
        peer = node.spawn<Peer>(
            "peer", peer_options{shared_device(), trainer.address, {tensor_shape{1}}}, rule);
        frame_builder<proto::JoinPeers> join;
        auto members = join.body().initMembers(3);
        write_address(members[0], peer);
        write_address(members[1], one.address);
        write_address(members[2], two.address);
        join.attach(floats({0}));
        say(stage, peer, std::move(join));
    }
    template <class Body>
    void bring(part& by) {
        frame_builder<Body> weights;
        weights.attach(floats({1}));
        say(by, peer, std::move(weights));
    }
    void bring_last(part& by) {
        frame_builder<proto::Report> report;
        report.body().setLast(true);
        report.attach(floats({1}));
        say(by, peer, std::move(report));
    }
    std::vector<worker_board::row> rows() {
        for (const actor_status& a : node.actors())
            if (a.address == peer)
                return a.workers;
        return {};
    }
    worker_board::row row_of(std::uint32_t worker) {
        for (const worker_board::row& r : rows())
            if (r.worker == worker)
                return r;
        BOOST_FAIL("nothing is shown of worker " << worker);
        return {};
    }
    void check_waits(std::uint32_t worker, maybe_worker whom) {
        BOOST_TEST((row_of(worker).waits_for == whom), "worker " << worker);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(boards_of_peers)

BOOST_FIXTURE_TEST_CASE(who_has_come_to_the_centre_waits_for_one_who_has_not, first_of_three) {
    join<elastic_peer>(elastic_rule{0.25f, true});
    BOOST_TEST(rows().empty());
    bring<proto::Exchange>(stage);
    check_waits(0, 1u);
    bring<proto::Meet>(one);
    check_waits(0, 2u);
    check_waits(1, 2u);
    bring<proto::Meet>(two);
    for (std::uint32_t r = 0; r < 3; ++r) {
        check_waits(r, std::nullopt);
        BOOST_TEST(row_of(r).clock == 1u);
        BOOST_TEST(row_of(r).late[0] == 1u);
    }
    bring<proto::Meet>(two);
    check_waits(2, 0u);
    act(one, [](puppet& self) { self.quit(); });
    bring<proto::Exchange>(stage);
    BOOST_TEST(rows().size() == 2u); // nothing is known of who is lost
    BOOST_TEST(row_of(2).clock == 2u);
}

BOOST_FIXTURE_TEST_CASE(who_meets_a_centre_alone_waits_for_nobody_and_is_late_by_the_others_moves,
                        first_of_three) {
    join<elastic_peer>(elastic_rule{0.25f, false});
    bring<proto::Meet>(one);
    bring<proto::Meet>(one);
    bring<proto::Meet>(two);
    bring<proto::Meet>(one);
    check_waits(1, std::nullopt);
    BOOST_TEST(row_of(1).clock == 3u);
    BOOST_TEST(row_of(1).late[0] == 2u);
    BOOST_TEST(row_of(1).late[1] == 1u);
    BOOST_TEST(row_of(2).late[2] == 1u);
}

BOOST_FIXTURE_TEST_CASE(who_has_reported_waits_for_the_quorum_and_for_the_oldest_report,
                        first_of_three) {
    join<admm_peer>(admm_rule{.quorum = 2, .delay = 2});
    bring<proto::Report>(one);
    check_waits(1, 0u);
    bring<proto::Report>(two); // a quorum: the first replica is one change late now
    check_waits(1, std::nullopt);
    check_waits(2, std::nullopt);
    bring<proto::Report>(two);
    bring<proto::Report>(one);
    check_waits(1, 0u); // without which there is no further change
    check_waits(2, 0u);
    bring<proto::Exchange>(stage);
    for (std::uint32_t r = 0; r < 3; ++r)
        check_waits(r, std::nullopt);
    BOOST_TEST(row_of(0).late[1] == 1u);
    BOOST_TEST(row_of(1).clock == 2u);
    BOOST_TEST(row_of(1).late[0] == 2u);
}

BOOST_FIXTURE_TEST_CASE(who_has_ended_its_epoch_waits_for_who_has_not, first_of_three) {
    join<admm_peer>(admm_rule{.quorum = 1, .delay = 9});
    bring_last(one);
    BOOST_TEST(one.log.got.empty());
    check_waits(1, 0u);
    bring<proto::Exchange>(stage);
    check_waits(0, std::nullopt);
    check_waits(1, 2u); // whose report is older
    act(two, [](puppet& self) { self.quit(); });
    check_waits(1, 0u);
}

BOOST_AUTO_TEST_SUITE_END()
