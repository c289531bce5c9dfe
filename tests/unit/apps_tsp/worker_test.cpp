// A colony as a worker of a run: which tours of others it takes in, and what it refuses.
#include <boost/test/unit_test.hpp>

#include <array>

#include "actors/scheduled/payload.hpp"
#include "apps/tsp/city_pieces.hpp"
#include "apps/tsp/tsp_worker.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "tests/unit/apps_tsp/problems.hpp"

using namespace troupe;
using namespace troupe::tsp;

namespace {

constexpr std::size_t cities = 120;

// The second of three workers, with its data.
struct second_colony {
    memory_pool memory{1u << 24};
    instance of = test::random_cities(cities, 71);
    tsp_worker worker;

    explicit second_colony(exchange_kind exchange)
        : worker{
              {.memory = &memory,
               .settings = {.colony = {.kind = colony_kind::max_min, .search = search_kind::none},
                            .exchange = exchange},
               .seed = 1,
               .worker = 1,
               .workers = 3,
               .cities = cities,
               .tours_max = 1000}} {
        const auto source = pieces_of(of, 512);
        for (;;) {
            const auto piece = source->next(512, memory).value();
            if (!piece)
                break;
            BOOST_REQUIRE(worker.take_data(piece->tensors).ok());
        }
        BOOST_REQUIRE(worker.data_is_complete().ok());
    }

    // Better than what a colony begins with.
    std::vector<city> good_tour() {
        const candidates near{of, 10};
        const auto other = make_colony(of, near, {}, 9);
        BOOST_REQUIRE(other->advance(3000, *make_cpu_operations(memory)).ok());
        return {other->best().begin(), other->best().end()};
    }
    result<void> hear(std::int32_t from, std::int64_t length, const std::vector<city>& tour) {
        return worker.apply(
            {.number = 1,
             .changes = scheduled::payload_of(memory, std::array{from}, std::array{length}, tour)
                            .value()});
    }
    bool has(std::int64_t length) const {
        return worker.describe({}).ends_with("best " + std::to_string(length));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(colonies_as_workers)

BOOST_AUTO_TEST_CASE(a_colony_hears_of_the_one_before_it_in_the_ring) {
    for (const auto exchange : {exchange_kind::ring, exchange_kind::all, exchange_kind::none})
        for (const std::int32_t from : {0, 2}) {
            second_colony colony{exchange};
            const auto tour = colony.good_tour();
            const std::int64_t length = colony.of.length_of(tour);
            BOOST_TEST(!colony.has(length));
            BOOST_REQUIRE(colony.hear(from, length, tour).ok());
            const bool hears =
                exchange == exchange_kind::all || (exchange == exchange_kind::ring && from == 0);
            BOOST_TEST(colony.has(length) == hears);
        }
}

BOOST_AUTO_TEST_CASE(what_is_no_tour_is_refused_on_arrival) {
    second_colony colony{exchange_kind::ring};
    const auto tour = colony.good_tour();
    const std::int64_t length = colony.of.length_of(tour);
    BOOST_TEST(!colony.hear(0, length - 1, tour).ok());
    BOOST_TEST(!colony.hear(3, length, tour).ok());
    BOOST_TEST(!colony.hear(-1, length, tour).ok());
    auto twice = tour;
    twice[0] = twice[1]; // and so it is shorter
    BOOST_TEST(!colony.hear(0, colony.of.length_of(twice), twice).ok());
    BOOST_TEST(!colony.hear(0, length, {tour.begin(), tour.end() - 1}).ok());
    BOOST_TEST(!colony.has(length));
    BOOST_TEST(colony.hear(0, length, tour).ok());
}

BOOST_AUTO_TEST_SUITE_END()
