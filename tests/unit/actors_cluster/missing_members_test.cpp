#include <boost/test/unit_test.hpp>

#include "actors/cluster/missing_members.hpp"
#include "schemas/base/limits.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

member_info member(std::uint64_t node, const std::string& name, const std::string& address) {
    return {.node = node_id{node}, .name = name, .address = address};
}

const member_info b = member(2, "b", "host-b:4100");
const member_info c = member(3, "c", "host-c:4100");
using names = std::vector<std::string>;

// Addresses that are tried.
std::vector<std::string> tried(missing_members& missing, time_point now) {
    std::vector<std::string> addresses;
    for (const auto& [node, address] : missing.due(now))
        addresses.push_back(address);
    return addresses;
}

} // namespace

BOOST_AUTO_TEST_SUITE(missing_members_values)

BOOST_AUTO_TEST_CASE(attempts_come_after_1_2_4_8_16_and_then_every_30_seconds_for_a_day) {
    missing_members missing;
    const time_point lost{};
    missing.look_for(b, missing_members::cause::lost, lost);
    std::vector<std::int64_t> seconds;
    for (duration after = 0s; after < 25h; after += 500ms)
        for (const auto& [node, address] : missing.due(lost + after)) {
            BOOST_TEST((node == b.node && address == b.address));
            seconds.push_back(after / 1s);
        }
    const std::vector<std::int64_t> first{1, 3, 7, 15, 31, 61, 91, 121};
    BOOST_TEST(std::vector(seconds.begin(), seconds.begin() + 8) == first,
               boost::test_tools::per_element());
    BOOST_TEST(seconds.back() < 24 * 3600);
    BOOST_TEST(seconds.back() >= 24 * 3600 - 30);
    BOOST_TEST(!missing.looks_for(b.node));
}

BOOST_AUTO_TEST_CASE(who_is_looked_for_already_keeps_its_times) {
    missing_members missing;
    const time_point now{};
    missing.look_for(b, missing_members::cause::lost, now);
    missing.look_for(b, missing_members::cause::lost, now + 900ms);
    BOOST_TEST((tried(missing, now + 1s) == names{b.address}));
    missing.look_for(b, missing_members::cause::lost, now + 1s);
    BOOST_TEST(tried(missing, now + 2s).empty());
    BOOST_TEST((tried(missing, now + 3s) == names{b.address}));
}

BOOST_AUTO_TEST_CASE(who_was_never_met_and_cannot_be_reached_is_named_once) {
    missing_members missing;
    missing.look_for(b, missing_members::cause::never_met, {});
    missing.look_for(c, missing_members::cause::lost, {}); // its loss has been told
    BOOST_TEST(missing.unreachable("elsewhere:1") == "");
    BOOST_TEST(missing.unreachable(b.address) == "b");
    BOOST_TEST(missing.unreachable(b.address) == "");
    BOOST_TEST(missing.unreachable(c.address) == "");
}

BOOST_AUTO_TEST_CASE(who_is_found_or_forgotten_is_not_looked_for_and_begins_anew_when_lost_again) {
    missing_members missing;
    const time_point now{};
    missing.look_for(b, missing_members::cause::lost, now);
    missing.look_for(c, missing_members::cause::lost, now);
    missing.found(b);
    missing.forget(c.node);
    BOOST_TEST(tried(missing, now + 1h).empty());
    missing.look_for(b, missing_members::cause::lost, now + 1h);
    BOOST_TEST(tried(missing, now + 1h).empty());
    BOOST_TEST((tried(missing, now + 1h + 1s) == names{b.address}));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_told_once_and_is_not_the_end) {
    missing_members missing;
    missing.look_for(b, missing_members::cause::lost, {});
    BOOST_TEST(missing.refused(b.node));
    BOOST_TEST(!missing.refused(b.node));
    BOOST_TEST(!missing.refused(c.node));
    BOOST_TEST((tried(missing, time_point{} + 1s) == names{b.address}));
}

BOOST_AUTO_TEST_CASE(whose_name_or_address_another_process_has_is_gone) {
    const time_point now{};
    for (const member_info& other :
         {member(7, "b", "elsewhere:1"), member(7, "other", b.address)}) {
        missing_members missing;
        missing.look_for(b, missing_members::cause::lost, now);
        missing.look_for(c, missing_members::cause::lost, now);
        missing.found(other);
        BOOST_TEST((tried(missing, now + 1s) == names{c.address}));
    }
    missing_members missing;
    missing.look_for(b, missing_members::cause::lost, now);
    missing.answered(b.node, b.address); // itself
    BOOST_TEST(missing.looks_for(b.node));
    missing.answered(node_id{7}, c.address);
    BOOST_TEST(missing.looks_for(b.node));
    missing.answered(node_id{7}, b.address);
    BOOST_TEST(!missing.looks_for(b.node));
}

BOOST_AUTO_TEST_CASE(no_more_are_looked_for_than_a_cluster_has) {
    missing_members missing;
    for (std::uint64_t i = 1; i <= limits::nodes_max + 10; ++i)
        missing.look_for(member(i, std::to_string(i), std::to_string(i)),
                         missing_members::cause::lost, {});
    BOOST_TEST(missing.due(time_point{} + 1s).size() == limits::nodes_max);
}

BOOST_AUTO_TEST_SUITE_END()
