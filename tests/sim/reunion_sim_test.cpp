// Clusters that are cut to pieces again and again, whose nodes stop, die, leave, and are started anew: once all is quiet,
// every node has all others that live for members, and no more.
#include <algorithm>

#include "schemas/base/random.hpp"
#include "tests/support/seeds.hpp"
#include "tests/unit/actors_cluster/simulated_cluster.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

namespace {

class troubled_cluster {
  public:
    explicit troubled_cluster(std::uint64_t seed) : random_{seed}, cluster_{options(seed)} {
        const std::uint64_t nodes = 3 + random_.below(6);
        add("n0", "");
        for (std::uint64_t i = 1; i < nodes; ++i)
            add("n" + std::to_string(i), "sim:n0");
        BOOST_TEST_REQUIRE(settles_within(30s));
    }

    void trouble() {
        if (living_.empty()) // all were refused
            return;
        switch (random_.below(7)) {
        case 0:
        case 1:
            return split();
        case 2:
            return cut_some();
        case 3:
            return cluster_.sim.heal();
        case 4: {
            member& stopped = any();
            cluster_.sim.stop(*stopped.node);
            cluster_.sim.run_for(milliseconds(20'000));
            cluster_.sim.resume(*stopped.node);
            return;
        }
        case 5:
            return end_one();
        default:
            return add_one();
        }
    }

    void wait() {
        cluster_.sim.run_for(milliseconds(30'000));
        end_the_refused();
    }

    // Ends all cuts; the longest wait between two attempts is 30 s, and an attempt takes up to 5 s.
    bool meets_again() {
        cluster_.sim.heal();
        cluster_.sim.run_for(15s); // within which those who join have joined or failed
        end_the_refused();
        return settles_within(3 * 36s);
    }

    bool stays_together() {
        const std::size_t before = losses();
        cluster_.sim.run_for(2min);
        return is_settled() && losses() == before;
    }

  private:
    struct member {
        std::string name;
        node_runtime* node;
    };

    static simulator_options options(std::uint64_t seed) {
        simulator_options options{.seed = seed};
        options.network.faults = {
            .delay_min = 1ms, .delay_max = 20ms, .drop = 0.02, .duplicate = 0.01};
        options.trace_events = 16;
        return options;
    }

    duration milliseconds(std::uint64_t at_most) {
        return std::chrono::milliseconds{random_.below(at_most)};
    }
    member& any() { return living_[random_.below(living_.size())]; }

    void add(const std::string& name, const std::string& join) {
        cluster_.news[name] = {};
        cluster_.outcome[name].reset();
        living_.push_back({name, &cluster_.add(name, join)});
    }

    // Two sides that hear nothing of each other.
    void split() {
        std::vector<member> sides[2];
        for (const member& m : living_)
            sides[random_.below(2)].push_back(m);
        for (const member& a : sides[0])
            for (const member& b : sides[1])
                cluster_.sim.partition(*a.node, *b.node);
    }

    void cut_some() {
        for (const member& a : living_)
            for (const member& b : living_)
                if (a.node != b.node && random_.below(4) == 0)
                    cluster_.sim.partition(*a.node, *b.node);
    }

    void end_one() {
        if (living_.size() < 3)
            return;
        const std::size_t which = random_.below(living_.size());
        const member gone = living_[which];
        living_.erase(living_.begin() + static_cast<std::ptrdiff_t>(which));
        if (random_.below(2) == 0) {
            gone.node->stop();
            return;
        }
        cluster_.sim.kill(*gone.node);
        cluster_.sim.run_for(milliseconds(10'000));
        if (random_.below(2) == 0)
            add(gone.name, "sim:" + any().name);
    }

    void add_one() { add("n" + std::to_string(++names_), "sim:" + any().name); }

    // A node that cannot join ends.
    void end_the_refused() {
        std::erase_if(living_, [&](const member& m) {
            const auto& outcome = cluster_.outcome[m.name];
            if (!outcome || outcome->ok())
                return false;
            cluster_.sim.kill(*m.node);
            return true;
        });
    }

    // Each node knows what its fellows know, and no node is without one that it has ever known and that lives: those
    // who have never heard of each other need not meet.
    bool is_settled() {
        std::map<node_id, const news_log*> known;
        for (const member& m : living_)
            known[m.node->node()] = &cluster_.news[m.name];
        return std::ranges::all_of(known, [&](const auto& entry) {
            const auto& [node, news] = entry;
            return news->members.contains(node) &&
                   std::ranges::all_of(news->members,
                                       [&](node_id other) {
                                           return known.contains(other) &&
                                                  known[other]->members == news->members;
                                       }) &&
                   std::ranges::all_of(news->ever, [&](node_id other) {
                       return !known.contains(other) || news->members.contains(other);
                   });
        });
    }

    bool settles_within(duration limit) {
        return cluster_.sim.run_until([&] { return is_settled(); }, limit);
    }

    std::size_t losses() {
        std::size_t sum = 0;
        for (const auto& [name, news] : cluster_.news)
            sum += news.lost.size();
        return sum;
    }

    random_stream random_;
    simulated_cluster cluster_;
    std::vector<member> living_;
    std::uint64_t names_ = 100;
};

} // namespace

BOOST_AUTO_TEST_SUITE(reunion_simulation)

BOOST_AUTO_TEST_CASE(all_that_live_meet_again_after_any_cuts_and_no_others_do, *seeded) {
    const seed_range seeds{40};
    for (const std::uint64_t seed : seeds) {
        troubled_cluster c{seed};
        for (int i = 0; i < 8; ++i) {
            c.trouble();
            c.wait();
        }
        BOOST_TEST(c.meets_again());
        BOOST_TEST(c.stays_together());
    }
}

BOOST_AUTO_TEST_SUITE_END()
