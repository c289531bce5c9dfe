// Tours that take over from each other what shortens them.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

#include "apps/tsp/candidates.hpp"
#include "apps/tsp/improver.hpp"
#include "apps/tsp/tour.hpp"
#include "apps/tsp/tour_pool.hpp"
#include "tests/unit/apps_tsp/problems.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace troupe::tsp;

namespace {

// From a random tour, so that those of different seeds differ in many places.
std::vector<city> searched_tour(const instance& of, const candidates& near, search_kind kind,
                                std::uint64_t seed) {
    std::vector<city> order(of.cities());
    std::iota(order.begin(), order.end(), 0);
    random_stream random{seed};
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i))]);
    tour t{order};
    const auto search = make_improver(of, near, kind);
    for (const city c : order)
        search->look_at(c);
    search->improve(t);
    return {t.order().begin(), t.order().end()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(crossings_of_tsp)

BOOST_AUTO_TEST_CASE(a_tour_takes_over_what_shortens_it) {
    for (const std::size_t cities : {8u, 9u, 40u, 400u}) {
        const instance of = random_cities(cities, cities);
        const candidates near{of, 7};
        tour_crossing crossing{of, near};
        random_stream random{7};
        std::int64_t all = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            auto mine = searched_tour(of, near, search_kind::two_opt, seed);
            const auto other = searched_tour(of, near, search_kind::two_opt, seed + 100);
            for (const std::size_t most : {1u, 3u, 1000u}) {
                const std::int64_t before = of.length_of(mine);
                const std::int64_t gain = crossing.shorten(mine, other, most, random);
                BOOST_REQUIRE(is_tour(mine, cities));
                BOOST_TEST(gain == before - of.length_of(mine));
                BOOST_TEST(gain >= 0);
                all += gain;
            }
        }
        BOOST_TEST((all > 0 || cities < 40));
    }
}

BOOST_AUTO_TEST_CASE(the_same_tour_has_nothing_to_give) {
    const instance of = random_cities(100, 3);
    const candidates near{of, 7};
    tour_crossing crossing{of, near};
    random_stream random{7};
    const auto tour = searched_tour(of, near, search_kind::two_opt, 1);
    auto same = tour;
    std::ranges::rotate(same, same.begin() + 30);
    std::ranges::reverse(same);
    const auto mine = same;
    BOOST_TEST(crossing.shorten(same, tour, 100, random) == 0);
    BOOST_TEST(same == mine, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(closed_ways_are_joined_again) {
    // A double bridge falls into two cycles, either of which leaves two closed ways.
    const instance of = random_cities(500, 11);
    const candidates near{of, 7};
    tour_crossing crossing{of, near};
    const auto good = searched_tour(of, near, search_kind::lin_kernighan, 5);
    const std::int64_t length = of.length_of(good);
    random_stream random{13};
    int restored = 0;
    for (int trial = 0; trial < 100; ++trial) {
        tour bridged{good};
        const std::size_t first = random.below(500), left = 2 + random.below(40),
                          middle = 2 + random.below(40), right = 2 + random.below(40);
        bridged.exchange(first, left, middle + right);
        bridged.exchange(first, middle, right);
        std::vector<city> mine{bridged.order().begin(), bridged.order().end()};
        crossing.shorten(mine, good, 100, random);
        BOOST_REQUIRE(is_tour(mine, 500));
        restored += of.length_of(mine) <= length;
    }
    BOOST_TEST(restored > 80);
}

BOOST_AUTO_TEST_CASE(tours_of_a_pool_give_a_better_one) {
    const instance of = random_cities(300, 17);
    const candidates near{of, 7};
    tour_pool pool{of, near};
    std::vector<city> best;
    std::int64_t shortest = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto tour = searched_tour(of, near, search_kind::three_opt, seed);
        pool.add(tour);
        if (best.empty() || of.length_of(tour) < shortest) {
            best = tour;
            shortest = of.length_of(tour);
        }
    }
    const std::vector<city> held{pool.tours().begin(), pool.tours().end()};
    auto again = best;
    random_stream random{19}, same{19};
    const std::int64_t gain = pool.breed(best, random);
    BOOST_TEST(is_tour(best, 300));
    BOOST_TEST(gain == shortest - of.length_of(best));
    BOOST_TEST(static_cast<double>(gain) > 0.005 * static_cast<double>(shortest));
    tour_pool other{of, near};
    other.set(held);
    BOOST_TEST(other.breed(again, same) == gain);
    BOOST_TEST(again == best, boost::test_tools::per_element());
    BOOST_TEST(std::vector<city>(pool.tours().begin(), pool.tours().end()) == held,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_oldest_tour_of_a_pool_goes_first) {
    const instance of = random_cities(30, 23);
    const candidates near{of, 7};
    tour_pool pool{of, near};
    const std::size_t most = tour_pool::tours_max(30);
    for (std::uint64_t seed = 0; seed <= most; ++seed)
        pool.add(searched_tour(of, near, search_kind::none, seed));
    const auto held = pool.tours();
    BOOST_REQUIRE(held.size() == 30 * most);
    const auto second = searched_tour(of, near, search_kind::none, 1),
               last = searched_tour(of, near, search_kind::none, most);
    BOOST_TEST(std::ranges::equal(held.first(30), second));
    BOOST_TEST(std::ranges::equal(held.last(30), last));
}

BOOST_AUTO_TEST_SUITE_END()
