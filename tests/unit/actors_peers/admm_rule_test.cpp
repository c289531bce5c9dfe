// Who waits for whom before the consensus changes, in every order in which reports may come.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

#include "actors/peers/admm_rule.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// Consensus ADMM on f_i(x) = a_i / 2 (x - b_i)^2, whose minima are known; replicas report in random order.
struct quadratic {
    double a, b;
    double dual = 0, own = 0, sum = 0;
    bool waits = false;

    void minimise(double common, double penalty) {
        own = (a * b - dual + penalty * common) / (a + penalty);
        sum = own + dual / penalty;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(admm_rules)

BOOST_AUTO_TEST_CASE(enough_report_nobody_is_late_and_somebody_can_always_go_on, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        random_stream random{seed};
        const std::size_t replicas = 2 + random.below(6);
        const admm_rule rule{.quorum = static_cast<std::uint32_t>(1 + random.below(replicas)),
                             .delay = static_cast<std::uint32_t>(1 + random.below(4))};
        admm_barrier barrier{rule, replicas};
        std::vector<std::size_t> left(replicas);
        std::vector<bool> waits(replicas), finished(replicas);
        for (auto& reports : left)
            reports = 1 + random.below(20);
        for (bool ended = false; !ended;) {
            std::vector<std::uint32_t> free;
            for (std::uint32_t r = 0; r < replicas; ++r)
                if (!waits[r])
                    free.push_back(r);
            BOOST_TEST_REQUIRE(!free.empty()); // else it hangs
            const std::uint32_t r = free[random.below(free.size())];
            const bool last = --left[r] == 0;
            BOOST_TEST_REQUIRE(barrier.report(r, last));
            waits[r] = true;
            finished[r] = last;
            while (barrier.may_step()) {
                ended = std::ranges::count(finished, true) == static_cast<std::ptrdiff_t>(replicas);
                const auto unfinished =
                    static_cast<std::size_t>(std::ranges::count(finished, false));
                const auto answered = barrier.step();
                BOOST_TEST_REQUIRE(
                    answered.size() >=
                    (ended ? replicas : std::min<std::size_t>(rule.quorum, unfinished)));
                for (const std::uint32_t a : answered) {
                    BOOST_TEST_REQUIRE(waits[a]);
                    waits[a] = false;
                    BOOST_TEST(barrier.age_of(a) == 0u);
                }
                for (std::uint32_t other = 0; other < replicas; ++other)
                    if (!finished[other])
                        BOOST_TEST_REQUIRE(barrier.age_of(other) <= rule.delay - 1);
            }
            for (std::uint32_t held = 0; held < replicas; ++held) {
                const auto whom = barrier.waits_for(held);
                BOOST_TEST_REQUIRE(whom.has_value() == waits[held]);
                for (std::uint32_t other = 0; whom && other < replicas; ++other)
                    if (!waits[other])
                        BOOST_TEST(barrier.age_of(other) <= barrier.age_of(*whom));
                if (whom)
                    BOOST_TEST(!waits[*whom]);
            }
        }
        for (const std::size_t reports : left)
            BOOST_TEST(reports == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_quorum_of_all_or_a_delay_of_one_waits_for_all) {
    for (const admm_rule rule : {admm_rule{.quorum = 3, .delay = 9}, {.quorum = 1, .delay = 1}}) {
        admm_barrier barrier{rule, 3};
        barrier.report(2, false);
        BOOST_TEST(!barrier.may_step());
        barrier.report(0, false);
        BOOST_TEST(!barrier.may_step());
        BOOST_TEST(!barrier.report(0, false));
        barrier.report(1, false);
        BOOST_TEST(barrier.may_step());
        BOOST_TEST(barrier.step() == (std::vector<std::uint32_t>{0, 1, 2}));
        barrier.report(0, false);
        barrier.lose(1);
        BOOST_TEST(!barrier.may_step());
        barrier.lose(2);
        BOOST_TEST(barrier.may_step());
        BOOST_TEST(!barrier.report(2, false));
    }
}

BOOST_AUTO_TEST_CASE(a_quick_replica_gets_as_many_changes_ahead_as_the_delay_allows) {
    for (const std::uint32_t delay : {1u, 2u, 5u, 20u}) {
        admm_barrier barrier{{.quorum = 1, .delay = delay}, 3};
        const std::vector<std::uint32_t> quick{1};
        for (std::uint32_t change = 1; change < delay; ++change) {
            barrier.report(1, false);
            BOOST_TEST_REQUIRE(barrier.may_step());
            BOOST_TEST(barrier.step() == quick);
            BOOST_TEST(barrier.age_of(0) == change);
        }
        barrier.report(1, false);
        BOOST_TEST(!barrier.may_step());
        barrier.report(0, false);
        BOOST_TEST(barrier.may_step() == false);
        barrier.report(2, false);
        BOOST_TEST(barrier.may_step());
    }
}

BOOST_AUTO_TEST_CASE(replicas_agree_on_the_minimum_of_the_sum, *seeded) {
    for (const std::uint64_t seed : seed_range{200}) {
        random_stream random{seed};
        const std::size_t replicas = 2 + random.below(5);
        const admm_rule rule{.quorum = static_cast<std::uint32_t>(1 + random.below(replicas)),
                             .delay = static_cast<std::uint32_t>(1 + random.below(4))};
        const double penalty = 2;
        admm_barrier barrier{rule, replicas};
        std::vector<quadratic> all;
        double weighted = 0, weights = 0;
        for (std::size_t r = 0; r < replicas; ++r) {
            all.push_back({0.5 + random.uniform(), 10 * random.uniform()});
            weighted += all.back().a * all.back().b;
            weights += all.back().a;
        }
        double common = 0;
        for (auto& q : all)
            q.minimise(common, penalty);
        for (int k = 0; k < 6000; ++k) {
            const auto r = static_cast<std::uint32_t>(random.below(replicas));
            if (all[r].waits)
                continue;
            all[r].waits = true;
            barrier.report(r, false);
            if (!barrier.may_step())
                continue;
            common = 0;
            for (const auto& q : all)
                common += q.sum / static_cast<double>(replicas);
            for (const std::uint32_t a : barrier.step()) {
                all[a].dual += penalty * (all[a].own - common);
                all[a].minimise(common, penalty);
                all[a].waits = false;
            }
        }
        BOOST_TEST(std::abs(common - weighted / weights) < 1e-6);
        for (const auto& q : all)
            BOOST_TEST(std::abs(q.own - common) < 1e-6); // the primal residual
    }
}

BOOST_AUTO_TEST_SUITE_END()
