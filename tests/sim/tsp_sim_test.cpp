// Colonies on simulated nodes: the same tours whatever the network does and whoever is lost. That each tour which is sent is
// one of all cities, and as long as is said, is checked by whoever it is sent to, and would end the run.
#include <boost/test/unit_test.hpp>

#include "apps/tsp/city_pieces.hpp"
#include "apps/tsp/tour_file.hpp"
#include "apps/tsp/tsp.capnp.h"
#include "apps/tsp/tsp.hpp"
#include "apps/tsp/tsp_worker.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "tests/sim/same_ends.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint64_t tours_of_colony = 160;
constexpr std::uint32_t tours_of_phase = 10;
constexpr std::uint64_t seed_of_run = 5; // program_sim's

struct colonies {
    std::uint32_t count = 2;
    std::uint32_t window = 2;
    proto::TourExchange exchange = proto::TourExchange::RING;
    proto::AntColony kind = proto::AntColony::FOCUSED;
    auto operator<=>(const colonies&) const = default;
};

// Every combination of these, one after the other.
colonies colonies_of(std::uint64_t seed) {
    const std::uint32_t windows[] = {0, 1, 2, 5};
    const auto exchange = seed / 16 % 2 == 0 ? proto::TourExchange::RING : proto::TourExchange::ALL;
    return {static_cast<std::uint32_t>(1 + seed % 4), windows[seed / 4 % 4], exchange,
            seed / 32 % 8 == 0 ? proto::AntColony::MAX_MIN : proto::AntColony::FOCUSED};
}

tsp::instance cities() {
    random_stream random{21};
    std::vector<tsp::point> points;
    for (int i = 0; i < 60; ++i)
        points.push_back({1000 * random.uniform(), 1000 * random.uniform()});
    return tsp::instance::of_points("sixty", tsp::edge_weights::euclidean, std::move(points));
}

program_sim_shape sim_shape(const colonies& c, const temporary_folder& folder) {
    return {.what = tsp::tsp_program(),
            .data = tsp::pieces_of(cities(), 512),
            .workers = c.count,
            .window = c.window,
            .nodes = 4,
            .result = folder.path().string()};
}

auto settings_of(const colonies& c) {
    return [c](proto::ProgramApp::Builder app) {
        auto settings = app.getProgram().getSettings().initAs<proto::TspSettings>();
        settings.setColony(c.kind);
        settings.setExchange(c.exchange);
        settings.setExchangeEvery(20);
        auto schedule = app.initSchedule().initCyclic();
        schedule.setWindow(c.window);
        schedule.setSet(tours_of_phase);
        app.initStop().setIterations(tours_of_colony);
    };
}

same_ends<colonies>& same_tours() {
    static same_ends<colonies> runs{
        {sim_shape, settings_of, {"tour.tour", "course.csv", "summary.json"}}};
    return runs;
}

// What a colony finds by itself.
std::vector<tsp::city> serial_tour(const tsp::instance& of, std::uint32_t worker) {
    const tsp::colony_settings settings;
    const tsp::candidates near = tsp::candidates_for(of, settings);
    const auto colony = tsp::make_colony(of, near, settings, tsp::colony_seed(seed_of_run, worker));
    memory_pool memory{1u << 20};
    BOOST_REQUIRE(colony->advance(tours_of_colony, *make_cpu_operations(memory)).ok());
    return {colony->best().begin(), colony->best().end()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(colonies_in_the_simulator)

BOOST_AUTO_TEST_CASE(no_storm_changes_a_tour, *seeded) {
    for (const std::uint64_t seed : seed_range{1000})
        same_tours().check(seed, colonies_of(seed), false);
}

BOOST_AUTO_TEST_CASE(no_loss_changes_a_tour, *seeded) {
    std::size_t losses = 0;
    const seed_range seeds{60};
    for (const std::uint64_t seed : seeds)
        losses += same_tours().check(seed, colonies_of(seed), true) > 0 ? 1 : 0;
    BOOST_TEST(losses > 0u);
}

BOOST_AUTO_TEST_CASE(without_exchange_each_colony_is_a_serial_program) {
    const temporary_folder folder;
    const colonies alone{.count = 3, .exchange = proto::TourExchange::NONE};
    program_sim run{1, sim_shape(alone, folder), settings_of(alone)};
    end_of(run, folder, {"tour.tour"});
    const tsp::instance of = cities();
    std::vector<tsp::city> best;
    for (std::uint32_t w = 0; w < alone.count; ++w)
        if (const auto found = serial_tour(of, w);
            best.empty() || of.length_of(found) < of.length_of(best))
            best = found;
    const auto written = tsp::read_tour((folder.path() / "tour.tour").string(), of);
    BOOST_REQUIRE(written.ok());
    BOOST_TEST(*written == best, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_tour_is_there_while_the_run_goes_on) {
    const temporary_folder folder;
    const colonies c;
    program_sim run{1, sim_shape(c, folder), [&](proto::ProgramApp::Builder app) {
                        settings_of(c)(app);
                        app.getStop().setIterations(1000000);
                    }};
    run.sim().run_until([&] { return run.news().milestones.size() == 3; },
                        std::chrono::minutes{60});
    BOOST_TEST(!run.news().outcome.has_value());
    const auto written = tsp::read_tour((folder.path() / "tour.tour").string(), cities());
    BOOST_REQUIRE(written.ok());
    const double first = run.news().milestones.front().numbers[0].value;
    BOOST_TEST(static_cast<double>(cities().length_of(*written)) <= first);
    BOOST_TEST(std::filesystem::exists(folder.path() / "tour.svg"));
    BOOST_TEST(!std::filesystem::exists(folder.path() / "summary.json"));
}

BOOST_AUTO_TEST_CASE(the_newest_tour_is_written_when_the_disk_has_kept_others_waiting) {
    const temporary_folder folder;
    const colonies c{.kind = proto::AntColony::MAX_MIN};
    program_sim run{1, sim_shape(c, folder), [&](proto::ProgramApp::Builder app) {
                        settings_of(c)(app);
                        app.getProgram().getSettings().getAs<proto::TspSettings>().setLocalSearch(
                            proto::TourSearch::NONE);
                        app.getStop().setIterations(1000000);
                    }};
    const auto wait_for = [&](std::size_t milestones) {
        run.sim().run_until([&] { return run.news().milestones.size() >= milestones; },
                            std::chrono::minutes{60});
    };
    wait_for(1);
    run.io().submit({.work = [](compute_context&) -> result<void> { return {}; },
                     .done = [](result<void>, duration) {},
                     .cost_hint = 1e13}); // 100 s
    wait_for(40);
    for (std::size_t n = 0; n < run.nodes(); ++n)
        run.sim().stop(run.node(n));
    run.sim().run_for(std::chrono::seconds{200});
    const auto written = tsp::read_tour((folder.path() / "tour.tour").string(), cities());
    BOOST_REQUIRE(written.ok());
    const auto length_of = [&](const run_milestone& m) { return m.numbers[0].value; };
    BOOST_TEST(length_of(run.news().milestones.back()) < length_of(run.news().milestones[5]));
    BOOST_TEST(static_cast<double>(cities().length_of(*written)) ==
               length_of(run.news().milestones.back()));
}

BOOST_AUTO_TEST_CASE(a_run_ends_as_soon_as_a_tour_is_short_enough) {
    const temporary_folder folder;
    const colonies c;
    program_sim run{1, sim_shape(c, folder), [&](proto::ProgramApp::Builder app) {
                        settings_of(c)(app);
                        app.getStop().setIterations(0);
                        app.getStop().setLength(1000000);
                    }};
    const run_finished& outcome = run.to_the_end();
    BOOST_REQUIRE(!outcome.failure);
    BOOST_TEST(outcome.remarks.at(0) == "stop.length reached");
    BOOST_TEST(run.news().milestones.size() == 1u);
    BOOST_TEST(run.news().milestones[0].numbers[0].name == "length");
}

BOOST_AUTO_TEST_SUITE_END()
