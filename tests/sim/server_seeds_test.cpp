// A parameter server's invariants, each over a thousand networks that delay, drop, duplicate and reorder.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "tests/sim/scripted_workers.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

bool has(const std::vector<float>& values, std::size_t element) {
    return values[element] != 0;
}

// Everything that was pushed is in, once, with this weight; nothing else is.
void check_sum(const played_server& run, float weight) {
    const std::size_t workers = run.logs.size();
    for (const worker_log& log : run.logs)
        for (const std::vector<float>& shard : log.last) {
            BOOST_REQUIRE(!shard.empty());
            std::vector<float> expected(shard.size());
            for (std::uint32_t e = 0; e < epochs_of_workers; ++e)
                for (std::size_t w = 0; w < workers; ++w)
                    for (std::uint64_t c = 0; c < run.logs[w].pushes[e]; ++c)
                        expected[element_of(workers, e, w, c)] = -weight;
            BOOST_TEST((shard == expected));
        }
}

// A read has all of the epochs before, all of its own that it must have, and of others all up to clock - lag.
void check_reads(const played_server& run, std::uint64_t lag) {
    const std::size_t workers = run.logs.size();
    for (std::size_t reader = 0; reader < workers; ++reader)
        for (const seen_weights& seen : run.logs[reader].reads)
            for (std::size_t w = 0; w < workers; ++w)
                for (std::uint32_t e = 0; e <= seen.epoch; ++e)
                    for (std::uint64_t c = 0; c < run.logs[w].pushes[e]; ++c) {
                        const bool is_due = e < seen.epoch || (w == reader && c < seen.pushes) ||
                                            c + lag < seen.pushes;
                        for (const std::vector<float>& shard : seen.values)
                            if (is_due)
                                BOOST_TEST(has(shard, element_of(workers, e, w, c)));
                    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(parameter_servers_over_many_seeds)

BOOST_AUTO_TEST_CASE(bounded_staleness_reads_nothing_too_old_its_own_writes_and_sums_all_once) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto staleness = static_cast<std::uint32_t>(seed % 3);
        const played_server run{
            {.staleness = staleness}, seed, wild, random_shares(seed, staleness == 0)};
        BOOST_TEST_CONTEXT("seed " << seed) {
            BOOST_REQUIRE(run.ended);
            check_sum(run, 1);
            check_reads(run, staleness);
            if (staleness > 0)
                continue;
            for (const worker_log& log : run.logs) // all read the same
                for (std::size_t r = 0; r < log.reads.size(); ++r) {
                    BOOST_TEST((log.reads[r].values == run.logs[0].reads[r].values));
                    BOOST_TEST(log.reads[r].staleness == 0u);
                }
        }
    }
}

BOOST_AUTO_TEST_CASE(asynchronous_and_value_bounded_sum_all_once_and_read_their_own_writes) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const consistency rule =
            seed % 2 ? consistency{} : consistency{.bound = static_cast<float>(seed % 8) / 2};
        const played_server run{rule, seed, wild, random_shares(seed, false)};
        BOOST_TEST_CONTEXT("seed " << seed) {
            BOOST_REQUIRE(run.ended);
            check_sum(run, 1);
            check_reads(run, pushes_max);
        }
    }
}

BOOST_AUTO_TEST_CASE(softsync_applies_all_once_in_updates_of_as_many_as_it_says) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto shares = random_shares(seed, false);
        const std::size_t workers = shares.size();
        const consistency rule{.splits = 1 + static_cast<std::uint32_t>(seed % workers)};
        const played_server run{rule, seed, wild, shares};
        BOOST_TEST_CONTEXT("seed " << seed) {
            BOOST_REQUIRE(run.ended);
            const std::size_t gradients = rule.gradients_per_update(workers);
            std::uint64_t updates = 0;
            for (std::uint32_t e = 0; e < epochs_of_workers; ++e) {
                std::uint64_t pushes = 0;
                for (const worker_log& log : run.logs)
                    pushes += log.pushes[e];
                updates += (pushes + gradients - 1) / gradients;
            }
            for (const worker_log& log : run.logs) {
                BOOST_TEST(log.last_version == updates);
                for (const std::vector<float>& shard : log.last)
                    for (std::uint32_t e = 0; e < epochs_of_workers; ++e)
                        for (std::size_t w = 0; w < workers; ++w)
                            for (std::uint64_t c = 0; c < pushes_max; ++c) {
                                // 1 / (gradients * staleness), of the last update perhaps fewer gradients
                                const float x = -shard[element_of(workers, e, w, c)];
                                BOOST_TEST((x > 0) == (c < run.logs[w].pushes[e]));
                                BOOST_TEST(x <= 1);
                                if (x > 0)
                                    BOOST_TEST(std::abs(1 / x - std::round(1 / x)) < 1e-3f);
                            }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(backup_workers_drop_whatever_is_not_among_the_first_of_its_step) {
    constexpr std::uint64_t steps = 3; // of an epoch
    std::uint64_t dropped = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const std::vector<std::vector<std::uint64_t>> shares(2 + seed % 3);
        const auto backups = static_cast<std::uint32_t>(seed / 3 % shares.size());
        const std::size_t gradients = shares.size() - backups;
        const played_server run{
            {.backups = backups}, seed, wild, shares, {.versions_of_epoch = steps}};
        BOOST_TEST_CONTEXT("seed " << seed) {
            BOOST_REQUIRE(run.ended);
            std::uint64_t pushes = 0, lost = 0;
            for (const worker_log& log : run.logs) {
                pushes += log.pushes[0] + log.pushes[1];
                lost += log.dropped;
            }
            const std::vector<float>& shard = run.logs[0].last[0];
            const auto applied = static_cast<std::uint64_t>(
                std::ranges::count(shard, -1 / static_cast<float>(gradients)));
            BOOST_TEST(run.logs[0].last_version == epochs_of_workers * steps);
            BOOST_TEST(applied == gradients * epochs_of_workers * steps);
            BOOST_TEST(std::ranges::count(shard, 0.f) ==
                       static_cast<std::ptrdiff_t>(shard.size() - applied));
            BOOST_TEST(lost == pushes - applied);
            dropped += lost;
        }
    }
    BOOST_TEST(dropped > seeds / 2);
}

BOOST_AUTO_TEST_SUITE_END()
