// What actors show of themselves to inspectors: the workers that they serve, and named facts.
#include "tests/unit/actors_runtime/inspected.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(boards_of_actors)

BOOST_FIXTURE_TEST_CASE(an_actor_shows_the_workers_that_it_serves, inspected) {
    class server final : public actor {
      public:
        server(actor_context& context, std::shared_ptr<worker_board> board) : actor{context} {
            show_workers(std::move(board));
        }
    };
    const auto board = std::make_shared<worker_board>();
    const actor_address shard = node.spawn<server>("shard-0", board);
    board->took(2, 1, 0);
    board->took(2, 2, 1000);
    board->took(0, 1, 3);
    board->waits(2, 0);
    board->waits(0, 2);
    board->waits(0, std::nullopt);
    board->took(1, 7, 0);
    board->left(1); // is not listed any more
    ask(frame_builder<proto::ListActors>{});
    for (const auto a : kept.lists.at(0)->body<proto::ActorList>().getActors()) {
        if (a.getNumber() != shard.actor.value()) {
            BOOST_TEST(a.getWorkers().size() == 0u);
            continue;
        }
        BOOST_REQUIRE_EQUAL(a.getWorkers().size(), 2u);
        const auto first = a.getWorkers()[0], second = a.getWorkers()[1];
        BOOST_TEST(first.getWorker() == 0u);
        BOOST_TEST(first.getLate()[3] == 1u);
        BOOST_TEST(first.getWaitsFor() == ~0u);
        BOOST_TEST(second.getWorker() == 2u);
        BOOST_TEST(second.getClock() == 2u);
        BOOST_TEST(second.getLate()[0] == 1u);
        BOOST_TEST(second.getLate()[worker_board::late_max] == 1u);
        BOOST_TEST(second.getWaitsFor() == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(the_root_of_a_run_shows_its_last_milestones, inspected) {
    class root final : public actor {
      public:
        root(actor_context& context, std::shared_ptr<milestone_board> board) : actor{context} {
            show_milestones(std::move(board));
        }
    };
    const auto board = std::make_shared<milestone_board>();
    const actor_address leader = node.spawn<root>("leader", board);
    constexpr std::uint32_t reached = milestone_board::milestones_max + 3;
    for (std::uint32_t i = 0; i < reached; ++i)
        board->reached(
            {i, std::chrono::seconds{i}, {{"objective", 10.0 - i}, {std::string(99, 'x'), 1}}});
    std::vector<milestone_board::number> many(milestone_board::numbers_max + 5);
    board->reached({reached, std::chrono::seconds{reached}, many});
    ask(frame_builder<proto::ListActors>{});
    bool is_found = false;
    for (const auto a : kept.lists.at(0)->body<proto::ActorList>().getActors()) {
        if (a.getNumber() != leader.actor.value()) {
            BOOST_TEST(a.getMilestones().size() == 0u);
            continue;
        }
        is_found = true;
        const auto shown = a.getMilestones();
        BOOST_TEST_REQUIRE(shown.size() == milestone_board::milestones_max);
        BOOST_TEST(shown[0].getNumber() == 4u);
        BOOST_TEST(shown[0].getSinceStartNs() == 4'000'000'000u);
        BOOST_TEST(shown[0].getNumbers()[0].getName().cStr() == "objective");
        BOOST_TEST(shown[0].getNumbers()[0].getValue() == 6.0);
        BOOST_TEST(shown[0].getNumbers()[1].getName().size() == milestone_board::name_bytes_max);
        BOOST_TEST(shown[shown.size() - 1].getNumbers().size() == milestone_board::numbers_max);
    }
    BOOST_TEST(is_found);
}

BOOST_FIXTURE_TEST_CASE(an_actor_shows_the_facts_that_it_tells, inspected) {
    class told final : public actor {
      public:
        told(actor_context& context, std::shared_ptr<fact_board> board) : actor{context} {
            show_facts(std::move(board));
        }
    };
    const auto board = std::make_shared<fact_board>();
    const actor_address scheduler = node.spawn<told>("scheduler-0", board);
    board->set({{"phase", "16"}, {"waits", "for worker 2"}});
    board->set("phase", "17");
    ask(frame_builder<proto::ListActors>{});
    bool is_found = false;
    for (const auto a : kept.lists.at(0)->body<proto::ActorList>().getActors()) {
        if (a.getNumber() != scheduler.actor.value()) {
            BOOST_TEST(a.getFacts().size() == 0u);
            continue;
        }
        is_found = true;
        BOOST_REQUIRE_EQUAL(a.getFacts().size(), 2u);
        BOOST_TEST(a.getFacts()[0].getName().cStr() == "phase");
        BOOST_TEST(a.getFacts()[0].getText().cStr() == "17");
        BOOST_TEST(a.getFacts()[1].getName().cStr() == "waits");
        BOOST_TEST(a.getFacts()[1].getText().cStr() == "for worker 2");
    }
    BOOST_TEST(is_found);
}

BOOST_AUTO_TEST_SUITE_END()
