// Gossip among values instead of weights, in every order in which messages may come.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>

#include "actors/peers/gossip_rule.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// Messages between two come in their order; otherwise in any.
class crowd {
  public:
    crowd(std::uint64_t seed, std::uint32_t ranks) : random_{seed, 99} {
        for (std::uint32_t r = 0; r < ranks; ++r) {
            states_.emplace_back(gossip_rule{seed}, r, ranks);
            values_.push_back(static_cast<double>(random_.below(1024)));
        }
    }

    void choose(std::uint32_t rank) {
        if (const auto to = states_[rank].choose()) {
            BOOST_TEST_REQUIRE(*to != rank);
            send(rank, *to, {kind::meet});
            ++chosen[{rank, *to}];
        }
    }
    // False: none is on its way.
    bool deliver_one() {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> ways;
        for (const auto& [way, queue] : links_)
            if (!queue.empty())
                ways.push_back(way);
        if (ways.empty())
            return false;
        const auto way = ways[random_.below(ways.size())];
        const message m = links_[way].front();
        links_[way].pop_front();
        take(way.first, way.second, m);
        return true;
    }
    void lose(std::uint32_t gone) {
        for (std::uint32_t r = 0; r < states_.size(); ++r) {
            links_[{r, gone}].clear();
            links_[{gone, r}].clear();
            if (r != gone)
                states_[r].lose(gone);
        }
        lost_ = gone;
    }

    random_stream& random() { return random_; }
    std::uint32_t ranks() const { return static_cast<std::uint32_t>(states_.size()); }
    double sum() const { return std::accumulate(values_.begin(), values_.end(), 0.0); }
    double spread() const {
        double squares = 0;
        for (const double v : values_)
            squares += (v - sum() / ranks()) * (v - sum() / ranks());
        return squares;
    }
    bool anybody_waits() const {
        for (std::uint32_t r = 0; r < ranks(); ++r)
            if (r != lost_ && states_[r].waits())
                return true;
        return false;
    }

    int meetings = 0, refusals = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> chosen;

  private:
    enum class kind { meet, moved, busy };
    struct message {
        kind what;
    };
    void send(std::uint32_t from, std::uint32_t to, message m) {
        if (to != lost_)
            links_[{from, to}].push_back(m);
    }

    void take(std::uint32_t from, std::uint32_t to, message m) {
        if (m.what != kind::meet) {
            BOOST_TEST_REQUIRE(states_[to].met(from));
            return;
        }
        switch (states_[to].meet(from)) {
        case gossip::reply::silence:
            break;
        case gossip::reply::busy:
            ++refusals;
            send(to, from, {kind::busy});
            break;
        case gossip::reply::move: {
            // What the first has sent is what it has until it is answered: nobody meets it meanwhile.
            const double step = (values_[from] - values_[to]) / 2;
            values_[to] += step;
            values_[from] -= step;
            ++meetings;
            send(to, from, {kind::moved});
            break;
        }
        }
    }

    random_stream random_;
    std::vector<gossip> states_;
    std::vector<double> values_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<message>> links_;
    std::uint32_t lost_ = ~0u;
};

} // namespace

BOOST_AUTO_TEST_SUITE(gossips)

BOOST_AUTO_TEST_CASE(the_sum_stays_the_spread_never_grows_and_nobody_waits_for_ever, *seeded) {
    const seed_range seeds{1000};
    int refusals = 0;
    for (const std::uint64_t seed : seeds) {
        crowd c{seed, static_cast<std::uint32_t>(2 + seed % 6)};
        const double sum = c.sum();
        const double before = c.spread();
        double spread = before;
        for (int k = 0; k < 100; ++k) {
            if (c.random().below(2) == 0)
                c.choose(static_cast<std::uint32_t>(c.random().below(c.ranks())));
            else
                c.deliver_one();
            BOOST_TEST_REQUIRE(std::abs(c.sum() - sum) < 1e-9);
            BOOST_TEST_REQUIRE(c.spread() <= spread + 1e-9);
            spread = c.spread();
        }
        while (c.deliver_one()) {
        }
        BOOST_TEST_REQUIRE(!c.anybody_waits());
        BOOST_TEST(c.meetings > 0);
        BOOST_TEST((spread < before || before == 0));
        refusals += c.refusals;
    }
    if (!seeds.are_few())
        BOOST_TEST(refusals > 0);
}

BOOST_AUTO_TEST_CASE(two_who_choose_each_other_meet_once) {
    crowd c{1, 2};
    c.choose(0);
    c.choose(1);
    while (c.deliver_one()) {
    }
    BOOST_TEST(c.meetings == 1);
    BOOST_TEST(c.refusals == 0);
    BOOST_TEST(!c.anybody_waits());
    BOOST_TEST(c.spread() == 0);
}

BOOST_AUTO_TEST_CASE(others_are_as_likely_as_each_other_and_the_seed_says_who) {
    std::array<int, 4> times{};
    gossip g{{7}, 1, 4};
    gossip same{{7}, 1, 4};
    for (int k = 0; k < 3000; ++k) {
        const auto other = g.choose();
        BOOST_TEST_REQUIRE(other.has_value());
        BOOST_TEST_REQUIRE(*same.choose() == *other);
        BOOST_TEST(!g.choose().has_value()); // an answer is awaited
        ++times[*other];
        g.met(*other);
        same.met(*other);
    }
    BOOST_TEST(times[1] == 0);
    for (const int other : {0, 2, 3})
        BOOST_TEST(std::abs(times[static_cast<std::size_t>(other)] - 1000) <
                   130); // five deviations
}

BOOST_AUTO_TEST_CASE(who_is_lost_is_neither_chosen_nor_awaited, *seeded) {
    for (const std::uint64_t seed : seed_range{100}) {
        crowd c{seed, 4};
        for (int k = 0; k < 60; ++k) {
            if (k == 20)
                c.lose(2);
            if (k > 20)
                c.chosen.clear();
            const auto who = static_cast<std::uint32_t>(c.random().below(4));
            if (k <= 20 || who != 2)
                c.choose(who);
            c.deliver_one();
            if (k > 20)
                for (const auto& [way, times] : c.chosen)
                    BOOST_TEST(way.second != 2u);
        }
        while (c.deliver_one()) {
        }
        BOOST_TEST(!c.anybody_waits());
    }
    gossip alone{{1}, 0, 2};
    alone.lose(1);
    BOOST_TEST(!alone.choose().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
