// Candidates, tours and local searches.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/tsp/candidates.hpp"
#include "apps/tsp/first_tour.hpp"
#include "apps/tsp/improver.hpp"
#include "apps/tsp/pending_path.hpp"
#include "apps/tsp/place_tree.hpp"
#include "apps/tsp/tour.hpp"
#include "apps/tsp/tour_merge.hpp"
#include "tests/unit/apps_tsp/problems.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace troupe::tsp;

namespace {

std::vector<city> counted(std::size_t cities) {
    std::vector<city> order(cities);
    std::iota(order.begin(), order.end(), 0);
    return order;
}

std::vector<city> order_of(const tour& t) {
    return {t.order().begin(), t.order().end()};
}

// What is left after the search of a tour, from all of its cities; the gain is what it says.
std::int64_t improved(const instance& of, const candidates& near, search_kind kind, tour& t) {
    const auto search = make_improver(of, near, kind);
    const std::int64_t before = of.length_of(t.order());
    for (const city c : order_of(t))
        search->look_at(c);
    const std::int64_t gain = search->improve(t);
    const std::int64_t after = of.length_of(t.order());
    BOOST_TEST(after == before - gain);
    BOOST_TEST(is_tour(t.order(), of.cities()));
    for (std::size_t i = 0; i < of.cities(); ++i)
        BOOST_REQUIRE(t.place_of(t.at(i)) == i);
    return after;
}

} // namespace

BOOST_AUTO_TEST_SUITE(searches_of_tsp)

BOOST_AUTO_TEST_CASE(a_tree_finds_the_nearest_places) {
    random_stream random{3};
    std::vector<place> places;
    for (int i = 0; i < 300; ++i) // many on one spot
        places.push_back({static_cast<double>(random.below(12)),
                          static_cast<double>(random.below(12)),
                          static_cast<double>(random.below(2))});
    place_tree tree{places};
    for (std::size_t of = 0; of < places.size(); ++of) {
        std::vector<std::pair<double, std::size_t>> all;
        for (std::size_t i = 0; i < places.size(); ++i) {
            double square = 0;
            for (std::size_t axis = 0; axis < 3; ++axis)
                square +=
                    (places[i][axis] - places[of][axis]) * (places[i][axis] - places[of][axis]);
            if (i != of)
                all.emplace_back(square, i);
        }
        std::ranges::sort(all);
        const auto found = tree.nearest(of, 7);
        BOOST_REQUIRE(found.size() == 7u);
        for (std::size_t i = 0; i < found.size(); ++i)
            BOOST_REQUIRE(found[i] == all[i].second);
    }
}

BOOST_AUTO_TEST_CASE(a_tree_finds_the_nearest_places_of_a_quadrant) {
    random_stream random{5};
    std::vector<place> places;
    for (int i = 0; i < 300; ++i)
        places.push_back(
            {static_cast<double>(random.below(20)), static_cast<double>(random.below(20)), 0});
    place_tree tree{places};
    for (std::size_t of = 0; of < places.size(); ++of)
        for (unsigned quadrant = 0; quadrant < 4; ++quadrant) {
            std::vector<std::pair<double, std::size_t>> all;
            for (std::size_t i = 0; i < places.size(); ++i) {
                const double x = places[i][0] - places[of][0], y = places[i][1] - places[of][1];
                if (i != of && (x >= 0 ? 1u : 0u) + (y >= 0 ? 2u : 0u) == quadrant)
                    all.emplace_back(x * x + y * y, i);
            }
            std::ranges::sort(all);
            const auto found = tree.nearest_in(quadrant, of, 3);
            BOOST_REQUIRE(found.size() == std::min<std::size_t>(3, all.size()));
            for (std::size_t i = 0; i < found.size(); ++i)
                BOOST_REQUIRE(found[i] == all[i].second);
        }
}

BOOST_AUTO_TEST_CASE(candidates_join_clusters_of_more_cities_than_are_looked_at) {
    // Ten by ten holes each, the second block far to the right of the first.
    std::vector<point> points;
    for (int i = 0; i < 200; ++i)
        points.push_back({static_cast<double>(i % 10 * 10 + (i < 100 ? 0 : 3000)),
                          static_cast<double>(i / 10 % 10 * 10)});
    const instance blocks = instance::of_points("b", edge_weights::euclidean, points);
    const candidates near{blocks, 8};
    for (const city border : {99, 100, 150})
        BOOST_TEST(std::ranges::any_of(near.of(border),
                                       [&](city to) { return (to >= 100) != (border >= 100); }));
}

BOOST_AUTO_TEST_CASE(tours_to_begin_with_differ_by_what_is_drawn) {
    const instance of = random_cities(300, 19);
    const candidates near{of, 8};
    random_stream one{1}, again{1}, other{2};
    const auto first = first_tour(of, near, one);
    BOOST_TEST(is_tour(first, 300));
    BOOST_TEST((first == first_tour(of, near, again)));
    BOOST_TEST((first != first_tour(of, near, other)));
    BOOST_TEST(of.length_of(first) < of.length_of(nearest_neighbour_tour(of, near, 0)));
}

BOOST_AUTO_TEST_CASE(candidates_are_near_and_in_all_directions) {
    const instance of = random_cities(500, 5);
    const candidates near{of, 8};
    for (city c = 0; c < 500; ++c) {
        const auto all = near.of(c);
        BOOST_REQUIRE(std::ranges::find(all, c) == all.end());
        BOOST_REQUIRE(std::ranges::is_sorted(all, {}, [&](city to) { return of.length(c, to); }));
        const std::int64_t nearest = of.length(c, all.front());
        for (city other = 0; other < 500; ++other)
            BOOST_REQUIRE((other == c || of.length(c, other) >= nearest));
        BOOST_REQUIRE(near.place(c, all[3]) == 3u);
    }
    // Two clusters far apart: the nearest ones alone would not join them.
    std::vector<point> points;
    for (int i = 0; i < 20; ++i)
        points.push_back(
            {static_cast<double>(i % 5 + (i < 10 ? 0 : 1000)), static_cast<double>(i / 5 % 2)});
    const instance clusters = instance::of_points("c", edge_weights::euclidean, points);
    const candidates few{clusters, 8};
    const auto leads_over = [&](city c) {
        return std::ranges::any_of(few.of(c), [&](city to) { return (to < 10) != (c < 10); });
    };
    BOOST_TEST(leads_over(4));
    const instance streets = one_way_streets(30, 2);
    const candidates ways{streets, 5};
    for (city other = 0; other < 30; ++other)
        BOOST_TEST((other == 7 || streets.length(other, 7) >= streets.length(ways.into(7)[0], 7)));
}

BOOST_AUTO_TEST_CASE(alpha_nearness_keeps_the_edges_of_good_tours_in_fewer_candidates) {
    const instance of = random_cities(1000, 71);
    const auto good = [&] {
        const candidates near{of, 10};
        tour t{first_tour(of, near)};
        improved(of, near, search_kind::lin_kernighan, t);
        return order_of(t);
    }();
    const auto missing = [&](const candidates& near) {
        int count = 0;
        for (std::size_t i = 0; i < good.size(); ++i)
            count += near.place(good[i], good[(i + 1) % good.size()]) == near.count();
        return count;
    };
    const candidates by_length{of, 5}, by_alpha{of, 5, nearness::alpha};
    BOOST_TEST(2 * missing(by_alpha) < missing(by_length));
    for (city c = 0; c < 1000; ++c)
        BOOST_REQUIRE(
            std::ranges::is_sorted(by_alpha.of(c), {}, [&](city to) { return of.length(c, to); }));
    // Clusters that no candidates join, all on one spot, and hardly any cities.
    std::vector<point> points;
    for (int i = 0; i < 200; ++i)
        points.push_back({i < 100 ? i % 10 * 1.0 : 5000 + i % 10, i % 100 / 10 * 1.0});
    for (const auto& some : {points, std::vector<point>(50), std::vector<point>(3)}) {
        const instance odd = instance::of_points("odd", edge_weights::euclidean, some);
        const candidates near{odd, 7, nearness::alpha};
        for (city c = 0; static_cast<std::size_t>(c) < some.size(); ++c)
            for (const city to : near.of(c))
                BOOST_REQUIRE((to != c && near.place(c, to) < near.count()));
    }
}

BOOST_AUTO_TEST_CASE(two_tours_give_their_better_parts_to_one) {
    const instance of = random_cities(500, 73);
    const candidates near{of, 10};
    tour t{first_tour(of, near)};
    improved(of, near, search_kind::lin_kernighan, t);
    const auto good = order_of(t);
    const std::int64_t length = of.length_of(good);
    // Each is worse in a place of its own, and both in a third one.
    const auto worse = [&](std::size_t place) {
        tour changed{good};
        changed.reverse(place, 40);
        changed.reverse(300, 30);
        return order_of(changed);
    };
    auto first = worse(20);
    const auto second = worse(150);
    tour third{good};
    third.reverse(300, 30);
    const std::int64_t before = of.length_of(first);
    const std::int64_t gain = merge(of, first, second);
    BOOST_TEST(gain == before - of.length_of(first));
    BOOST_TEST(of.length_of(first) == of.length_of(third.order()));
    BOOST_TEST(is_tour(first, 500));
    BOOST_TEST(merge(of, first, good) > 0);
    BOOST_TEST(of.length_of(first) == length);
    BOOST_TEST(merge(of, first, second) == 0);
    // A double bridge has two parts, each of which alone makes two tours, whatever it gains.
    random_stream random{79};
    for (int i = 0; i < 50; ++i) {
        tour bridged{counted(500)};
        const std::size_t left = 1 + random.below(50), middle = 1 + random.below(50);
        bridged.exchange(100, left, middle + 30);
        bridged.exchange(100, middle, 30);
        auto a = counted(500);
        const std::int64_t had = of.length_of(a), other = of.length_of(bridged.order());
        const std::int64_t gained = merge(of, a, bridged.order());
        BOOST_TEST((gained == 0 || gained == had - other));
        BOOST_TEST(is_tour(a, 500));
    }
}

BOOST_AUTO_TEST_CASE(a_tour_to_begin_with_is_a_tour_of_few_long_edges) {
    for (const auto kind : {edge_weights::euclidean, edge_weights::att, edge_weights::geo,
                            edge_weights::maximum, edge_weights::manhattan}) {
        const instance of = random_cities(1000, 7, kind);
        const candidates near{of, 8};
        const auto first = first_tour(of, near);
        BOOST_TEST(is_tour(first, 1000));
        BOOST_TEST(of.length_of(first) < of.length_of(nearest_neighbour_tour(of, near, 0)));
    }
    // All on one spot, and in a line.
    for (const double step : {0.0, 50.0}) {
        std::vector<point> points;
        for (int i = 0; i < 100; ++i)
            points.push_back({0, i * step});
        const instance line = instance::of_points("line", edge_weights::euclidean, points);
        const auto first = first_tour(line, candidates{line, 6});
        BOOST_TEST(is_tour(first, 100));
        BOOST_TEST(line.length_of(first) == static_cast<std::int64_t>(2 * 99 * step));
    }
}

BOOST_AUTO_TEST_CASE(what_was_done_to_a_tour_is_taken_back) {
    random_stream random{11};
    for (int trial = 0; trial < 200; ++trial) {
        const std::size_t n = 3 + random.below(20);
        tour t{counted(n)};
        std::vector<city> kept = order_of(t);
        for (int i = 0; i < 20; ++i) {
            const std::size_t first = random.below(n);
            if (random.below(2) == 0)
                t.reverse_either_way(first, random.below(n + 1));
            else {
                const std::size_t left = 1 + random.below(n - 1);
                t.exchange(first, left, random.below(n - left + 1));
            }
            if (random.below(5) == 0) {
                t.keep();
                kept = order_of(t);
            }
            BOOST_REQUIRE(is_tour(t.order(), n));
        }
        t.undo();
        BOOST_REQUIRE(order_of(t) == kept);
    }
    tour t{counted(7)};
    t.exchange(5, 2, 3); // 5 6 | 0 1 2 become 0 1 2 | 5 6
    BOOST_TEST(order_of(t) == (std::vector<city>{2, 5, 6, 3, 4, 0, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_pending_path_is_the_path_that_reversals_make) {
    random_stream random{13};
    for (int trial = 0; trial < 500; ++trial) {
        const auto n = static_cast<pending_path::index>(4 + random.below(12));
        pending_path path{n};
        std::vector<city> real = counted(static_cast<std::size_t>(n));
        for (int step = 0; step < 6; ++step) {
            std::size_t a = random.below(real.size()), b = random.below(real.size());
            if (a > b)
                std::swap(a, b);
            path.reverse(real[a], real[b]);
            std::reverse(real.begin() + static_cast<std::ptrdiff_t>(a),
                         real.begin() + static_cast<std::ptrdiff_t>(b) + 1);
            BOOST_REQUIRE(path.end() == real.front());
            for (std::size_t i = 0; i < real.size(); ++i) {
                const std::size_t s = path.stretch_of(real[i]);
                if (!path.begins(s, real[i]))
                    BOOST_REQUIRE(path.before(s, real[i]) == real[i - 1]);
                if (!path.ends(s, real[i]))
                    BOOST_REQUIRE(path.after(s, real[i]) == real[i + 1]);
                for (std::size_t j = 0; j < real.size(); ++j)
                    BOOST_REQUIRE(path.is_up_to(s, real[i], path.stretch_of(real[j]), real[j]) ==
                                  (i <= j));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(deeper_searches_leave_shorter_tours) {
    const instance of = random_cities(2000, 17);
    const candidates near{of, 10};
    const auto first = first_tour(of, near);
    std::int64_t last = of.length_of(first);
    for (const auto kind : {search_kind::none, search_kind::two_opt, search_kind::three_opt,
                            search_kind::lin_kernighan}) {
        tour t{first};
        const std::int64_t length = improved(of, near, kind, t);
        BOOST_TEST((kind == search_kind::none ? length == last : length < last));
        last = length;
    }
    // The constant of random cities in a square is 0.7124 for many of them, and a little more for few.
    BOOST_TEST(static_cast<double>(last) < 1.04 * 0.7124 * std::sqrt(2000.0 * 1e8));
}

BOOST_AUTO_TEST_CASE(two_opt_leaves_no_better_exchange_of_two_edges) {
    const instance of = random_cities(60, 19);
    const candidates near{of, 32};
    tour t{counted(60)};
    improved(of, near, search_kind::two_opt, t);
    int better = 0;
    for (std::size_t i = 0; i < 60; ++i)
        for (const city c : near.of(t.at(i)).first(10)) {
            const city a = t.at(i), b = t.next(a), d = t.next(c);
            better += of.length(a, c) + of.length(b, d) < of.length(a, b) + of.length(c, d);
        }
    BOOST_TEST(better == 0);
}

BOOST_AUTO_TEST_CASE(few_cities_and_one_way_streets_are_searched_too) {
    for (std::size_t cities = 3; cities < 12; ++cities)
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const instance plane = random_cities(cities, seed),
                           streets = one_way_streets(cities, seed);
            for (const instance* of : {&plane, &streets}) {
                tour t{counted(cities)};
                improved(*of, candidates{*of, 8}, search_kind::lin_kernighan, t);
            }
        }
    const instance streets = one_way_streets(200, 23);
    const candidates near{streets, 12};
    tour t{first_tour(streets, near)};
    const std::int64_t first = streets.length_of(t.order());
    BOOST_TEST(improved(streets, near, search_kind::three_opt, t) < first * 0.9);
}

BOOST_AUTO_TEST_SUITE_END()
