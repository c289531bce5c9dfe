#include <boost/test/unit_test.hpp>

#include <vector>

#include "schemas/base/philox.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(random_numbers_by_place)

// tests/kat_vectors of the authors' Random123.
BOOST_AUTO_TEST_CASE(philox_gives_the_published_words) {
    const auto check = [](philox_words counter, philox_key key,
                          std::vector<std::uint32_t> expected) {
        const philox_words given = philox(counter, key);
        BOOST_TEST(std::vector(given.word, given.word + 4) == expected,
                   boost::test_tools::per_element());
    };
    check({{0, 0, 0, 0}}, {{0, 0}}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    constexpr std::uint32_t ones = 0xffffffff;
    check({{ones, ones, ones, ones}}, {{ones, ones}},
          {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}},
          {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

BOOST_AUTO_TEST_SUITE_END()
