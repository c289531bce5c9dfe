// What stages are told of each other.
#include <boost/test/unit_test.hpp>

#include "actors/messages.hpp"
#include "actors/training/stage_connection.hpp"

using namespace troupe;

namespace {

constexpr actor_address source{node_id{1}, actor_number{99}};

// Pipelines of two stages, each with a peer, on one node each: replica 0 on one device, others on two.
struct pipelines {
    explicit pipelines(std::uint32_t replicas = 2) {
        p.stages.resize(2);
        p.schedule.in_flight = {3, 1};
        p.replicas = replicas;
        for (std::uint32_t replica = 0; replica < replicas; ++replica)
            for (std::uint32_t stage = 0; stage < 2; ++stage)
                for (const run_role role : {run_role::peer, run_role::stage})
                    p.actors.push_back(
                        {.role = role,
                         .where = {.node = node_id{replica + 1},
                                   .device = replica * stage > 0 ? "cpu:1" : "cpu:0"},
                         .stage = stage,
                         .replicas = {replica}});
        cast = training_cast{1, p.actors};
        for (std::size_t a = 0; a < cast.size(); ++a) {
            frame_builder<proto::Spawned> answer;
            answer.body().setRun(1);
            answer.body().setRequest(cast.ask(a).body().getRequest());
            write_address(answer.body().initAddress(), address(a));
            BOOST_TEST_REQUIRE(cast.enter(answer.body(), cast.agent_of(a)).ok());
        }
        course.set_stages(2, 2 * replicas);
    }
    actor_address address(std::size_t actor) const {
        return {cast[actor].where.node, actor_number{20 + actor}};
    }
    frame_builder<proto::ConnectStage> connection(std::size_t placement) const {
        return connection_of({p, cast, course}, placement, source);
    }

    plan p;
    training_cast cast;
    run_course course{{.shape = {.samples = 9, .epochs = 2}}};
};

std::vector<actor_address> read(capnp::List<proto::ActorAddress>::Reader list) {
    std::vector<actor_address> found;
    for (const auto a : list)
        found.push_back(read_address(a));
    return found;
}

using addresses = std::vector<actor_address>;

} // namespace

BOOST_AUTO_TEST_SUITE(connections_of_stages)

BOOST_AUTO_TEST_CASE(a_stage_knows_its_neighbours_and_the_peers_of_all_its_replicas) {
    const pipelines run;
    auto first = run.connection(2);
    const auto body = first.body().asReader();
    BOOST_TEST((read(body.getPrevious()) == addresses{source}));
    BOOST_TEST((read(body.getNext()) == addresses{run.address(7)}));
    BOOST_TEST(
        (read(body.getCompanions()[0].getAll()) == addresses{run.address(0), run.address(4)}));
    BOOST_TEST((read_address(body.getCompanions()[0].getOwn()) == run.address(4)));
    BOOST_TEST((body.getCompanions()[0].getRole() == "peer"));
    BOOST_TEST(body.getCompanions().size() == 1u);
    BOOST_TEST(!body.getJoins());
    auto last = run.connection(3);
    BOOST_TEST((read(last.body().asReader().getPrevious()) == addresses{run.address(5)}));
    BOOST_TEST(last.body().asReader().getNext().size() == 0u);
}

BOOST_AUTO_TEST_CASE(tensors_stay_on_a_device_that_neighbours_share) {
    const pipelines run;
    auto first = run.connection(0), last = run.connection(1), apart = run.connection(2);
    BOOST_TEST(first.body().getNextIsColocated());
    BOOST_TEST(!first.body().getPreviousIsColocated());
    BOOST_TEST(last.body().getPreviousIsColocated());
    BOOST_TEST(!apart.body().getNextIsColocated());
}

BOOST_AUTO_TEST_CASE(stages_that_differ_in_replicas_know_all_of_their_neighbours) {
    pipelines run;
    run.p.stage_replicas = {2, 2};
    auto first = run.connection(0);
    BOOST_TEST(
        (read(first.body().asReader().getNext()) == addresses{run.address(3), run.address(7)}));
    BOOST_TEST(!first.body().getNextIsColocated());
}

// Those of a replica that is lost while the newcomer is placed, too: they do not expect it.
BOOST_AUTO_TEST_CASE(a_newcomer_does_not_know_the_peers_of_lost_replicas) {
    pipelines run{3};
    while (run.course.phase() != run_phase::training) {
        for (std::size_t placement = 0; placement < 6; ++placement)
            run.course.take(run.course.phase(), placement);
        run.course.advance();
    }
    run.course.lose_replica(1);
    auto left = run.connection(0);
    BOOST_TEST((read(left.body().asReader().getCompanions()[0].getAll()) ==
                addresses{run.address(0), {}, run.address(8)}));
    run.course.join_replica(1);
    run.course.lose_replica(2);
    auto joining = run.connection(2);
    BOOST_TEST(joining.body().getJoins());
    BOOST_TEST((read(joining.body().asReader().getCompanions()[0].getAll()) ==
                addresses{run.address(0), run.address(4), {}}));
}

BOOST_AUTO_TEST_CASE(the_data_source_feeds_the_ends_of_all_pipelines) {
    const pipelines run;
    frame_builder<proto::App> app;
    const data_source_options options = source_options({run.p, run.cast, run.course}, app.body());
    BOOST_TEST((options.first_stages == addresses{run.address(1), run.address(5)}));
    BOOST_TEST((options.last_stages == addresses{run.address(3), run.address(7)}));
    BOOST_TEST(options.stages == 2u);
    BOOST_TEST(options.in_flight == 3u);
    BOOST_TEST(options.shape.epochs == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
