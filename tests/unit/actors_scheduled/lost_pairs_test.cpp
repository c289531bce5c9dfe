// Which node goes when nodes of a run have lost each other.
#include "actors/scheduled/lost_pairs.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace troupe;
using namespace troupe::scheduled;

namespace {

constexpr node_id a{1}, b{2}, c{3}, d{4};
const error why{errc::lost, "no heartbeat"};

std::vector<node_id> leavers(lost_pairs& pairs, std::set<node_id> there = {a, b, c, d}) {
    std::vector<node_id> all;
    while (const auto next = pairs.next([&](node_id n) { return there.contains(n); })) {
        all.push_back(next->node);
        there.erase(next->node);
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(pairs_of_lost_nodes)

BOOST_AUTO_TEST_CASE(of_two_the_one_that_is_named_first_goes) {
    lost_pairs pairs;
    BOOST_TEST(pairs.add(a, b, why));
    BOOST_TEST(!pairs.add(b, a, why));
    BOOST_TEST((leavers(pairs) == std::vector{b}));
    BOOST_TEST(pairs.add(c, d, why)); // all before have been decided
}

BOOST_AUTO_TEST_CASE(a_node_that_is_cut_off_from_several_goes_alone_whoever_tells_first) {
    lost_pairs pairs;
    for (const node_id other : {b, c, d})
        pairs.add(a, other, why);
    BOOST_TEST((leavers(pairs) == std::vector{a}));
    for (const node_id other : {b, c, d})
        pairs.add(other, a, why);
    BOOST_TEST((leavers(pairs) == std::vector{a}));
}

BOOST_AUTO_TEST_CASE(a_pair_that_is_told_of_by_each_of_its_actors_is_one) {
    lost_pairs pairs;
    for (int actor = 0; actor < 5; ++actor)
        pairs.add(a, b, why);
    pairs.add(c, b, why);
    BOOST_TEST((leavers(pairs) == std::vector{b}));
}

BOOST_AUTO_TEST_CASE(pairs_without_a_node_in_common_lose_one_each) {
    lost_pairs pairs;
    pairs.add(a, b, why);
    pairs.add(c, d, why);
    BOOST_TEST((leavers(pairs) == std::vector{b, d}));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_gone_takes_no_other_with_it) {
    lost_pairs pairs;
    pairs.add(a, b, why);
    pairs.add(c, b, why);
    BOOST_TEST(leavers(pairs, {a, c, d}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
