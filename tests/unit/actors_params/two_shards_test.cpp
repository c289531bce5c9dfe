// Workers that wait at two shards, whose ledgers know nothing of each other.
#include <boost/test/unit_test.hpp>

#include <deque>
#include <optional>
#include <vector>

#include "actors/params/shard_ledger.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(two_shards)

// Each sees what workers push in an order of its own, and a worker waits for the answers of both.
// Workers have different numbers of minibatches: some have ended while others are at work.
BOOST_AUTO_TEST_CASE(backup_workers_go_on_at_both_of_two_shards_until_all_have_ended, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        random_stream random{seed};
        const std::size_t workers = 2 + random.below(4);
        const auto backups = static_cast<std::uint32_t>(random.below(workers));
        struct worker {
            std::uint64_t left = 0; // minibatches
            // At each shard: the version of the weights that it has, what is on its way, whether it waits for an answer.
            std::uint64_t has[2] = {};
            std::deque<std::optional<std::uint64_t>>
                way[2]; // versions of pushes; none: it has ended
            bool waits[2] = {};
        };
        std::vector<worker> all(workers);
        shard_ledger shards[2] = {{{.backups = backups}, workers}, {{.backups = backups}, workers}};
        for (shard_ledger& s : shards)
            s.begin_epoch();
        for (worker& w : all)
            w.left = 4 + random.below(3);
        std::uint64_t number = 0;
        const auto is_over = [&] { return shards[0].epoch_is_over() && shards[1].epoch_is_over(); };
        for (int moves = 0; moves < 5000 && !is_over(); ++moves) {
            const std::size_t w = random.below(workers), s = random.below(2);
            worker& own = all[w];
            if (!own.way[s].empty()) { // arrives
                const auto version = own.way[s].front();
                own.way[s].pop_front();
                if (version)
                    shards[s].push({number++, w, *version});
                else
                    shards[s].finish(w);
            } else if (own.waits[s]) {
                if (!shards[s].waits_for(w)) {
                    shards[s].read(w);
                    own.has[s] = shards[s].version();
                    own.waits[s] = false;
                }
            } else if (!own.waits[1 - s] && own.way[1 - s].empty() &&
                       !shards[s].clocks().is_done(w)) {
                for (const std::size_t to : {0, 1}) {
                    own.way[to].push_back(own.left > 0 ? std::optional{own.has[to]} : std::nullopt);
                    own.waits[to] = own.left > 0;
                }
                own.left -= own.left > 0 ? 1 : 0;
            }
            if (shards[s].next())
                shards[s].applied();
        }
        BOOST_TEST(is_over(),
                   "seed " << seed << ", " << workers << " workers, " << backups << " backups");
    }
}

BOOST_AUTO_TEST_SUITE_END()
