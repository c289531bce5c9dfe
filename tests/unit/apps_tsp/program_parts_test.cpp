// The cities of a run as pieces, what a scheduler takes from colonies, and the settings.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "apps/tsp/city_pieces.hpp"
#include "apps/tsp/found_tours.hpp"
#include "apps/tsp/program_settings.hpp"
#include "apps/tsp/tsp_worker.hpp"
#include "tests/unit/apps_tsp/problems.hpp"

using namespace troupe;
using namespace troupe::tsp;

namespace {

memory_pool& memory() {
    static memory_pool pool{1u << 24};
    return pool;
}

std::vector<city> identity(std::size_t cities) {
    std::vector<city> tour(cities);
    std::iota(tour.begin(), tour.end(), 0);
    return tour;
}

bool is_same(const instance& a, const instance& b) {
    bool same = a.name() == b.name() && a.kind() == b.kind() && a.cities() == b.cities() &&
                std::ranges::equal(a.points(), b.points());
    for (city i = 0; same && static_cast<std::size_t>(i) < a.cities(); ++i)
        for (city j = 0; same && static_cast<std::size_t>(j) < a.cities(); ++j)
            same = a.length(i, j) == b.length(i, j);
    return same;
}

} // namespace

BOOST_AUTO_TEST_SUITE(parts_of_the_program_tsp)

BOOST_AUTO_TEST_CASE(cities_come_back_from_their_pieces) {
    for (const instance& of : {test::random_cities(40, 1), test::one_way_streets(20, 2),
                               test::random_cities(5, 3, edge_weights::att)})
        for (const std::uint64_t bytes : {1u, 200u, 1u << 20}) {
            const auto source = pieces_of(of, bytes);
            BOOST_TEST(source->shape().rows == of.cities());
            BOOST_TEST(source->shape().columns == 1u);
            for (int times = 0; times < 2; ++times) {
                BOOST_REQUIRE(source->rewind().ok());
                const auto back = read_cities(*source);
                BOOST_REQUIRE(back.ok());
                BOOST_TEST(is_same(*back, of));
            }
        }
}

BOOST_AUTO_TEST_CASE(other_cities_have_another_digest) {
    const auto digest = [](instance of) {
        return pieces_of(std::move(of), 100, "file")->digests().at(0).value;
    };
    BOOST_TEST(digest(test::random_cities(9, 1)) == digest(test::random_cities(9, 1)));
    BOOST_TEST(digest(test::random_cities(9, 1)) != digest(test::random_cities(9, 2)));
    BOOST_TEST(digest(test::random_cities(9, 1)) !=
               digest(test::random_cities(9, 1, edge_weights::att)));
    BOOST_TEST(digest(test::one_way_streets(9, 1)) != digest(test::one_way_streets(9, 2)));
}

BOOST_AUTO_TEST_CASE(pieces_that_are_none_are_refused) {
    const auto source = pieces_of(test::random_cities(10, 1), 100);
    const auto first = source->next(10, memory()).value()->tensors;
    const auto refused = [&](const scheduled::payload& p, std::uint64_t cities = 10) {
        city_builder builder{cities};
        const auto taken = builder.append(p);
        return !taken.ok() && taken.failure().code() == errc::protocol;
    };
    BOOST_TEST(!refused(first));
    BOOST_TEST(refused({}));
    BOOST_TEST(refused(first, 0));
    BOOST_TEST(refused(first, 3)); // more than there are
    for (const std::int32_t kind : {-1, 7, 4}) {
        auto changed = first;
        changed[0] = scheduled::numbers_of<std::int32_t>(memory(), std::array{kind}).value();
        BOOST_TEST(refused(changed));
    }
    for (const double x : {std::nan(""), 2e9, -2e9}) {
        auto changed = first;
        changed[1] = scheduled::numbers_of<double>(memory(), std::array{0.0, x}).value();
        BOOST_TEST(refused(changed));
    }
    city_builder builder{10};
    BOOST_REQUIRE(builder.append(first).ok());
    BOOST_TEST(!builder.finish().ok()); // cities are missing
}

BOOST_AUTO_TEST_CASE(a_scheduler_takes_tours_of_all_cities_alone) {
    found_tours found{2, 5};
    auto tour = identity(5);
    BOOST_TEST(!found.are_there());
    BOOST_TEST(!found.take(0, 7, 1, {}).ok()); // it has sent none yet
    BOOST_REQUIRE(found.take(0, 7, 1, tour).ok());
    BOOST_REQUIRE(found.take(0, 7, 2, {}).ok());
    BOOST_TEST(!found.take(0, 6, 3, {}).ok()); // another one, which is not there
    BOOST_TEST(!found.take(0, 7, 1, {}).ok()); // fewer tours than before
    BOOST_TEST(!found.take(0, -1, 3, tour).ok());
    tour[0] = 1;
    BOOST_TEST(!found.take(1, 6, 1, tour).ok());
    BOOST_TEST(!found.take(1, 6, 1, std::span{tour}.first(4)).ok());
    tour = {4, 3, 2, 1, 0};
    BOOST_REQUIRE(found.take(1, 6, 1, tour).ok());
    BOOST_TEST(found.are_there());
    BOOST_TEST(found.best() == 1u);
    BOOST_TEST(found.least_built() == 1);
    BOOST_TEST(found.changed() == (std::vector<std::int32_t>{0, 1}),
               boost::test_tools::per_element());
    found.handed_out();
    BOOST_TEST(found.best_given() == 6);
    BOOST_TEST(found.changed().empty());
    found_tours copy{2, 5};
    BOOST_REQUIRE(copy.load(found.tours(), found.lengths(), found.built(), found.given()).ok());
    BOOST_TEST(copy.best_length() == 6);
    std::vector<city> twice{found.tours().begin(), found.tours().end()};
    twice[0] = twice[1];
    BOOST_TEST(!copy.load(twice, found.lengths(), found.built(), found.given()).ok());
    found_tours other{3, 5};
    BOOST_TEST(!other.load(found.tours(), found.lengths(), found.built(), found.given()).ok());
}

BOOST_AUTO_TEST_CASE(each_colony_has_a_seed_of_its_own) {
    std::set<std::uint64_t> seeds;
    for (std::uint64_t run = 0; run < 8; ++run)
        for (std::uint32_t worker = 0; worker < 8; ++worker)
            seeds.insert(colony_seed(run, worker));
    BOOST_TEST(seeds.size() == 64u);
}

BOOST_AUTO_TEST_CASE(a_phase_is_sized_by_settings_and_cities) {
    scheduled::program_site site;
    site.data.rows = 1000;
    tsp_settings settings;
    const std::uint64_t focused = tours_of_phase(settings, site);
    site.data.rows = 100000;
    BOOST_TEST(tours_of_phase(settings, site) == focused);
    settings.colony.kind = colony_kind::max_min;
    BOOST_TEST(tours_of_phase(settings, site) == 1u);
    site.data.rows = 100;
    BOOST_TEST(tours_of_phase(settings, site) > 100u);
    site.schedule.set = 7;
    BOOST_TEST(tours_of_phase(settings, site) == 7u);
    BOOST_TEST(tours_between_exchanges(settings, site) % 7 == 0u);
    settings.exchange_every = 10;
    BOOST_TEST(tours_between_exchanges(settings, site) == 10u);
}

BOOST_AUTO_TEST_SUITE_END()
