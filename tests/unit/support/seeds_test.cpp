// Which seeds a case takes, and that whatever happens with one is reported with it.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

result<chosen_seeds> parse(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    return parse_seeds(pointers);
}

std::vector<std::string> context() {
    std::vector<std::string> lines;
    auto generator = boost::unit_test::framework::get_context();
    for (auto line = generator.next(); !line.empty(); line = generator.next())
        lines.emplace_back(line.begin(), line.end());
    return lines;
}

} // namespace

BOOST_AUTO_TEST_SUITE(seeds_of_tests)

BOOST_AUTO_TEST_CASE(the_command_line_gives_the_first_seed_and_how_many) {
    const chosen_seeds none = parse({}).value();
    BOOST_TEST(!none.first.has_value());
    BOOST_TEST(!none.count.has_value());
    const chosen_seeds both = parse({"--seeds", "3", "--first-seed", "500001"}).value();
    BOOST_TEST(both.first.value() == 500001u);
    BOOST_TEST(both.count.value() == 3u);
    BOOST_TEST(parse({"--first-seed", "0"}).value().first.value() == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_is_an_error) {
    using words = std::vector<std::string>;
    const std::pair<words, std::string> all[] = {
        {{"--seed", "3"}, "'--seed' is no argument of a seeded test; "},
        {{"500001"}, "'500001' is no argument of a seeded test; "},
        {{"--seeds"}, "--seeds is ''; give a whole number above 0"},
        {{"--seeds", "0"}, "--seeds is '0'; give a whole number above 0"},
        {{"--seeds", "-1"}, "--seeds is '-1'; "},
        {{"--first-seed", "5x"}, "--first-seed is '5x'; give a whole number"},
        {{"--first-seed", "18446744073709551616"}, "--first-seed is '18446744073709551616'; "},
        {{"--seeds", "2", "--seeds", "2"}, "--seeds is given twice; give it once"}};
    for (const auto& [line, sentence] : all) {
        const auto chosen = parse(line);
        BOOST_TEST_REQUIRE(!chosen.ok());
        BOOST_TEST(chosen.failure().message().starts_with(sentence), chosen.failure().message());
    }
}

BOOST_AUTO_TEST_CASE(each_seed_is_taken_once_and_stands_in_what_fails, *seeded) {
    const seed_range seeds{20, 7};
    const chosen_seeds chosen = seeds_of_command_line();
    BOOST_TEST(seeds.size() == chosen.count.value_or(20));
    BOOST_TEST(seeds.are_few() == (seeds.size() < 20));
    std::uint64_t expected = chosen.first.value_or(7);
    for (const std::uint64_t seed : seeds) {
        BOOST_TEST(seed == expected++);
        const auto said = context();
        BOOST_TEST_REQUIRE(said.size() == 1u);
        BOOST_TEST(said[0] == "seed " + std::to_string(seed));
    }
    BOOST_TEST(expected == chosen.first.value_or(7) + seeds.size());
    BOOST_TEST(context().empty());
}

BOOST_AUTO_TEST_SUITE_END()
