// A parameter server's invariants, each over a thousand networks that delay, drop, duplicate and reorder.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <set>

#include "tests/sim/scripted_workers.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

bool has(const std::vector<float>& values, std::size_t element) {
    return values[element] != 0;
}

// Everything that was pushed is in, once, with this weight; nothing else is.
void check_sum(const played_server& run, float weight) {
    const std::size_t workers = run.logs.size();
    for (std::size_t first = 0; first < workers; first += run.options.members)
        for (const std::vector<float>& shard : run.logs[first].last) {
            BOOST_REQUIRE(!shard.empty());
            std::vector<float> expected(shard.size());
            for (std::uint32_t e = 0; e < epochs_of_workers; ++e)
                for (std::size_t w = 0; w < workers; ++w)
                    for (std::uint64_t c = 0; c < run.logs[w].pushes[e]; ++c)
                        expected[element_of(workers, e, w, c)] = -weight;
            if (run.options.has_common) // which is more than a sum
                expected.back() = shard.back();
            BOOST_TEST((shard == expected));
        }
}

// A read has all of the epochs before, all of its node's that it must have, and of others all up to clock - lag.
void check_reads(const played_server& run, std::uint64_t lag) {
    const std::size_t workers = run.logs.size(), members = run.options.members;
    for (std::size_t reader = 0; reader < workers; ++reader)
        for (const seen_weights& seen : run.logs[reader].reads)
            for (std::size_t w = 0; w < workers; ++w)
                for (std::uint32_t e = 0; e <= seen.epoch; ++e)
                    for (std::uint64_t c = 0; c < run.logs[w].pushes[e]; ++c) {
                        const bool is_due = e < seen.epoch ||
                                            (w / members == reader / members && c < seen.pushes) ||
                                            c + lag < seen.pushes;
                        for (const std::vector<float>& shard : seen.values)
                            if (is_due)
                                BOOST_TEST(has(shard, element_of(workers, e, w, c)));
                    }
}

// Messages of one actor that another, on this node, has handled, in order.
std::vector<trace_event> handled(const played_server& run, std::size_t node, actor_address by,
                                 actor_address from) {
    trace_batch all = run.nodes[node]->trace().read(0, 1u << 14);
    BOOST_REQUIRE(all.lost == 0u);
    std::erase_if(all.events, [&](const trace_event& e) {
        return e.kind != trace_kind::message || e.to_actor != by.actor ||
               e.from_node != from.node || e.from_actor != from.actor;
    });
    return all.events;
}

// When a shard was asked by each worker, when it answered for the last time and when the worker ended its epochs, by its
// trace; what it answered is in the workers' logs.
class shard_traffic {
  public:
    shard_traffic(const played_server& run, std::size_t shard)
        : run_{run}, shard_{shard}, of_(run.logs.size()) {
        for (std::size_t w = 0; w < of_.size(); ++w) {
            std::vector<std::int64_t> answers; // to each Pull
            std::set<std::uint64_t> calls;     // PullAgain
            for (const trace_event& e : handled(run, w, run.caches[w], run.shards[shard])) {
                if (e.type == type_id_of<proto::Pulled>())
                    answers.push_back(e.sent_ns);
                if (e.type == type_id_of<proto::PullAgain>())
                    calls.insert(e.sequence);
            }
            std::size_t pulls = 0;
            for (const trace_event& e : handled(run, shard, run.shards[shard], run.caches[w])) {
                if (e.type == type_id_of<proto::WorkerDone>())
                    of_[w].ended.push_back(e.started_ns);
                if (e.type != type_id_of<proto::Pull>())
                    continue;
                BOOST_REQUIRE(pulls < answers.size());
                if (e.cause_node == run.shards[shard].node && calls.contains(e.cause)) {
                    of_[w].answered.pop_back(); // the worker has not had it
                    ++asked_again_;
                } else
                    of_[w].asked.push_back(e.started_ns);
                of_[w].answered.push_back(answers[pulls++]);
            }
            BOOST_REQUIRE(of_[w].asked.size() == run.logs[w].reads.size());
            BOOST_REQUIRE(of_[w].answered.size() == run.logs[w].reads.size());
            BOOST_REQUIRE(of_[w].ended.size() == epochs_of_workers);
        }
    }

    std::uint64_t asked_again() const noexcept { return asked_again_; }

    // Over the run, of the reader, before its read of this number.
    std::uint64_t pushes_before(std::size_t reader, std::size_t read) const {
        const seen_weights& seen = run_.logs[reader].reads[read];
        std::uint64_t pushes = seen.pushes;
        for (std::uint32_t e = 0; e < seen.epoch; ++e)
            pushes += run_.logs[reader].pushes[e];
        return pushes;
    }

    // Of each other worker that computed when this read was answered: how many of the reader's updates its weights lack.
    // A read at the beginning of an epoch is nobody's concern.
    std::vector<std::uint64_t> unseen_by_others(std::size_t reader, std::size_t read) const {
        const seen_weights& seen = run_.logs[reader].reads[read];
        const std::int64_t now = of_[reader].answered[read];
        std::vector<std::uint64_t> all;
        for (std::size_t w = 0; seen.pushes > 0 && w < of_.size(); ++w) {
            const auto answers = static_cast<std::size_t>(
                std::ranges::upper_bound(of_[w].answered, now) - of_[w].answered.begin());
            const bool waits = answers < of_[w].asked.size() && of_[w].asked[answers] <= now;
            if (w == reader || waits || of_[w].ended[seen.epoch] <= now)
                continue;
            std::uint64_t unseen = 0;
            for (std::uint32_t e = 0; e <= seen.epoch; ++e)
                for (std::uint64_t c = 0; c < run_.logs[reader].pushes[e]; ++c) {
                    const std::size_t element = element_of(of_.size(), e, reader, c);
                    unseen += has(seen.values[shard_], element) &&
                              !(answers > 0 &&
                                has(run_.logs[w].reads[answers - 1].values[shard_], element));
                }
            all.push_back(unseen);
        }
        return all;
    }

  private:
    struct times { // in order
        std::vector<std::int64_t> asked, answered, ended;
    };

    const played_server& run_;
    const std::size_t shard_;
    std::vector<times> of_; // by worker
    std::uint64_t asked_again_ = 0;
};

// The weight that all push to, by version, as one loop makes it of the pushes in the order in which a shard took them.
std::vector<float> compensated(const played_server& run, std::size_t shard) {
    struct taken {
        std::int64_t at = 0;
        std::uint64_t of_version = 0;
        float gradient = 0;
    };
    std::vector<taken> pushes;
    for (std::size_t w = 0; w < run.logs.size(); ++w) {
        std::uint64_t number = 0; // over the run
        for (const trace_event& e : handled(run, shard, run.shards[shard], run.caches[w]))
            if (e.type == type_id_of<proto::Push>()) {
                const std::uint64_t of_first = run.logs[w].pushes[0];
                const std::uint64_t clock = number < of_first ? number : number - of_first;
                pushes.push_back({e.started_ns, e.state.value(), common_gradient(w, clock)});
                ++number;
            }
    }
    std::ranges::sort(pushes, {}, &taken::at);
    const delay_compensation& how = run.options.compensation;
    std::vector<float> weights{0};
    float mean_square = 0;
    for (const taken& push : pushes) {
        const float g = push.gradient;
        float factor = how.factor;
        if (how.decay) {
            mean_square = *how.decay * mean_square + (1 - *how.decay) * g * g;
            factor /= std::sqrt(mean_square);
        }
        const float moved = weights.back() - weights[push.of_version]; // nothing, if in time
        weights.push_back(weights.back() - (g + factor * g * g * moved));
    }
    return weights;
}

struct sights {
    std::uint64_t looked_at = 0; // workers that computed while another was answered
    std::uint64_t unseen = 0;    // of these, who had not seen all of its updates
    std::uint64_t asked_again = 0;
};

void check_value_bound(std::uint64_t seed, sights& all) {
    const float bound = static_cast<float>(seed % 8) / 2;
    const played_server run{
        {.bound = bound}, seed, wild, random_shares(seed, false), {.trace_events = 1u << 11}};
    BOOST_REQUIRE(run.ended);
    check_sum(run, 1);
    check_reads(run, pushes_max);
    for (std::size_t k = 0; k < run.shards.size(); ++k) {
        const shard_traffic traffic{run, k};
        all.asked_again += traffic.asked_again();
        for (std::size_t reader = 0; reader < run.logs.size(); ++reader)
            for (std::size_t r = 0; r < run.logs[reader].reads.size(); ++r)
                for (const std::uint64_t updates : traffic.unseen_by_others(reader, r)) {
                    const double clock = static_cast<double>(traffic.pushes_before(reader, r));
                    BOOST_TEST(static_cast<double>(updates) <=
                               double{bound} / std::sqrt(clock) + 1e-9);
                    ++all.looked_at;
                    all.unseen += updates > 0 ? 1 : 0;
                }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(parameter_servers_over_many_seeds)

BOOST_AUTO_TEST_CASE(bounded_staleness_reads_nothing_too_old_its_own_writes_and_sums_all_once,
                     *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const auto staleness = static_cast<std::uint32_t>(seed % 3);
        const played_server run{
            {.staleness = staleness}, seed, wild, random_shares(seed, staleness == 0)};
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

BOOST_AUTO_TEST_CASE(asynchronous_sums_all_once_and_reads_its_own_writes, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const played_server run{{}, seed, wild, random_shares(seed, false)};
        BOOST_REQUIRE(run.ended);
        check_sum(run, 1);
        check_reads(run, pushes_max);
    }
}

BOOST_AUTO_TEST_CASE(value_bounded_lets_nobody_read_while_others_have_not_seen_too_much_of_it,
                     *seeded) {
    const seed_range seeds{1000};
    sights all;
    for (const std::uint64_t seed : seeds)
        check_value_bound(seed, all);
    if (seeds.are_few())
        return;
    BOOST_TEST(all.looked_at > seeds.size()); // else it would say little
    BOOST_TEST(all.unseen > seeds.size() / 10);
}

// Worker 0 at the second shard for worker 2, which has its answer there, and worker 2 at the first for worker 0 likewise.
BOOST_AUTO_TEST_CASE(two_who_wait_for_each_other_at_different_shards_go_on) {
    sights all;
    check_value_bound(506208, all);
    BOOST_TEST(all.asked_again > 0u);
}

BOOST_AUTO_TEST_CASE(softsync_applies_all_once_in_updates_of_as_many_as_it_says, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const auto shares = random_shares(seed, false);
        const std::size_t workers = shares.size();
        const consistency rule{.splits = 1 + static_cast<std::uint32_t>(seed % workers)};
        const played_server run{rule, seed, wild, shares};
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

BOOST_AUTO_TEST_CASE(backup_workers_drop_whatever_is_not_among_the_first_of_its_step, *seeded) {
    const seed_range seeds{1000};
    constexpr std::uint64_t steps = 3; // of an epoch
    std::uint64_t dropped = 0;
    for (const std::uint64_t seed : seeds) {
        const std::vector<std::vector<std::uint64_t>> shares(2 + seed % 3);
        const auto backups = static_cast<std::uint32_t>(seed / 3 % shares.size());
        const std::size_t gradients = shares.size() - backups;
        const played_server run{
            {.backups = backups}, seed, wild, shares, {.versions_of_epoch = steps}};
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
    if (!seeds.are_few())
        BOOST_TEST(dropped > seeds.size() / 2);
}

BOOST_AUTO_TEST_CASE(servers_of_nodes_push_the_sums_of_their_workers_once, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const consistency rules[] = {{.staleness = 0}, {.staleness = 1}, {}};
        const consistency rule = rules[seed % 3];
        std::vector<std::vector<std::uint64_t>> shares;
        const auto of_nodes = random_shares(seed, rule.is_synchronous());
        for (std::size_t n = 0; n < of_nodes.size(); ++n) {
            shares.push_back(of_nodes[n]);
            shares.push_back(of_nodes[(n + 1) % of_nodes.size()]);
        }
        const played_server run{rule, seed, wild, shares, {.members = 2}};
        BOOST_REQUIRE(run.ended);
        check_sum(run, 1);
        check_reads(run, rule.staleness.value_or(pushes_max));
        std::uint64_t updates = 0;
        for (std::uint32_t e = 0; e < epochs_of_workers; ++e)
            for (std::size_t w = 0; w < shares.size(); w += 2)
                if (w == 0 || !rule.is_synchronous())
                    updates += std::max(run.logs[w].pushes[e], run.logs[w + 1].pushes[e]);
        for (std::size_t first = 0; first < shares.size(); first += 2)
            BOOST_TEST(run.logs[first].last_version == updates);
    }
}

BOOST_AUTO_TEST_CASE(delays_are_compensated_by_the_weights_that_each_gradient_is_of, *seeded) {
    const seed_range seeds{1000};
    for (const auto& decay : {std::optional<float>{}, std::optional<float>{0.9f}}) {
        std::uint64_t compared = 0, changed = 0;
        for (const std::uint64_t seed : seeds) {
            const played_server run{
                seed % 2 ? consistency{} : consistency{.staleness = 2},
                seed,
                wild,
                random_shares(seed, false),
                {.trace_events = 1u << 11,
                 .compensation = {.compensates = true, .factor = 0.04f, .decay = decay},
                 .has_common = true}};
            BOOST_REQUIRE(run.ended);
            check_sum(run, 1);
            for (std::size_t k = 0; k < run.shards.size(); ++k) {
                const std::vector<float> weights = compensated(run, k);
                for (const worker_log& log : run.logs) {
                    BOOST_TEST(std::abs(log.last[k].back() - weights.back()) < 1e-4f);
                    for (const seen_weights& seen : log.reads) {
                        const auto version = static_cast<std::size_t>(std::ranges::count(
                            std::span{seen.values[k]}.first(seen.values[k].size() - 1), -1.f));
                        BOOST_TEST(std::abs(seen.values[k].back() - weights[version]) < 1e-4f);
                        ++compared;
                    }
                }
                for (std::size_t v = 1; v < weights.size(); ++v) {
                    const float by = weights[v - 1] - weights[v];
                    changed += std::abs(8 * by - std::round(8 * by)) > 1e-3f ? 1 : 0;
                }
            }
        }
        if (seeds.are_few())
            continue;
        BOOST_TEST(compared > 10 * seeds.size()); // else it would say little
        BOOST_TEST(changed > 10 * seeds.size());  // gradients are multiples of an eighth
    }
}

BOOST_AUTO_TEST_SUITE_END()
