// What a shard makes of pushes and reads in whatever order they come: workers of random speed on virtual time.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "tests/support/seeds.hpp"
#include "tests/unit/actors_params/played_epoch.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(shard_ledgers)

BOOST_TEST_DECORATOR(*seeded)
BOOST_DATA_TEST_CASE(softsync_is_as_stale_as_it_is_split_and_never_twice_as_much,
                     bdata::make({1u, 2u, 4u, 8u, 16u}), splits) {
    constexpr std::size_t workers = 16;
    double sum = 0, count = 0;
    for (const std::uint64_t seed : seed_range{200}) {
        played_epoch epoch{{.splits = splits}, {workers, 30, 0.2}, seed};
        epoch.play();
        BOOST_TEST(epoch.shard.applied() == workers * 30);
        for (std::size_t u = 0; u < epoch.shard.updates.size(); ++u) {
            BOOST_TEST(epoch.shard.updates[u].pushes.size() == workers / splits);
            for (const arrived_push& p : epoch.shard.updates[u].pushes) {
                const std::uint64_t late = epoch.shard.updates[u].version - p.version;
                BOOST_TEST(late <= 2 * splits);
                const std::uint64_t clock = epoch.workers.clocks.at(p.number);
                if (clock < 3 || clock >= 24)
                    continue; // at first all have the same weights, at last some have ended
                sum += static_cast<double>(late);
                ++count;
            }
        }
    }
    BOOST_TEST(std::abs(sum / count - splits) < 0.1 * splits);
}

BOOST_AUTO_TEST_CASE(backup_workers_apply_as_many_as_they_wait_for_of_the_newest_version_alone,
                     *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        random_stream random{seed};
        const std::size_t workers = 2 + random.below(5);
        const auto backups = static_cast<std::uint32_t>(random.below(workers));
        played_epoch epoch{{.backups = backups}, {workers, 10, 0.9}, seed};
        epoch.play();
        std::uint64_t ended = 0; // updates that had to do with fewer, as workers had ended
        for (std::size_t u = 0; u < epoch.shard.updates.size(); ++u) {
            const auto& pushes = epoch.shard.updates[u].pushes;
            ended += pushes.size() < workers - backups ? 1 : 0;
            BOOST_TEST(pushes.size() <= workers - backups);
            BOOST_TEST(epoch.shard.updates[u].version == u);
            for (const arrived_push& p : pushes)
                BOOST_TEST(p.version == u);
        }
        BOOST_TEST(epoch.shard.ledger.dropped() == epoch.workers.pushed() - epoch.shard.applied());
        if (backups == 0) {
            BOOST_TEST(epoch.shard.ledger.dropped() == 0u);
            BOOST_TEST(ended == 0u);
        }
    }
}

// What is recomputed here from all that ever was applied and read is what the ledger keeps in sums.
BOOST_AUTO_TEST_CASE(nobody_goes_on_while_others_have_not_seen_too_much_of_it, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        random_stream random{seed};
        const std::size_t workers = 1 + random.below(6);
        const float bound = static_cast<float>(random.below(4));
        played_epoch epoch{{.bound = bound}, {workers, 12, 0.9}, seed};
        std::vector<double> changes; // of the updates made
        std::uint64_t waits = 0;
        epoch.change = [&] { return changes.emplace_back(random.uniform()); };
        const auto most = [&](std::size_t reader) {
            return double{bound} /
                   std::sqrt(static_cast<double>(epoch.shard.ledger.pushes(reader)));
        };
        const auto unseen = [&](std::size_t reader, std::size_t other) {
            double sum = 0;
            for (std::uint64_t v = epoch.workers.read_version[other]; v < changes.size(); ++v)
                if (epoch.shard.updates[v].pushes[0].worker == reader)
                    sum += changes[v];
            return sum;
        };
        epoch.on_read = [&](std::size_t reader) {
            for (std::size_t other = 0; other < workers; ++other) {
                const bool reads = std::ranges::count(epoch.workers.asking, other) > 0;
                if (other == reader || reads || epoch.shard.ledger.clocks().is_done(other))
                    continue;
                if (epoch.shard.ledger.pushes(reader) > 0)
                    BOOST_TEST(unseen(reader, other) <= most(reader) + 1e-9);
            }
            waits += epoch.workers.asking.size();
        };
        epoch.on_wait = [&](std::size_t reader, std::size_t other) { // as little as it must
            if (other != reader)
                BOOST_TEST(unseen(reader, other) > most(reader) - 1e-9);
        };
        epoch.play();
        BOOST_TEST(epoch.shard.applied() == workers * 12);
        if (bound == 0 && workers > 2)
            BOOST_TEST(waits > 0u);
    }
}

BOOST_AUTO_TEST_CASE(bounded_staleness_counts_every_push_once_and_sums_of_bsp_are_in_order,
                     *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        random_stream random{seed};
        const std::size_t workers = 1 + random.below(6);
        const auto staleness = static_cast<std::uint32_t>(random.below(4));
        played_epoch epoch{{.staleness = staleness}, {workers, 10, 0.9}, seed};
        epoch.on_read = [&](std::size_t reader) {
            for (std::size_t other = 0; other < workers; ++other)
                if (!epoch.shard.ledger.clocks().is_done(other))
                    BOOST_TEST(epoch.shard.ledger.clocks().of(other) + staleness >=
                               epoch.shard.ledger.pushes(reader));
            BOOST_TEST(epoch.shard.ledger.unapplied(reader) == 0u);
        };
        epoch.play();
        BOOST_TEST(epoch.shard.applied() == workers * 10);
        for (const made_update& u : epoch.shard.updates) {
            BOOST_TEST(u.pushes.size() == (staleness == 0 ? workers : 1u));
            BOOST_TEST(std::ranges::is_sorted(u.pushes, {}, &arrived_push::worker));
            if (staleness == 0)
                for (const arrived_push& p : u.pushes)
                    BOOST_TEST(p.version == u.version);
        }
    }
}

// A worker that takes a tenth of the time of the others is ahead of them by as much as each rule lets it be.
BOOST_AUTO_TEST_CASE(with_bounded_staleness_a_fast_worker_gets_that_far_ahead_and_no_farther,
                     *seeded) {
    for (const std::uint32_t staleness : {1u, 5u, 20u})
        for (const std::uint64_t seed : seed_range{100}) {
            played_epoch epoch{{.staleness = staleness}, {3, 2 * staleness + 10, 0.9}, seed};
            epoch.workers.pace = {10, 1, 10};
            std::uint64_t ahead = 0;
            epoch.on_read = [&](std::size_t reader) {
                const worker_clocks& clocks = epoch.shard.ledger.clocks();
                if (const auto slowest = clocks.slowest(); slowest && reader == 1)
                    ahead = std::max(ahead, clocks.of(reader) - clocks.of(*slowest));
            };
            epoch.play();
            BOOST_TEST(ahead == staleness);
        }
}

BOOST_AUTO_TEST_CASE(without_a_bound_a_fast_worker_ends_before_the_others_have_begun, *seeded) {
    for (const consistency& rule : {consistency{}, consistency{.splits = 3}})
        for (const std::uint64_t seed : seed_range{100}) {
            played_epoch epoch{rule, {3, 10, 0.9}, seed};
            epoch.workers.pace = {1000, 1, 1000};
            epoch.on_wait = [&](std::size_t worker, std::size_t whom) {
                BOOST_TEST(!rule.splits);
                BOOST_TEST(worker == whom); // for its own push
            };
            std::uint64_t of_others = 0;
            epoch.on_read = [&](std::size_t worker) {
                if (worker == 1 && epoch.shard.ledger.pushes(1) == 10)
                    of_others = epoch.shard.ledger.pushes(0) + epoch.shard.ledger.pushes(2);
            };
            epoch.play();
            BOOST_TEST(of_others == 0u);
        }
}

BOOST_AUTO_TEST_CASE(who_is_lost_holds_nobody_up_and_what_it_pushed_counts) {
    for (const consistency& rule :
         {consistency{.staleness = 1}, consistency{.bound = 0.f}, consistency{.splits = 1},
          consistency{.backups = 1}, consistency{}}) {
        shard_ledger ledger{rule, 3};
        ledger.begin_epoch();
        for (std::size_t w = 0; w < 3; ++w)
            ledger.read(w);
        std::uint64_t number = 0;
        const auto push = [&](std::size_t worker) {
            ledger.push({++number, worker, ledger.version()});
            ledger.asks(worker);
            while (ledger.next())
                ledger.applied(1);
        };
        push(0);
        push(2);
        ledger.lose(2);
        while (ledger.next())
            ledger.applied(1);
        ledger.read(0);
        push(0);
        push(1);
        BOOST_TEST(!ledger.waits_for(0).has_value());
        BOOST_TEST(!ledger.waits_for(1).has_value());
        ledger.finish(0);
        ledger.finish(1);
        while (ledger.next())
            ledger.applied(1);
        BOOST_TEST(ledger.epoch_is_over());
        BOOST_TEST(ledger.pushes(2) == 1u);
        ledger.begin_epoch();
        BOOST_TEST(ledger.clocks().active() == 2u);
    }
}

BOOST_AUTO_TEST_CASE(who_waits_for_an_update_of_several_is_told_one_that_is_to_push_before_it,
                     *seeded) {
    const seed_range seeds{1000};
    std::uint64_t named = 0;
    for (const std::uint64_t seed : seeds) {
        random_stream random{seed};
        const std::size_t workers = 2 + random.below(5);
        const consistency rule =
            seed % 2 ? consistency{.staleness = 0}
                     : consistency{.backups = static_cast<std::uint32_t>(random.below(workers))};
        played_epoch epoch{rule, {workers, 10, 0.9}, seed};
        epoch.on_wait = [&](std::size_t worker, std::size_t whom) {
            const shard_ledger& ledger = epoch.shard.ledger;
            const bool is_due = shard_ledger{ledger}.next().has_value();
            BOOST_TEST((whom == worker) == is_due);
            if (is_due)
                return;
            BOOST_TEST(!ledger.clocks().is_done(whom));
            BOOST_TEST(ledger.unapplied(whom) == 0u);
            for (std::size_t w = 0; w < workers; ++w)
                if (!ledger.clocks().is_done(w) && ledger.unapplied(w) == 0)
                    BOOST_TEST(ledger.clocks().of(w) <= ledger.clocks().of(whom));
            ++named;
        };
        epoch.play();
    }
    if (!seeds.are_few())
        BOOST_TEST(named > seeds.size());
}

BOOST_AUTO_TEST_CASE(
    who_has_ended_or_is_lost_is_not_waited_for_and_an_update_under_way_by_its_own) {
    shard_ledger ledger{{.staleness = 0}, 4};
    ledger.begin_epoch();
    ledger.push({1, 0, 0});
    BOOST_TEST(ledger.waits_for(0).value() == 1u);
    ledger.finish(1);
    BOOST_TEST(ledger.waits_for(0).value() == 2u);
    ledger.lose(2);
    BOOST_TEST(ledger.waits_for(0).value() == 3u);
    ledger.push({2, 3, 0});
    BOOST_TEST(ledger.waits_for(0).value() == 0u);
    BOOST_TEST(ledger.waits_for(3).value() == 3u);
    BOOST_REQUIRE(ledger.next().has_value());
    BOOST_TEST(ledger.waits_for(0).value() == 0u);
    ledger.applied();
    BOOST_TEST(!ledger.waits_for(0).has_value());
}

BOOST_AUTO_TEST_CASE(each_rule_says_of_how_many_gradients_an_update_is) {
    BOOST_TEST(consistency{}.gradients_per_update(4) == 1u);
    BOOST_TEST(consistency{.staleness = 0}.gradients_per_update(4) == 4u);
    BOOST_TEST(consistency{.staleness = 2}.gradients_per_update(4) == 1u);
    BOOST_TEST(consistency{.splits = 3}.gradients_per_update(10) == 3u);
    BOOST_TEST(consistency{.splits = 4}.gradients_per_update(4) == 1u);
    BOOST_TEST(consistency{.backups = 1}.gradients_per_update(4) == 3u);
    const consistency softsync{.splits = 2};
    BOOST_TEST(softsync.share(0, 2) == 0.5f); // counts as one late
    BOOST_TEST(softsync.share(1, 2) == 0.5f);
    BOOST_TEST(softsync.share(4, 2) == 0.125f);
    BOOST_TEST(consistency{.backups = 1}.share(0, 4) == 0.25f);
    BOOST_TEST(consistency{}.share(7, 1) == 1.f);
}

BOOST_AUTO_TEST_SUITE_END()
