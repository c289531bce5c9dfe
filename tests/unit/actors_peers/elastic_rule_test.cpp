// When replicas and a centre come to rest, and who is waited for.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "actors/peers/elastic_rule.hpp"

using namespace troupe;

namespace {

// How far replicas on a quadratic of curvature 1 with this learning rate are from its minimum in the end, where so many of
// them move the centre at once.
double distance_after(std::uint32_t replicas, double rate, double step, int updates) {
    std::vector<double> x(replicas, 1.0);
    double centre = -1;
    for (int k = 0; k < updates; ++k) {
        double pulls = 0;
        for (double& own : x) {
            const double pull = rate * (own - centre);
            own = own - step * own - pull;
            pulls += pull;
        }
        centre += pulls;
    }
    return std::max(std::abs(x[0]), std::abs(centre));
}

} // namespace

BOOST_AUTO_TEST_SUITE(elastic_rules)

BOOST_AUTO_TEST_CASE(the_rate_is_shared_among_replicas_unless_it_is_given) {
    BOOST_TEST(elastic_rate(0, 4) == 0.225f);
    BOOST_TEST(elastic_rate(0.5f, 4) == 0.5f);
}

BOOST_AUTO_TEST_CASE(of_one_replica_the_bound_is_that_of_the_paper) {
    for (const double step : {0.0, 0.1, 1.0, 1.9})
        BOOST_TEST(std::abs(elastic_rate_max(1, step) - (4 - 2 * step) / (4 - step)) < 1e-12);
    BOOST_TEST(elastic_rate_max(4) == 0.4);
}

BOOST_AUTO_TEST_CASE(below_the_bound_replicas_come_to_rest_and_above_it_they_do_not) {
    for (const std::uint32_t replicas : {1u, 2u, 4u, 16u, 64u})
        for (const double step : {0.05, 0.5, 1.0, 1.5, 1.9}) {
            const double most = elastic_rate_max(replicas, step);
            BOOST_TEST(distance_after(replicas, 0.98 * most, step, 10000) < 1e-3);
            BOOST_TEST(distance_after(replicas, 1.02 * most, step, 10000) > 1e3);
            BOOST_TEST(static_cast<double>(elastic_rate(0, replicas)) < elastic_rate_max(replicas));
        }
}

// On step / 2 * x^2, whose gradient is step * x; all at once, or in turns.
BOOST_AUTO_TEST_CASE(with_momentum_the_step_is_bounded_by_less) {
    const auto distance = [](bool at_once, double rate, double nesterov, double step) {
        constexpr std::size_t replicas = 4;
        std::array<double, replicas> x{1, 0.9, 1.1, 0.8}, velocity{};
        double centre = 0.5;
        for (int update = 0; update < 4000; ++update) {
            const double before = centre;
            for (std::size_t r = 0; r < replicas; ++r) {
                const double pull = rate * (x[r] - (at_once ? before : centre));
                centre += pull;
                const double gradient = step * x[r];
                velocity[r] = nesterov * velocity[r] + gradient;
                x[r] -= gradient + nesterov * velocity[r] + pull;
            }
        }
        return std::abs(x[0]) + std::abs(centre);
    };
    for (const double nesterov : {0.0, 0.5, 0.9})
        for (const double rate : {0.1, 0.225, 0.3}) {
            const double all = elastic_step_max(4, rate, nesterov);
            BOOST_TEST(distance(true, rate, nesterov, 0.97 * all) < 1e-3);
            BOOST_TEST(!(distance(true, rate, nesterov, 1.03 * all) < 1e3));
            const double each = elastic_step_max(1, rate, nesterov);
            BOOST_TEST(distance(false, rate, nesterov, 0.97 * each) < 1e-3);
            BOOST_TEST(!(distance(false, rate, nesterov, 1.03 * each) < 1e3));
        }
    BOOST_TEST(std::abs(elastic_rate_max(4, elastic_step_max(4, 0.3)) - 0.3) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_round_is_complete_when_all_that_live_have_come) {
    elastic_round round{3};
    BOOST_TEST(!round.complete());
    BOOST_TEST(round.arrive(2));
    BOOST_TEST(!round.arrive(2));
    BOOST_TEST(round.arrive(0));
    BOOST_TEST(!round.complete());
    round.lose(1);
    BOOST_TEST(round.complete());
    BOOST_TEST(!round.arrive(1));
    BOOST_TEST(round.take() == (std::vector<std::uint32_t>{0, 2}));
    BOOST_TEST(!round.complete());
    round.arrive(0);
    round.lose(2);
    BOOST_TEST(round.complete());
    BOOST_TEST(round.take() == std::vector<std::uint32_t>{0});
}

BOOST_AUTO_TEST_SUITE_END()
