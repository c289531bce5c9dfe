// The seeds that a test case draws its runs from: as many as it takes by default, or those that the command line gives
// behind two dashes:
//
//     build/tests/sim_servers --run_test=@seeded -- --first-seed 500001 --seeds 1000
//
// A case that takes them has the label `seeded`, by which tools/soak finds it:
//
//     BOOST_AUTO_TEST_CASE(nothing_is_lost, *seeded) {
//         const seed_range seeds{1000};
//         for (const std::uint64_t seed : seeds) ...
//
// Whatever fails in the loop, or ends the program, is reported with the seed.
#pragma once

#include <boost/test/unit_test.hpp>

#include <charconv>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/base/error.hpp"

namespace troupe::test {

inline const boost::unit_test::label seeded{"seeded"};

struct chosen_seeds { // what the command line gives; nothing: as the case says
    std::optional<std::uint64_t> first, count;
};

// `words`: those behind the program's name and the two dashes.
inline result<chosen_seeds> parse_seeds(std::span<char* const> words) {
    chosen_seeds chosen;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const std::string name = words[i];
        if (name != "--first-seed" && name != "--seeds")
            return error{errc::usage, "'" + name + "' is no argument of a seeded test; give " +
                                          "--first-seed NUMBER, --seeds NUMBER or both"};
        std::optional<std::uint64_t>& value = name == "--seeds" ? chosen.count : chosen.first;
        if (value)
            return error{errc::usage, name + " is given twice; give it once"};
        const std::string_view text = i + 1 < words.size() ? words[i + 1] : "";
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value.emplace());
        if (read.ec != std::errc{} || read.ptr != end || (name == "--seeds" && *value == 0))
            return error{errc::usage, name + " is '" + std::string{text} +
                                          "'; give a whole number" +
                                          (name == "--seeds" ? " above 0" : "")};
    }
    return chosen;
}

// Of this program; what it does not understand ends it before any test (tests/unit/main.cpp).
inline chosen_seeds seeds_of_command_line() {
    const auto& suite = boost::unit_test::framework::master_test_suite();
    const auto count = static_cast<std::size_t>(suite.argc);
    auto chosen = parse_seeds(std::span{suite.argv, count}.subspan(count > 0 ? 1 : 0));
    if (!chosen)
        throw boost::unit_test::framework::setup_error{chosen.failure().message()};
    return chosen.value();
}

class seed_range {
  public:
    explicit seed_range(std::uint64_t by_default, std::uint64_t first = 1)
        : by_default_{by_default} {
        namespace framework = boost::unit_test::framework;
        BOOST_REQUIRE_MESSAGE(framework::current_test_case().has_label("seeded"),
                              "a case that takes seeds has the label `seeded`");
        const chosen_seeds chosen = seeds_of_command_line();
        first_ = chosen.first.value_or(first);
        count_ = chosen.count.value_or(by_default);
    }
    seed_range(const seed_range&) = delete;
    seed_range& operator=(const seed_range&) = delete;

    std::uint64_t size() const noexcept { return count_; }
    // Fewer than by default: what occurs among those need not occur among these.
    bool are_few() const noexcept { return count_ < by_default_; }

    class iterator {
      public:
        explicit iterator(const seed_range& range)
            : left_{range.count_}, seed_{range.first_}, context_{say(seed_)} {}
        ~iterator() { // what an exception ends is reported after it, and then Boost.Test clears all
            if (std::uncaught_exceptions() == 0)
                boost::unit_test::framework::clear_context(context_);
        }
        iterator(const iterator&) = delete;
        iterator& operator=(const iterator&) = delete;

        std::uint64_t operator*() const noexcept { return seed_; }
        bool operator==(std::default_sentinel_t) const noexcept { return left_ == 0; }
        iterator& operator++() {
            boost::unit_test::framework::clear_context(context_);
            --left_;
            context_ = say(++seed_);
            return *this;
        }

      private:
        static int say(std::uint64_t seed) {
            return boost::unit_test::framework::add_context(BOOST_TEST_LAZY_MSG("seed " << seed),
                                                            true);
        }

        std::uint64_t left_;
        std::uint64_t seed_;
        int context_;
    };
    iterator begin() const { return iterator{*this}; }
    std::default_sentinel_t end() const noexcept { return {}; }

  private:
    std::uint64_t by_default_;
    std::uint64_t first_ = 0;
    std::uint64_t count_ = 0;
};

} // namespace troupe::test
