// Ants and their trails (kernels/ops/tours.hpp): that tours are tours whatever weights are, and that choices have their
// laws.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/base/random.hpp"
#include "tests/unit/kernels/backends.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Cities in a cube, with candidates at random: each city's are the next ones of a shuffled ring.
struct ant_world {
    memory_pool pool{1u << 28};
    std::size_t cities, candidates, ants;
    tensor places, near, nearness, trails, weights, tours;

    ant_world(std::size_t cities, std::size_t candidates, std::size_t ants)
        : cities{cities}, candidates{candidates}, ants{ants}, places{made(data_type::float64,
                                                                          {cities, 3})},
          near{made(data_type::int32, {cities, candidates})}, nearness{made(data_type::float64,
                                                                            {cities, candidates})},
          trails{made(data_type::float64, {cities, candidates})},
          weights{made(data_type::float64, {cities, candidates})}, tours{made(data_type::int32,
                                                                              {ants, cities})} {
        random_stream random{11};
        for (double& x : places.mutable_values<double>())
            x = static_cast<double>(random.below(7)); // many are as near as others
        for (std::size_t e = 0; e < cities * candidates; ++e) {
            near.mutable_values<std::int32_t>()[e] =
                static_cast<std::int32_t>((e / candidates + 1 + e % candidates * 5) % cities);
            nearness.mutable_values<double>()[e] = random.uniform();
            trails.mutable_values<double>()[e] = 1;
        }
        std::ranges::copy(nearness.values<double>(), weights.mutable_values<double>().begin());
    }

    tensor made(data_type type, tensor_shape shape) {
        return tensor::allocate(pool, type, shape).value();
    }
    trail_operands operands() { return {near, nearness, trails, weights}; }
    construct_tours construction(city_choice choice, std::uint64_t first_ant = 0) {
        return {.choice = choice,
                .seed = 7,
                .first_ant = first_ant,
                .on = operands(),
                .places = &places,
                .lengths = nullptr,
                .tours = tours};
    }
    std::span<const std::int32_t> tour(std::size_t ant) const {
        return tours.values<std::int32_t>().subspan(ant * cities, cities);
    }
    bool all_are_tours() const {
        for (std::size_t i = 0; i < ants; ++i) {
            std::vector<std::int32_t> order{tour(i).begin(), tour(i).end()};
            std::ranges::sort(order);
            for (std::size_t c = 0; c < cities; ++c)
                if (order[c] != static_cast<std::int32_t>(c))
                    return false;
        }
        return true;
    }
};

bool same_bits(const tensor& a, const tensor& b) {
    return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// How often ants go from city 0, where they begin, to each of three others of these weights.
std::array<double, 3> second_cities(operations& ops, city_choice choice,
                                    const std::array<double, 3>& weights) {
    ant_world world{4, 3, 40000};
    for (std::int32_t k = 0; k < 3; ++k) {
        world.near.mutable_values<std::int32_t>()[static_cast<std::size_t>(k)] = k + 1;
        world.weights.mutable_values<double>()[static_cast<std::size_t>(k)] =
            weights[static_cast<std::size_t>(k)];
    }
    BOOST_REQUIRE(ops.run(world.construction(choice)).ok());
    std::array<double, 3> counts{};
    for (std::size_t i = 0; i < world.ants; ++i)
        if (world.tour(i)[0] == 0)
            ++counts.at(static_cast<std::size_t>(world.tour(i)[1] - 1));
    return counts;
}

// Two degrees of freedom: above 13.8 once in 1000.
double chi_square(const std::array<double, 3>& counts, const std::array<double, 3>& law) {
    const double all = counts[0] + counts[1] + counts[2];
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i)
        sum += (counts[i] - all * law[i]) * (counts[i] - all * law[i]) / (all * law[i]);
    return sum;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tours_of_ants)

BOOST_AUTO_TEST_CASE(the_exact_choice_is_proportional_and_the_independent_one_is_not) {
    memory_pool pool{1u << 20};
    const std::array<double, 3> exact{1.0 / 7, 2.0 / 7, 4.0 / 7};
    // The integral over U of the probabilities that each other w V is below w U, for the weights 1, 2 and 4.
    const std::array<double, 3> independent{2.0 / 48, 11.0 / 48, 35.0 / 48};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        const auto exactly = second_cities(*ops, city_choice::exact, {1, 2, 4});
        BOOST_TEST(exactly[0] + exactly[1] + exactly[2] > 9000);
        BOOST_TEST(chi_square(exactly, exact) < 13.8);
        const auto by_itself = second_cities(*ops, city_choice::independent, {1, 2, 4});
        BOOST_TEST(chi_square(by_itself, independent) < 13.8);
        BOOST_TEST(chi_square(by_itself, exact) > 1000);
        // Equal weights are no bias.
        for (const auto choice : {city_choice::exact, city_choice::independent})
            BOOST_TEST(chi_square(second_cities(*ops, choice, {3, 3, 3}),
                                  {1.0 / 3, 1.0 / 3, 1.0 / 3}) < 13.8);
    }
}

BOOST_AUTO_TEST_CASE(every_tour_visits_each_city_once_whatever_the_weights_are) {
    memory_pool pool{1u << 20};
    for (const auto& backend : backends())
        for (const auto choice : {city_choice::exact, city_choice::independent})
            for (const double greed : {0.0, 0.5})
                for (const double strange : {1.0, 0.0, 1e-320, 1e308, infinity, std::nan("")}) {
                    const auto ops = backend.make(pool);
                    ant_world world{31, 6, 20};
                    random_stream random{3};
                    for (double& w : world.weights.mutable_values<double>())
                        w = random.below(2) == 0 ? strange : w;
                    auto op = world.construction(choice);
                    op.greed = greed;
                    BOOST_REQUIRE(ops->run(op).ok());
                    BOOST_TEST(world.all_are_tours());
                }
}

BOOST_AUTO_TEST_CASE(all_back_ends_build_the_same_tours) {
    memory_pool pool{1u << 22};
    const auto reference = make_reference_operations();
    for (const auto& backend : backends())
        for (const std::size_t cities : {3, 8, 9, 200, 403})
            for (const auto choice : {city_choice::exact, city_choice::independent}) {
                const std::size_t candidates = cities == 3 ? 2 : 7;
                ant_world expected{cities, candidates, 6}, given{cities, candidates, 6};
                BOOST_REQUIRE(reference->run(expected.construction(choice)).ok());
                BOOST_REQUIRE(backend.make(pool)->run(given.construction(choice)).ok());
                BOOST_TEST(same_bits(given.tours, expected.tours));
                BOOST_TEST(given.all_are_tours());
            }
}

BOOST_AUTO_TEST_CASE(an_ant_builds_its_tour_whoever_builds_others_beside_it) {
    memory_pool pool{1u << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        ant_world all{40, 5, 6}, one{40, 5, 1};
        BOOST_REQUIRE(ops->run(all.construction(city_choice::exact, 100)).ok());
        BOOST_REQUIRE(ops->run(one.construction(city_choice::exact, 104)).ok());
        BOOST_TEST(std::ranges::equal(one.tour(0), all.tour(4)));
    }
}

BOOST_AUTO_TEST_CASE(trails_follow_from_what_is_kept_and_what_is_laid) {
    memory_pool pool{1u << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        ant_world world{40, 5, 3};
        tensor amounts = world.made(data_type::float64, {3});
        std::ranges::copy(std::array{1.0, 2.0, 4.0}, amounts.mutable_values<double>().begin());
        BOOST_REQUIRE(ops->run(world.construction(city_choice::exact)).ok());
        const auto count_laid = [&](bool both_ways) {
            double sum = 0; // over tours, of the ways that are to candidates
            const auto near = world.near.values<std::int32_t>();
            const auto is_near = [&](std::int32_t from, std::int32_t to) {
                const auto row = near.subspan(5 * static_cast<std::size_t>(from), 5);
                return std::ranges::find(row, to) != row.end() ? 1 : 0;
            };
            for (std::size_t i = 0; i < 3; ++i)
                for (std::size_t j = 0; j < 40; ++j) {
                    const auto from = world.tour(i)[j], to = world.tour(i)[(j + 1) % 40];
                    sum += amounts.values<double>()[i] *
                           (is_near(from, to) + (both_ways ? is_near(to, from) : 0));
                }
            return sum;
        };
        for (const bool both_ways : {true, false}) {
            std::ranges::fill(world.trails.mutable_values<double>(), 1.0);
            auto on = world.operands();
            on.both_ways = both_ways;
            BOOST_REQUIRE(ops->run(update_trails{.kept = 0.75,
                                                 .low = 0,
                                                 .high = infinity,
                                                 .tours = world.tours,
                                                 .amounts = amounts,
                                                 .on = on})
                              .ok());
            const auto values = world.trails.values<double>();
            BOOST_TEST(std::accumulate(values.begin(), values.end(), 0.0) ==
                           0.75 * 200 + count_laid(both_ways),
                       boost::test_tools::tolerance(1e-12));
            for (std::size_t e = 0; e < 200; ++e)
                BOOST_REQUIRE(world.weights.values<double>()[e] ==
                              values[e] * world.nearness.values<double>()[e]);
        }
    }
}

BOOST_AUTO_TEST_CASE(operands_that_make_no_sense_are_refused) {
    memory_pool pool{1u << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        ant_world world{12, 4, 2};
        tensor amounts = world.made(data_type::float64, {2});
        tensor lengths = world.made(data_type::int32, {12, 11});
        const auto refused = [&](auto change, errc why) {
            auto op = world.construction(city_choice::exact);
            change(op);
            const auto done = ops->run(op);
            BOOST_REQUIRE(!done);
            BOOST_TEST((done.failure().code() == why));
        };
        refused([](construct_tours& op) { op.greed = 1.5; }, errc::usage);
        refused([](construct_tours& op) { op.greed = std::nan(""); }, errc::usage);
        refused([](construct_tours& op) { op.taken.share = -1; }, errc::usage);
        refused([](construct_tours& op) { op.places = nullptr; }, errc::usage);
        refused([](construct_tours& op) { op.on.power = -1; }, errc::usage);
        refused(
            [&](construct_tours& op) {
                op.places = nullptr;
                op.lengths = &lengths;
            },
            errc::usage);
        refused([&](construct_tours& op) { op.places = &world.nearness; }, errc::usage);

        std::ranges::fill(world.tours.mutable_values<std::int32_t>(), 0);
        const auto update = [&](double low) {
            return ops->run(update_trails{.low = low,
                                          .high = 1,
                                          .tours = world.tours,
                                          .amounts = amounts,
                                          .on = world.operands()});
        };
        BOOST_TEST(update(0.5).ok());
        BOOST_TEST(!update(1.5).ok());
        for (const std::int32_t wrong : {-1, 12}) {
            world.tours.mutable_values<std::int32_t>()[17] = wrong;
            BOOST_TEST(update(0.5).failure().message() == "the number at 17 of [2, 12] is " +
                                                              std::to_string(wrong) +
                                                              ", and cities are 0 to 11");
            world.tours.mutable_values<std::int32_t>()[17] = 0;
            world.near.mutable_values<std::int32_t>()[47] = wrong;
            BOOST_TEST((update(0.5).failure().code() == errc::data));
            refused([](construct_tours&) {}, errc::data);
            world.near.mutable_values<std::int32_t>()[47] = 0;
        }
    }
}

BOOST_AUTO_TEST_CASE(a_walk_without_memory_is_refused) {
    memory_pool none{64};
    ant_world world{1000, 4, 1};
    const auto done = make_cpu_operations(none)->run(world.construction(city_choice::exact));
    BOOST_REQUIRE(!done);
    BOOST_TEST((done.failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_SUITE_END()
