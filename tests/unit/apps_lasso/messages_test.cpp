#include <boost/test/unit_test.hpp>

#include "apps/lasso/messages.hpp"

using namespace troupe;
using namespace troupe::lasso;

BOOST_AUTO_TEST_SUITE(lasso_messages)

BOOST_AUTO_TEST_CASE(a_phase_is_described_by_its_first_variables) {
    memory_pool memory{1u << 20};
    const auto description = [&](std::vector<std::int32_t> chosen) {
        return describe_update(to_payload(memory, update_request{std::move(chosen), {}}).value());
    };
    BOOST_TEST(description({17}) == "1 variable: 17");
    BOOST_TEST(description({17, 4, 90}) == "3 variables: 17 4 90");
    BOOST_TEST(description({1, 2, 3, 4, 5, 6, 7, 8, 9}) == "9 variables: 1 2 3 4 5 6 7 8 ...");
    BOOST_TEST(description({}) == "0 variables");
    BOOST_TEST(describe_update({}).starts_with("the chosen variables"));
}

BOOST_AUTO_TEST_SUITE_END()
