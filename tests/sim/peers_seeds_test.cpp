// Peers between stages of a script, over thousands of seeds.
#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

#include "actors/peers/admm_peer.hpp"
#include "actors/peers/elastic_peer.hpp"
#include "actors/peers/gossip_peer.hpp"
#include "actors/peers/malt_peer.hpp"
#include "tests/sim/peers_sim.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

peers_sim::maker elastic_peers(elastic_rule rule) {
    return [rule](node_runtime& node, peer_options options, std::uint32_t) {
        return node.spawn<elastic_peer>("peer", std::move(options), rule);
    };
}

weight_exchange exchange_of(bool synchronous, std::uint32_t every) {
    return {.every = every,
            .overlaps = true,
            .waits = synchronous,
            .assigns_dynamically = !synchronous,
            .has_common = true};
}

peers_sim::maker gossip_peers(std::uint64_t seed) {
    return [seed](node_runtime& node, peer_options options, std::uint32_t) {
        return node.spawn<gossip_peer>("peer", std::move(options), gossip_rule{seed});
    };
}

peers_sim::maker malt_peers(proto::MaltGraph graph, const aggregation& how = {}) {
    return [=](node_runtime& node, peer_options options, std::uint32_t) {
        return node.spawn<malt_peer>("peer", std::move(options), graph, how);
    };
}

peers_sim::maker admm_peers(const admm_rule& rule) {
    return [=](node_runtime& node, peer_options options, std::uint32_t) {
        return node.spawn<admm_peer>("peer", std::move(options), rule);
    };
}

weight_exchange every(std::uint32_t updates) {
    return {.every = updates,
            .at_end = weight_exchange::ending::last_exchange,
            .assigns_dynamically = true,
            .has_common = true};
}

// The farthest from each other that two replicas are.
float spread_of(const std::vector<stage_record>& records) {
    float most = 0;
    for (const stage_record& a : records)
        for (const stage_record& b : records)
            for (std::size_t i = 0; i < a.own.size(); ++i)
                most = std::max(most, std::abs(a.own[i] - b.own[i]));
    return most;
}

void check_done(const peers_sim& run) {
    for (const stage_record& r : run.records)
        BOOST_TEST_REQUIRE(r.done, (r.downs.empty() ? "it hangs" : r.downs[0]));
}

std::size_t scatters_handled(peers_sim& run, std::size_t replicas) {
    std::size_t count = 0;
    for (std::size_t r = 0; r < replicas; ++r)
        for (const trace_event& e : run.node(r).trace().read(0, 1u << 12).events)
            count += e.kind == trace_kind::message && e.type == type_id_of<proto::Scatter>();
    return count;
}

// Reports to the consensus and its changes, as the nodes have traced them: replica r is on node r.
struct admm_course {
    struct change {
        std::int64_t sent_ns;
        std::set<std::size_t> to; // whose reports were answered
    };
    std::vector<change> changes;                     // in their order
    std::vector<std::vector<std::int64_t>> reported; // by replica: when they were handled

    admm_course(peers_sim& run, std::size_t replicas) : reported(replicas) {
        const auto events_of = [&](std::size_t r, std::uint64_t type) {
            auto all = run.node(r).trace().read(0, 1u << 12).events;
            std::erase_if(all, [&](const trace_event& e) {
                return e.kind != trace_kind::message || e.type != type;
            });
            return all;
        };
        std::map<std::uint64_t, change> by_cause; // one piece of work makes one change
        for (std::size_t r = 0; r < replicas; ++r) {
            for (const trace_event& e : events_of(r, type_id_of<proto::Consensus>())) {
                auto& made = by_cause.try_emplace(e.cause, change{e.sent_ns, {}}).first->second;
                BOOST_TEST_REQUIRE(made.to.insert(r).second);
            }
            for (const trace_event& e : events_of(0, type_id_of<proto::Report>()))
                if (e.from_node == run.node(r).node())
                    reported[r].push_back(e.started_ns);
        }
        for (auto& [cause, made] : by_cause)
            changes.push_back(std::move(made));
        std::ranges::sort(changes, {}, &change::sent_ns);
    }
};

// Each change has as many new reports as the quorum, or of all who have not ended, and whoever has not ended is in one of
// every `delay` changes. The last report of a replica ends its epoch. Returns in how many in a row one was not.
std::uint32_t check_barrier(const admm_course& course, const admm_rule& rule) {
    const std::size_t replicas = course.reported.size();
    std::vector<std::size_t> answered(replicas);
    std::vector<std::uint32_t> left_out(replicas);
    std::uint32_t most = 0;
    for (const auto& change : course.changes) {
        std::size_t at_work = 0;
        for (std::size_t r = 0; r < replicas; ++r) {
            const bool has_ended = course.reported[r].back() <= change.sent_ns;
            at_work += !has_ended;
            if (change.to.contains(r)) {
                BOOST_TEST_REQUIRE(answered[r] < course.reported[r].size());
                BOOST_TEST_REQUIRE(course.reported[r][answered[r]++] < change.sent_ns);
                left_out[r] = 0;
            } else if (!has_ended) {
                BOOST_TEST_REQUIRE(++left_out[r] < rule.delay);
                most = std::max(most, left_out[r]);
            }
        }
        BOOST_TEST_REQUIRE(change.to.size() >= std::min<std::size_t>(rule.quorum, at_work));
    }
    for (std::size_t r = 0; r < replicas; ++r)
        BOOST_TEST(answered[r] == course.reported[r].size());
    return most;
}

constexpr proto::MaltGraph graphs[] = {proto::MaltGraph::ALL, proto::MaltGraph::HALTON,
                                       proto::MaltGraph::SERVER};

} // namespace

BOOST_AUTO_TEST_SUITE(peers_over_seeds)

// Over many orders in which the replicas may come: what a replica loses the centre gains, but for rounding.
BOOST_AUTO_TEST_CASE(replicas_and_centre_together_gain_what_updates_add_and_nothing_else, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const auto replicas = static_cast<std::uint32_t>(2 + seed % 4);
        const bool synchronous = seed % 2 == 0;
        const float rate = seed % 3 ? 0.9f / static_cast<float>(replicas) : 0.25f;
        peers_sim run{{.exchange = exchange_of(synchronous, 1 + seed % 3), .seed = seed},
                      replicas,
                      bad_weather,
                      elastic_peers({rate, synchronous})};
        const few_numbers first = run.records[0].own;
        run.run();
        for (const stage_record& r : run.records)
            BOOST_TEST_REQUIRE(r.done, (r.downs.empty() ? "it hangs" : r.downs[0]));
        run.read_common(0);
        const auto owns = sum_of(run.records, &stage_record::own);
        const auto gains = sum_of(run.records, &stage_record::gained);
        for (std::size_t i = 0; i < first.size(); ++i) {
            const double before = static_cast<double>(first[i]) * (replicas + 1);
            const double after = owns[i] + static_cast<double>(run.records[0].common[i]);
            BOOST_TEST(std::abs(after - before - gains[i]) < 1e-4);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_replica_that_is_lost_is_not_waited_for, *seeded) {
    for (const std::uint64_t seed : seed_range{50}) {
        const bool synchronous = seed % 2 == 0;
        peers_sim run{{.exchange = exchange_of(synchronous, 2), .updates = 40, .seed = seed},
                      3,
                      bad_weather,
                      elastic_peers({0.25f, synchronous})};
        run.start();
        run.sim().run_for(std::chrono::milliseconds{5 + seed % 61});
        run.kill(2);
        run.finish();
        BOOST_TEST(run.records[0].downs.empty());
        BOOST_TEST(run.records[0].done);
        BOOST_TEST(run.records[1].done);
        BOOST_TEST(run.records[0].kept.size() > 15u);
    }
}

BOOST_AUTO_TEST_CASE(gossip_keeps_the_sum_but_for_what_updates_add, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const auto replicas = static_cast<std::uint32_t>(2 + seed % 4);
        script s{.exchange = every(1 + seed % 2), .seed = seed};
        s.apart = seed % 3 ? 0.0f : 5.0f;
        peers_sim run{s, replicas, bad_weather, gossip_peers(seed)};
        const auto before = sum_of(run.records, &stage_record::own);
        run.run();
        check_done(run);
        run.read_common(0);
        const auto gains = sum_of(run.records, &stage_record::gained);
        for (std::size_t i = 0; i < before.size(); ++i) {
            const double after = static_cast<double>(run.records[0].common[i]) * replicas;
            BOOST_TEST_REQUIRE(std::abs(after - before[i] - gains[i]) < 1e-3);
        }
    }
}

BOOST_AUTO_TEST_CASE(without_updates_replicas_that_gossip_come_together, *seeded) {
    const seed_range seeds{15};
    const float before = 30;
    float after = 0;
    for (const std::uint64_t seed : seeds) {
        const std::uint32_t replicas = 4;
        script s{.exchange = every(1), .updates = 400, .seed = seed, .step = 0, .apart = 10};
        peers_sim gossips{s, replicas, bad_weather, gossip_peers(seed)};
        gossips.run();
        check_done(gossips);
        const float spread = spread_of(gossips.records);
        BOOST_TEST(spread < before);
        after += spread / static_cast<float>(seeds.size());
    }
    if (!seeds.are_few()) // one of whose messages many are lost meets few
        BOOST_TEST(after < before / 10);
}

BOOST_AUTO_TEST_CASE(
    malt_sends_as_many_messages_as_its_graph_has_edges_and_stays_within_what_was_sent, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const auto replicas = static_cast<std::uint32_t>(2 + seed % 6);
        const proto::MaltGraph graph = graphs[seed % 3];
        script s{.exchange = every(1 + seed % 3), .seed = seed, .step = 0, .apart = 1};
        peers_sim run{s, replicas, bad_weather, malt_peers(graph)};
        run.run();
        check_done(run);
        run.sim().run_for(std::chrono::seconds{2}); // until the last have come
        const std::size_t rounds = s.updates / s.exchange.every + 1;
        std::size_t edges = 0;
        std::vector<std::uint32_t> live;
        for (std::uint32_t r = 0; r < replicas; ++r)
            live.push_back(r);
        for (const std::uint32_t r : live)
            edges += out_edges(graph, r, live).size();
        BOOST_TEST_REQUIRE(scatters_handled(run, replicas) == rounds * edges);
        const auto lowest = static_cast<float>(seed % 7);
        for (const stage_record& r : run.records)
            for (const float x : r.own) {
                BOOST_TEST_REQUIRE(x >= lowest - 1e-4f);
                BOOST_TEST_REQUIRE(x <= lowest + static_cast<float>(replicas - 1) + 1e-4f);
            }
    }
}

BOOST_AUTO_TEST_CASE(who_lies_moves_the_mean_and_nothing_robust, *seeded) {
    using rule = aggregation::rule;
    const std::pair<aggregation, std::uint32_t> all[] = {{{}, 4},
                                                         {{.by = rule::median}, 4},
                                                         {{.by = rule::trimmed_mean, .trim = 1}, 4},
                                                         {{.by = rule::krum, .liars = 1}, 5}};
    for (const auto& [how, replicas] : all) {
        const seed_range seeds{10};
        std::size_t moved = 0;
        for (const std::uint64_t seed : seeds) {
            script s{.exchange = every(1), .updates = 40, .seed = seed, .step = 0.5f};
            s.liar = 1;
            peers_sim run{s, replicas, bad_weather, malt_peers(proto::MaltGraph::ALL, how)};
            run.run();
            check_done(run);
            for (const std::uint32_t honest : {0u, 2u, 3u})
                moved += std::abs(run.records[honest].own[0]) < 50.0f ? 0 : 1;
            if (how.by != rule::mean)
                BOOST_TEST(moved == 0u);
        }
        if (how.by == rule::mean && !seeds.are_few()) // but who ends before nonsense reaches it
            BOOST_TEST(moved > 2 * seeds.size());
    }
}

BOOST_AUTO_TEST_CASE(admm_keeps_to_its_quorum_and_delay_and_never_hangs, *seeded) {
    const seed_range seeds{1000};
    std::map<std::uint32_t, std::uint32_t> left_out; // by delay, the most
    for (const std::uint64_t seed : seeds) {
        const auto replicas = static_cast<std::uint32_t>(2 + seed % 4);
        const admm_rule rule{.penalty = 1,
                             .period = static_cast<std::uint32_t>(1 + seed % 3),
                             .quorum = static_cast<std::uint32_t>(1 + seed / 3 % replicas),
                             .delay = static_cast<std::uint32_t>(1 + seed / 7 % 4)};
        peers_sim run{
            {.exchange = every(1), .seed = seed}, replicas, bad_weather, admm_peers(rule)};
        run.run();
        check_done(run);
        auto& most = left_out[rule.delay];
        most = std::max(most, check_barrier({run, replicas}, rule));
        run.read_common(0);
        for (const float x : run.records[0].common)
            BOOST_TEST_REQUIRE(std::isfinite(x));
    }
    for (const auto& [delay, most] : left_out)
        if (!seeds.are_few())
            BOOST_TEST(most == delay - 1); // which some are late by
}

BOOST_AUTO_TEST_CASE(who_is_lost_leaves_the_lists_and_the_others_go_on, *seeded) {
    for (const std::uint64_t seed : seed_range{60}) {
        const script s{.exchange = every(1), .updates = 40, .seed = seed};
        const peers_sim::maker makers[] = {gossip_peers(seed), malt_peers(graphs[seed % 3]),
                                           admm_peers({.quorum = 2, .delay = 2})};
        for (const auto& make : makers) {
            peers_sim run{s, 4, bad_weather, make};
            run.start();
            run.sim().run_for(std::chrono::milliseconds{5 + seed % 61});
            run.kill(3);
            run.finish();
            for (std::size_t r = 0; r < 3; ++r) {
                BOOST_TEST(run.records[r].done);
                BOOST_TEST(run.records[r].downs.empty());
            }
            run.read_common(0);
            BOOST_TEST(!run.records[0].common.empty());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
