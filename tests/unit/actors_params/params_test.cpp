// Consistency rules, by enumeration.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "actors/params/consistency.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(parameters)

// Every worker, in random order, reads and pushes as soon as its rule lets it.
BOOST_AUTO_TEST_CASE(nobody_reads_what_the_bound_forbids_and_somebody_can_always_go_on, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        random_stream random{seed};
        const std::size_t workers = 1 + random.below(6);
        const std::uint32_t staleness = static_cast<std::uint32_t>(random.below(4));
        const consistency rule{.staleness = staleness};
        worker_clocks clocks{workers};
        std::vector<std::uint64_t> share(workers);
        for (auto& s : share)
            s = random.below(30);
        while (!clocks.all_done()) {
            std::vector<std::size_t> free;
            for (std::size_t w = 0; w < workers; ++w)
                if (!clocks.is_done(w) && !waits_for(rule, clocks, clocks.of(w)))
                    free.push_back(w);
            BOOST_TEST_REQUIRE(!free.empty());
            const std::size_t w = free[random.below(free.size())];
            for (std::size_t other = 0; other < workers; ++other)
                if (!clocks.is_done(other))
                    BOOST_TEST(clocks.of(other) + staleness >= clocks.of(w));
            if (clocks.of(w) == share[w])
                clocks.finish(w);
            else
                clocks.tick(w);
        }
        for (std::size_t w = 0; w < workers; ++w)
            BOOST_TEST(clocks.of(w) == share[w]);
    }
}

BOOST_AUTO_TEST_CASE(who_waits_is_told_for_whom) {
    worker_clocks clocks{3};
    clocks.tick(0);
    clocks.tick(0);
    clocks.tick(2);
    const consistency rule{.staleness = 1};
    BOOST_TEST(*waits_for(rule, clocks, 2) == 1u);
    BOOST_TEST(!waits_for(rule, clocks, 1).has_value());
    BOOST_TEST(!waits_for(consistency{}, clocks, 2).has_value()); // asynchronous
    clocks.finish(1);
    BOOST_TEST(!waits_for(rule, clocks, 2).has_value()); // who is done holds nobody up
    BOOST_TEST(consistency{.staleness = 0}.is_synchronous());
    BOOST_TEST(!consistency{}.is_synchronous());
}

BOOST_AUTO_TEST_SUITE_END()
