// A second kind of job in the simulator: nothing but the ground and its own folder.
#include <boost/test/unit_test.hpp>

#include <fstream>

#include "actors/agent/node_agent.hpp"
#include "actors/run/run_messages.hpp"
#include "actors/runtime/simulator.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/counter/counter.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct heard final : run_listener {
    void started(const run_started&) override { ++starts; }
    void reached(const run_milestone& news) override { rounds.push_back(news.milestone); }
    void finished(const run_finished& news) override { outcome = news; }

    int starts = 0;
    std::vector<std::uint32_t> rounds;
    std::optional<run_finished> outcome;
};

class counting_sim {
  public:
    counting_sim(std::uint64_t seed, const std::string& app)
        : app_{parse_app(app, "app.yaml", {}, {&kind_.app, 1}).value()},
          sim_{{.seed = seed, .messages = catalog_of(run_messages{}, counter::counter_messages{})}},
          run_node_{&sim_.add_node("run", peer_role::client)} {
        for (std::size_t n = 0; n < 3; ++n) {
            nodes_.push_back(&sim_.add_node("node-" + std::to_string(n)));
            nodes_[n]->spawn_as<node_agent>(
                well_known::agent, "agent",
                node_agent_options{kind_.roles, {device_of(*nodes_[n], "sim:0")}});
            devices_.push_back({.node = nodes_[n]->node(),
                                .node_name = nodes_[n]->options().name,
                                .device = "sim:0"});
            run_node_->connect("sim:node-" + std::to_string(n));
        }
        sim_.run_until([&] { return run_node_->peers().size() == nodes_.size(); },
                       std::chrono::minutes{5});
        sim_.network().set_faults({.delay_min = std::chrono::microseconds{10},
                                   .delay_max = std::chrono::milliseconds{20},
                                   .drop = 0.05,
                                   .duplicate = 0.05});
        root_ = counter::spawn_root({.runtime = *run_node_,
                                     .io = device_of(*run_node_, "io"),
                                     .devices = devices_,
                                     .number = 77,
                                     .listener = news_},
                                    app_.as<proto::CounterApp>().getCounter());
    }

    const heard& to_the_end() {
        sim_.run_until([&] { return news_.outcome.has_value(); }, std::chrono::minutes{30});
        BOOST_REQUIRE(news_.outcome.has_value());
        return news_;
    }
    simulator& sim() { return sim_; }
    node_runtime& node(std::size_t n) { return *nodes_[n]; }
    node_runtime& run_node() { return *run_node_; }
    actor_address root() const { return root_; }
    const heard& news() const { return news_; }

  private:
    std::shared_ptr<device> device_of(const node_runtime& node, const std::string& name) {
        return {std::shared_ptr<void>{}, &sim_.add_device(node, {.name = name}, *operations_)};
    }

    const cli::job_kind kind_ = counter::counter_job();
    std::unique_ptr<operations> operations_ = make_reference_operations();
    app_definition app_;
    heard news_;
    simulator sim_;
    node_runtime* run_node_;
    std::vector<node_runtime*> nodes_;
    std::vector<plan_device> devices_;
    actor_address root_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(a_second_kind_of_job)

BOOST_AUTO_TEST_CASE(it_counts_everything_once_whatever_the_network_does, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        counting_sim run{seed, "troupe: 1\ncounter: {workers: 5, rounds: 4, step: 3}\n"};
        const heard& news = run.to_the_end();
        BOOST_REQUIRE_MESSAGE(!news.outcome->failure, news.outcome->failure->message());
        BOOST_TEST(news.starts == 1);
        BOOST_TEST(news.rounds == (std::vector<std::uint32_t>{0, 1, 2, 3}),
                   boost::test_tools::per_element());
        BOOST_TEST(news.outcome->numbers.at(0).value == 5 * 4 * 3);
    }
}

BOOST_AUTO_TEST_CASE(a_lost_node_ends_it_with_a_sentence_that_names_its_actors) {
    counting_sim run{1, "troupe: 1\ncounter: {workers: 4, rounds: 1000000}\n"};
    run.sim().run_until([&] { return run.news().rounds.size() > 3; }, std::chrono::minutes{5});
    run.sim().kill(run.node(0));
    const auto failure = run.to_the_end().outcome->failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::lost));
    BOOST_TEST(failure->message().ends_with(
                   "; it carried worker-0 on node-0/sim:0, worker-3 on node-0/sim:0"),
               failure->message());
}

BOOST_AUTO_TEST_CASE(messages_bear_the_number_of_their_run_and_answers_that_of_what_they_answer) {
    counting_sim run{3, "troupe: 1\ncounter: {workers: 3, rounds: 2}\n"};
    run.to_the_end();
    std::size_t seen = 0;
    for (const trace_event& e : run.node(1).trace().read(0, 1u << 10).events)
        if (e.type == type_id_of<proto::Add>() || e.type == type_id_of<proto::Spawn>()) {
            BOOST_TEST(e.run == 77u);
            ++seen;
        }
    BOOST_TEST(seen == 3u);
    BOOST_TEST(run.node(1).actors().front().run == 0u); // the agent is of no run
}

BOOST_AUTO_TEST_CASE(news_of_others_than_its_root_are_refused) {
    counting_sim run{4, "troupe: 1\ncounter: {workers: 3, rounds: 1000}\n"};
    run.sim().run_until([&] { return run.news().rounds.size() > 3; }, std::chrono::minutes{5});
    const actor_address reporter = run.run_node().address_of("reporter").value();
    run.node(0).send(reporter, event_of(77, run_milestone{7, {}}));
    run.node(0).send(reporter, event_of(77, run_finished{}));
    run.sim().run_until([&] { return run.run_node().statistics().frames_rejected >= 2; },
                        std::chrono::minutes{5});
    BOOST_TEST(run.run_node().statistics().frames_rejected == 2u);
    BOOST_TEST(!run.news().outcome.has_value());
    BOOST_TEST(!run.to_the_end().outcome->failure);
    BOOST_TEST(run.news().rounds.size() == 1000u);
}

BOOST_AUTO_TEST_CASE(a_root_that_ends_without_a_word_ends_its_run) {
    counting_sim run{5, "troupe: 1\ncounter: {workers: 3, rounds: 1000000}\n"};
    run.sim().run_until([&] { return run.news().rounds.size() > 3; }, std::chrono::minutes{5});
    run.run_node().end(run.root(), {errc::numeric, "out of its mind"});
    const auto failure = run.to_the_end().outcome->failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::lost));
    BOOST_TEST(failure->message().find("the run has ended unexpectedly: ") == 0u,
               failure->message());
}

BOOST_AUTO_TEST_CASE(the_total_is_saved) {
    const temporary_folder folder;
    const std::string file = (folder.path() / "total.txt").string();
    counting_sim run{2, "troupe: 1\ncounter: {rounds: 6, file: " + file + "}\n"};
    BOOST_TEST(run.to_the_end().outcome->saved == file);
    std::ifstream in{file};
    std::uint64_t total = 0;
    BOOST_TEST(static_cast<bool>(in >> total));
    BOOST_TEST(total == 12u);
}

BOOST_AUTO_TEST_SUITE_END()
