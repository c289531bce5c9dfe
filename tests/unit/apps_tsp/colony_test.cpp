// Colonies: what they reach, and that their seed decides every bit.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "apps/tsp/colony.hpp"
#include "apps/tsp/first_tour.hpp"
#include "apps/tsp/instance_file.hpp"
#include "apps/tsp/trails.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/reference/city_choice.hpp"
#include "tests/shared_data.hpp"
#include "tests/unit/apps_tsp/problems.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace troupe::tsp;

namespace {

constexpr std::array kinds{colony_kind::ant_system, colony_kind::max_min,
                           colony_kind::ant_colony_system, colony_kind::focused};

// The shortest tour of drilled_board().
constexpr std::int64_t board_length = 25825;

struct made_colony {
    instance of;
    colony_settings settings;
    candidates near = candidates_for(of, settings);
    std::unique_ptr<colony> ants;
    std::unique_ptr<memory_pool> memory = std::make_unique<memory_pool>(1u << 24);
    std::unique_ptr<operations> with = make_cpu_operations(*memory);

    std::uint64_t advance(std::uint64_t tours) { return ants->advance(tours, *with).value(); }

    made_colony(instance problem, colony_settings s, std::uint64_t seed)
        : of{std::move(problem)}, settings{s}, ants{make_colony(of, near, s, seed)} {}
};

bool is_same(const colony_state& a, const colony_state& b) {
    return a.numbers == b.numbers && a.tours == b.tours && a.trails == b.trails;
}

// Chi-square of the counts of draws from these weights, over those above 0.
double chi_square(city_choice kind, const std::vector<double>& weights, int draws) {
    random_stream random{29};
    std::vector<int> counts(weights.size());
    for (int i = 0; i < draws; ++i)
        ++counts.at(choose(kind, weights, random));
    double sum = 0, square = 0;
    for (const double w : weights)
        sum += w;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double expected = draws * weights[i] / sum;
        if (weights[i] == 0)
            BOOST_TEST(counts[i] == 0);
        else
            square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return square;
}

} // namespace

BOOST_AUTO_TEST_SUITE(colonies_of_tsp)

BOOST_AUTO_TEST_CASE(
    the_exact_choice_is_proportional_and_the_independent_one_favours_large_weights) {
    const std::vector<double> weights{1, 0, 5, 0.5, 2, 1e-3, 1.5};
    // 5 degrees of freedom: above 20.5 once in 1000.
    BOOST_TEST(chi_square(city_choice::exact, weights, 100000) < 20.5);
    BOOST_TEST(chi_square(city_choice::independent, weights, 100000) > 1000);
    // Of two, the larger is chosen by 1 - w2 / 2 w1.
    random_stream random{31};
    int larger = 0;
    for (int i = 0; i < 100000; ++i)
        larger += choose_independently(std::vector<double>{1, 2}, random) == 1;
    BOOST_TEST(std::abs(larger / 1e5 - 0.75) < 0.006);
    for (const auto kind : {city_choice::exact, city_choice::independent})
        BOOST_TEST(choose(kind, std::vector<double>{0, 0}, random) == 2u);
}

BOOST_AUTO_TEST_CASE(trails_grow_where_tours_go) {
    const instance of = random_cities(50, 37);
    const candidates near{of, 10};
    trails t{of, near, {}};
    t.fill(1);
    BOOST_TEST(t.branching_factor() == 10);
    const auto sum = [&] {
        double all = 0;
        for (const double v : t.values())
            all += v;
        return all;
    };
    const auto order = first_tour(of, near);
    int ways = 0; // that are candidates
    for (std::size_t i = 0; i < 50; ++i) {
        const city a = order[i], b = order[(i + 1) % 50];
        ways += (near.place(a, b) < 10 ? 1 : 0) + (near.place(b, a) < 10 ? 1 : 0);
    }
    memory_pool memory{1u << 20};
    const auto ops = make_cpu_operations(memory);
    BOOST_REQUIRE(t.lay(*ops, {.kept = 0.75}, order, 2).ok());
    BOOST_TEST(sum() == 500 * 0.75 + ways * 2.0, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(t.branching_factor() < 2.1);
    for (city a = 0; a < 50; ++a)
        for (std::size_t k = 0; k < 10; ++k) {
            const city b = near.of(a)[k];
            if (const std::size_t back = near.place(b, a); back < 10)
                BOOST_REQUIRE(t.values()[static_cast<std::size_t>(a) * 10 + k] ==
                              t.values()[static_cast<std::size_t>(b) * 10 + back]);
        }
    BOOST_REQUIRE(t.lay(*ops, {.low = 1, .high = 1.5}, order, 0).ok());
    BOOST_TEST(std::ranges::max(t.values()) == 1.5);
    BOOST_TEST(std::ranges::min(t.values()) == 1.0);
    const double length = static_cast<double>(of.length(0, near.of(0)[0]));
    BOOST_TEST(t.weights(0)[0] == t.values()[0] / length / length,
               boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(small_problems_are_solved) {
    for (std::size_t cities = 3; cities < 9; ++cities)
        for (const bool is_one_way : {false, true}) {
            const instance of =
                is_one_way ? one_way_streets(cities, cities) : random_cities(cities, cities);
            const std::int64_t shortest = shortest_length(of);
            for (const auto kind : kinds) {
                made_colony c{of, {.kind = kind, .greed = 0.5}, 3};
                c.advance(2000);
                BOOST_TEST_CONTEXT(cities << " cities, kind " << static_cast<int>(kind))
                BOOST_TEST(c.ants->best_length() == shortest);
            }
        }
}

BOOST_AUTO_TEST_CASE(known_problems_are_solved_by_each_of_twenty_seeds) {
    for (const auto& [name, shortest] : std::vector<std::pair<std::string, std::int64_t>>{
             {"att48", 10628}, {"eil51", 426}, {"berlin52", 7542}}) {
        const std::string path = TROUPE_SHARED_DATA "/tsplib/" + name + ".tsp";
        if (!std::filesystem::exists(path)) {
            BOOST_TEST_MESSAGE("skipped: there is no " << path);
            continue;
        }
        const instance of = read_cities_file(path).value().problem;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            made_colony c{of, {}, seed};
            for (int i = 0; i < 100 && c.ants->best_length() > shortest; ++i)
                c.advance(100);
            BOOST_TEST(c.ants->best_length() == shortest);
            BOOST_TEST(of.length_of(c.ants->best()) == shortest);
            BOOST_TEST(is_tour(c.ants->best(), of.cities()));
        }
    }
}

BOOST_AUTO_TEST_CASE(every_kind_shortens_tours_and_reports_it) {
    for (const auto kind : kinds)
        for (const bool is_one_way : {false, true}) {
            made_colony c{is_one_way ? one_way_streets(150, 41) : random_cities(150, 41),
                          {.kind = kind, .search = search_kind::three_opt},
                          1};
            const std::int64_t first = c.ants->best_length();
            std::int64_t last = first;
            for (int i = 0; i < 10; ++i) {
                BOOST_TEST(c.advance(30) >= 30u);
                BOOST_TEST(c.ants->best_length() <= last);
                last = c.ants->best_length();
                BOOST_TEST(c.of.length_of(c.ants->best()) == last);
                BOOST_REQUIRE(is_tour(c.ants->best(), 150));
            }
            const colony_report report = c.ants->report();
            BOOST_TEST(last < first);
            BOOST_TEST(report.tours >= 300u);
            BOOST_TEST(report.best == last);
            BOOST_TEST(report.mean >= static_cast<double>(last));
            BOOST_TEST((report.branching >= 1 && report.branching <= c.near.count()));
        }
}

BOOST_AUTO_TEST_CASE(the_seed_decides_every_bit_and_a_loaded_colony_goes_on_as_the_saved_one) {
    for (const auto kind : kinds) {
        const colony_settings settings{.kind = kind, .choice = city_choice::independent};
        made_colony whole{random_cities(120, 43), settings, 5},
            other{random_cities(120, 43), settings, 6};
        made_colony first{random_cities(120, 43), settings, 5},
            second{random_cities(120, 43), settings, 5};
        whole.advance(175);
        other.advance(175);
        first.advance(75);
        BOOST_REQUIRE(second.ants->load(first.ants->save()).ok());
        second.advance(100);
        BOOST_TEST(is_same(whole.ants->save(), second.ants->save()));
        BOOST_TEST(!is_same(whole.ants->save(), other.ants->save()));
        BOOST_TEST(whole.ants->report().mean == second.ants->report().mean);
    }
}

BOOST_AUTO_TEST_CASE(the_tours_that_cycles_ended_with_are_saved) {
    const auto made = [] { return made_colony{random_cities(30, 43), {}, 5}; };
    made_colony whole = made(), first = made(), second = made();
    whole.advance(5000);
    first.advance(2500); // some cycles
    const colony_state state = first.ants->save();
    BOOST_TEST(state.tours.size() > 2 * 30u);
    BOOST_REQUIRE(second.ants->load(state).ok());
    second.advance(2500);
    BOOST_TEST(is_same(whole.ants->save(), second.ants->save()));
}

// Two by two blocks of holes, far apart, with a few single ones between: of nearest candidates alone they are not joined.
instance drilled_board() {
    random_stream random{83};
    std::vector<point> points;
    for (const double left : {0.0, 4770.0})
        for (const double below : {0.0, 2490.0})
            for (int i = 0; i < 72; ++i)
                points.push_back({left + 15 * (i % 4), below + 15 * (i / 4)});
    for (int i = 0; i < 40; ++i) {
        const double x = 500 + static_cast<double>(random.below(3800));
        points.push_back({x, static_cast<double>(random.below(3000))});
    }
    return instance::of_points("board", edge_weights::euclidean, std::move(points));
}

BOOST_AUTO_TEST_CASE(
    a_tour_through_clusters_is_the_same_length_from_each_seed_and_candidate_count) {
    for (const std::uint32_t candidates : {8, 12})
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            made_colony c{drilled_board(), {.candidates = candidates}, seed};
            for (int i = 0; i < 5 && c.ants->best_length() > board_length; ++i)
                c.advance(1000);
            BOOST_TEST_REQUIRE(c.ants->best_length() == board_length);
        }
}

BOOST_AUTO_TEST_CASE(colonies_of_different_seeds_begin_with_different_tours) {
    const made_colony one{random_cities(300, 89), {}, 1}, other{random_cities(300, 89), {}, 2};
    BOOST_TEST(!std::ranges::equal(one.ants->best(), other.ants->best()));
}

BOOST_AUTO_TEST_CASE(ants_of_each_iteration_draw_anew) {
    for (const auto kind :
         {colony_kind::ant_system, colony_kind::max_min, colony_kind::ant_colony_system}) {
        // Trails do not count, so that only draws tell one iteration from another.
        made_colony c{random_cities(60, 61),
                      {.kind = kind, .search = search_kind::none, .ants = 5, .alpha = 0},
                      1};
        c.advance(5);
        const double first = c.ants->report().mean;
        c.advance(5);
        BOOST_TEST(c.ants->report().mean != first);
    }
}

BOOST_AUTO_TEST_CASE(trails_of_max_min_stay_within_their_limits) {
    made_colony c{random_cities(60, 67),
                  {.kind = colony_kind::max_min, .search = search_kind::two_opt, .ants = 5},
                  1};
    for (int i = 0; i < 40; ++i) {
        c.advance(5);
        const auto trails = c.ants->save().trails;
        const double highest = 1 / (0.2 * static_cast<double>(c.ants->best_length()));
        BOOST_TEST(std::ranges::max(trails) <= highest * (1 + 1e-12));
        BOOST_TEST(std::ranges::min(trails) >= highest / (2 * 60) * (1 - 1e-12));
    }
}

BOOST_AUTO_TEST_CASE(a_shorter_tour_from_elsewhere_is_taken_in) {
    for (const auto kind : kinds) {
        made_colony good{random_cities(200, 47), {}, 1};
        good.advance(3000);
        const std::vector<city> tour{good.ants->best().begin(), good.ants->best().end()};
        made_colony c{random_cities(200, 47), {.kind = kind, .search = search_kind::two_opt}, 2};
        const std::vector<city> own{c.ants->best().begin(), c.ants->best().end()};
        BOOST_TEST(!c.ants->take_in(own));
        BOOST_TEST(c.ants->take_in(tour));
        BOOST_TEST(c.ants->best_length() <= good.ants->best_length());
        c.advance(50);
        BOOST_TEST(c.ants->best_length() <= good.ants->best_length());
    }
}

BOOST_AUTO_TEST_CASE(a_tour_from_elsewhere_lays_a_trail) {
    for (const auto kind :
         {colony_kind::ant_system, colony_kind::max_min, colony_kind::ant_colony_system}) {
        made_colony good{random_cities(200, 47), {}, 1};
        good.advance(3000);
        const colony_settings settings{.kind = kind, .search = search_kind::none, .ants = 5};
        made_colony told{random_cities(200, 47), settings, 2},
            alone{random_cities(200, 47), settings, 2};
        BOOST_REQUIRE(told.ants->take_in(good.ants->best()));
        told.advance(25 * 5); // max-min lays the best one every 25 iterations
        alone.advance(25 * 5);
        const auto trail_of = [&](made_colony& c) { // the share that lies on the good tour
            const colony_state state = c.ants->save();
            const auto tour = good.ants->best();
            double on = 0, all = 0;
            for (const double v : state.trails)
                all += v;
            for (std::size_t i = 0; i < tour.size(); ++i) {
                const city a = tour[i], b = tour[(i + 1) % tour.size()];
                if (const std::size_t k = c.near.place(a, b); k < c.near.count())
                    on += state.trails[static_cast<std::size_t>(a) * c.near.count() + k];
            }
            return on / all;
        };
        BOOST_TEST_CONTEXT("kind " << static_cast<int>(kind))
        BOOST_TEST(trail_of(told) > trail_of(alone));
    }
}

BOOST_AUTO_TEST_CASE(max_min_makes_its_trails_equal_again_where_they_have_converged) {
    for (const bool is_one_way : {false, true}) {
        made_colony c{is_one_way ? one_way_streets(8, 3) : random_cities(8, 3),
                      {.kind = colony_kind::max_min, .search = search_kind::three_opt, .ants = 5},
                      1};
        bool are_equal = false;
        for (int i = 0; i < 2000 && !are_equal; ++i) {
            c.advance(5);
            const auto trails = c.ants->save().trails;
            are_equal = std::ranges::min(trails) == std::ranges::max(trails);
        }
        BOOST_TEST(are_equal);
    }
}

BOOST_AUTO_TEST_CASE(states_of_other_colonies_are_refused) {
    for (const auto kind : kinds) {
        made_colony c{random_cities(60, 53), {.kind = kind}, 1};
        const colony_state sound = c.ants->save();
        const auto refused = [&](auto change) {
            colony_state state = sound;
            change(state);
            BOOST_TEST(!c.ants->load(state).ok());
        };
        refused([](colony_state& s) { s.tours.pop_back(); });
        refused([](colony_state& s) { s.tours.clear(); });
        refused([](colony_state& s) { s.tours[0] = s.tours[1]; });
        refused([](colony_state& s) { s.tours[7] = -1; });
        refused([](colony_state& s) { s.trails.pop_back(); });
        refused([](colony_state& s) { s.numbers.clear(); });
        BOOST_TEST(c.ants->load(sound).ok());
    }
}

BOOST_AUTO_TEST_SUITE_END()
