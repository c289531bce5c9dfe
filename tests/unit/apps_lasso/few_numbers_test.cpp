#include <boost/test/unit_test.hpp>

#include <bit>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/lasso/few_numbers.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

scheduled::saved_part saved(memory_pool& memory, const std::vector<double>& numbers) {
    scheduled::saved_part part;
    BOOST_REQUIRE(append_few(memory, "values", numbers, part).ok());
    return part;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_few_numbers)

BOOST_AUTO_TEST_CASE(are_the_same_bits_after_they_were_saved_without_those_that_are_0) {
    memory_pool memory{1u << 20};
    const std::vector<double> numbers{0, 1.5, 0, -0.0, -2, 0};
    const scheduled::saved_part part = saved(memory, numbers);
    BOOST_TEST(scheduled::read_state<double>(part, "values").value().size() == 3u);
    const auto read = read_few(part, "values", 6);
    BOOST_REQUIRE(read.ok());
    for (std::size_t i = 0; i < numbers.size(); ++i)
        BOOST_TEST(std::bit_cast<std::uint64_t>((*read)[i]) ==
                   std::bit_cast<std::uint64_t>(numbers[i]));
    BOOST_TEST(read_few(saved(memory, {}), "values", 2).value().size() == 2u);
}

BOOST_AUTO_TEST_CASE(of_other_variables_are_refused) {
    memory_pool memory{1u << 20};
    const scheduled::saved_part part = saved(memory, {0, 1, 0, 0, 2});
    BOOST_TEST(read_few(part, "values", 5).ok());
    BOOST_TEST((read_few(part, "values", 4).failure().code() == errc::protocol));
    BOOST_TEST((read_few(part, "others", 5).failure().code() == errc::protocol));
    const auto with_places = [&](std::vector<std::int32_t> places) {
        scheduled::saved_part broken = part;
        broken.tensors[0] =
            scheduled::numbers_of(memory, std::span<const std::int32_t>{places}).value();
        return read_few(broken, "values", 5);
    };
    BOOST_TEST(with_places({1, 4}).ok());
    BOOST_TEST(!with_places({-1, 4}).ok());
    BOOST_TEST(!with_places({1}).ok());
}

BOOST_AUTO_TEST_SUITE_END()
