// Members that do not reach each other.
#include "actors/cluster/missing_links.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

member_info member(std::uint64_t id, const std::string& name, std::size_t devices = 1) {
    member_info m{.node = node_id{id}, .name = name, .address = name + ":1"};
    m.devices.resize(devices);
    return m;
}

std::vector<member_info> members_of(const std::string& names) {
    std::vector<member_info> all;
    for (const char name : names)
        all.push_back(member(static_cast<std::uint64_t>(name), {name}));
    return all;
}

unlinked_pair between(char one, char other) {
    return {node_id{static_cast<std::uint64_t>(one)}, node_id{static_cast<std::uint64_t>(other)}};
}

std::string names_of(const std::vector<node_id>& nodes) {
    std::string names;
    for (const node_id node : nodes)
        names += static_cast<char>(node.value());
    return names;
}

} // namespace

BOOST_AUTO_TEST_SUITE(missing_links)

BOOST_AUTO_TEST_CASE(one_member_that_lacks_a_link_is_enough_and_silence_says_nothing) {
    const auto members = members_of("abc");
    const node_id a{'a'}, b{'b'}, c{'c'};
    BOOST_TEST(unlinked_pairs(members, {{a, {b, c}}, {b, {a, c}}, {c, {a, b}}}).empty());
    BOOST_TEST((unlinked_pairs(members, {{a, {b, c}}, {b, {a}}, {c, {a}}}) ==
                std::vector{between('b', 'c')}));
    BOOST_TEST((unlinked_pairs(members, {{a, {b, c}}, {b, {a, c}}, {c, {a}}}) ==
                std::vector{between('b', 'c')}));
    BOOST_TEST(unlinked_pairs(members, {}).empty());
    BOOST_TEST(unlinked_pairs(members, {{a, {b, c}}}).empty());
}

BOOST_AUTO_TEST_CASE(a_survey_is_settled_once_all_have_answered_and_reach_each_other) {
    auto members = members_of("abr");
    members[2].role = peer_role::client;
    const node_id a{'a'}, b{'b'}, c{'c'}, run{'r'};
    link_survey survey{members};
    BOOST_TEST(survey.asked().size() == 2u);
    BOOST_TEST(!survey.is_settled());
    BOOST_TEST(survey.answered(a, {b}));
    BOOST_TEST(!survey.is_settled());
    BOOST_TEST(survey.answered(b, {}));
    BOOST_TEST(!survey.is_settled());
    BOOST_TEST((survey.apart() == std::vector{between('a', 'b')}));
    BOOST_TEST(survey.answered(b, {a})); // it is just joining
    BOOST_TEST(survey.is_settled());
    BOOST_TEST((!survey.answered(run, {}) && !survey.answered(c, {})));
    survey.meet(members[2]); // no run is asked
    survey.meet(members[0]);
    BOOST_TEST(survey.is_settled());
    survey.meet(member('c', "c"));
    BOOST_TEST(!survey.is_settled());
    BOOST_TEST((survey.answered(c, {a, b}) && survey.answered(a, {b, c})));
    BOOST_TEST((survey.apart() == std::vector{between('b', 'c')}));
    BOOST_TEST(survey.answered(b, {a, c}));
    BOOST_TEST(survey.is_settled());
    BOOST_TEST((survey.told() == told_peers{{a, {b, c}}, {b, {a, c}}, {c, {a, b}}}));
}

BOOST_AUTO_TEST_CASE(runs_need_no_links_to_each_other) {
    auto members = members_of("abc");
    members[1].role = members[2].role = peer_role::client;
    const node_id a{'a'}, b{'b'}, c{'c'};
    BOOST_TEST(unlinked_pairs(members, {{a, {b}}, {b, {a}}, {c, {a}}}).empty());
}

BOOST_AUTO_TEST_CASE(the_fewest_are_left_out) {
    const auto members = members_of("abcdefg");
    BOOST_TEST(names_of(fewest_to_leave(members, {})) == "");
    BOOST_TEST(names_of(fewest_to_leave(members, {between('b', 'c')})) == "c");
    // b reaches neither c nor d nor e: without b all others stay.
    BOOST_TEST(names_of(fewest_to_leave(
                   members, {between('b', 'c'), between('b', 'd'), between('b', 'e')})) == "b");
    // a misses most, and yet to begin with it leaves one too many out.
    BOOST_TEST(names_of(fewest_to_leave(members, {between('a', 'b'), between('a', 'c'),
                                                  between('a', 'd'), between('b', 'e'),
                                                  between('c', 'f'), between('d', 'g')})) == "bcd");
}

BOOST_AUTO_TEST_CASE(
    of_two_networks_the_one_with_fewer_nodes_is_left_out_then_the_one_with_fewer_devices) {
    auto members = members_of("abcde");
    std::vector<unlinked_pair> pairs;
    for (const char one : {'a', 'c'})
        for (const char other : {'b', 'd', 'e'})
            pairs.push_back(between(std::min(one, other), std::max(one, other)));
    BOOST_TEST(names_of(fewest_to_leave(members, pairs)) == "ac");
    members = {member('b', "b", 1), member('c', "c", 2)};
    BOOST_TEST(names_of(fewest_to_leave(members, {between('b', 'c')})) == "b");
}

BOOST_AUTO_TEST_CASE(it_is_found_soon_in_large_clusters) {
    std::vector<member_info> members;
    std::vector<unlinked_pair> pairs;
    for (std::uint64_t n = 1; n <= 64; ++n)
        members.push_back(member(n, "n" + std::to_string(n)));
    // In each triangle all are alike: all choices are more than could be tried.
    for (std::uint64_t n = 1; n + 2 <= 64; n += 3)
        for (const auto& [one, other] :
             {std::pair{n, n + 1}, std::pair{n, n + 2}, std::pair{n + 1, n + 2}})
            pairs.emplace_back(node_id{one}, node_id{other});
    BOOST_TEST(fewest_to_leave(members, pairs).size() == 42u);
}

// Where hubs have four arms of two members each, the choice found first is not the best.
BOOST_AUTO_TEST_CASE(nobody_is_left_out_who_reaches_all_that_are_used) {
    std::vector<member_info> members;
    std::vector<unlinked_pair> pairs;
    const auto add = [&] {
        members.push_back({.node = node_id{members.size() + 1}, .name = "x", .address = ""});
        return members.back().node;
    };
    for (int hubs = 0; hubs < 16; ++hubs) {
        const node_id hub = add();
        for (int arms = 0; arms < 4; ++arms) {
            const node_id arm = add();
            pairs.emplace_back(hub, arm);
            for (int leaves = 0; leaves < 2; ++leaves)
                pairs.emplace_back(arm, add());
        }
    }
    const auto left = fewest_to_leave(members, pairs);
    const auto is_left = [&](node_id node) { return std::ranges::count(left, node) > 0; };
    for (const auto& [one, other] : pairs)
        BOOST_TEST((is_left(one) || is_left(other)));
    for (const node_id node : left)
        BOOST_TEST(std::ranges::any_of(pairs, [&](const unlinked_pair& pair) {
            return (pair.first == node && !is_left(pair.second)) ||
                   (pair.second == node && !is_left(pair.first));
        }));
}

BOOST_AUTO_TEST_CASE(a_sentence_names_who_is_left_out_and_whom_it_does_not_reach) {
    const auto members = members_of("abcd");
    const std::vector pairs{between('b', 'c')};
    BOOST_TEST(left_texts(members, pairs, {node_id{'c'}}) ==
                   std::vector<std::string>{
                       "node b (b:1) and node c (c:1) do not reach each other, for a reason that "
                       "their logs name; the run does without node c; give each a --listen "
                       "address that the others reach"},
               boost::test_tools::per_element());
    const auto two = left_texts(members, {between('b', 'c'), between('c', 'd')}, {node_id{'c'}});
    BOOST_TEST_REQUIRE(two.size() == 1u);
    BOOST_TEST(two[0].starts_with("node b (b:1) and node c (c:1) do not reach each other, nor do "
                                  "node c and 1 more, for"));
}

BOOST_AUTO_TEST_SUITE_END()
