#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <numeric>

#include "actors/scheduled/selection.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

std::vector<std::int64_t> numbers(std::int64_t first, std::size_t count) {
    std::vector<std::int64_t> all(count);
    std::iota(all.begin(), all.end(), first);
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(scheduled_selection)

BOOST_AUTO_TEST_CASE(draws_in_proportion_to_last_changes_and_the_base_width) {
    constexpr std::size_t draws = 200000;
    const std::vector<double> changes{0, 1, 2, 5, 0, 8, 0.5, 3.5};
    const double sum = std::accumulate(changes.begin(), changes.end(), 0.0);
    const double base = 0.1 * sum / static_cast<double>(changes.size());
    auto order = dynamic_selection({100, changes.size()}, 0.1);
    for (std::size_t i = 0; i < changes.size(); ++i)
        order->note_change(static_cast<std::int64_t>(100 + i), changes[i]);
    const auto eligible = numbers(100, changes.size());
    random_stream random{7};
    std::map<std::int64_t, double> counts;
    for (std::size_t i = 0; i < draws; ++i)
        counts[order->choose(eligible, 1, random).front()] += 1;
    double chi_square = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const double expected =
            draws * (changes[i] + base) / (sum + base * static_cast<double>(changes.size()));
        const double off = counts[static_cast<std::int64_t>(100 + i)] - expected;
        chi_square += off * off / expected;
    }
    BOOST_TEST(chi_square < 24.3); // 7 degrees of freedom: one in a thousand is above
}

BOOST_AUTO_TEST_CASE(chooses_different_variables_those_with_large_changes_first) {
    auto order = dynamic_selection({0, 50}, 0.5);
    for (std::int64_t j = 0; j < 50; ++j)
        order->note_change(j, static_cast<double>(j % 7));
    random_stream random{1};
    const std::vector<std::int64_t> eligible{3, 5, 8, 13, 20, 27, 34, 41, 48, 49};
    for (int i = 0; i < 100; ++i) {
        const auto chosen = order->choose(eligible, 6, random);
        BOOST_TEST(chosen.size() <= 6u);
        BOOST_TEST(!chosen.empty());
        for (std::size_t k = 0; k < chosen.size(); ++k) {
            BOOST_TEST(std::ranges::binary_search(eligible, chosen[k]));
            BOOST_TEST(std::ranges::count(chosen, chosen[k]) == 1);
            BOOST_TEST((k == 0 || chosen[k - 1] % 7 >= chosen[k] % 7));
        }
    }
}

BOOST_AUTO_TEST_CASE(chooses_all_if_there_are_no_more_than_are_asked_for) {
    auto order = dynamic_selection({0, 10}, 0.1);
    random_stream random{1}, untouched{1};
    const auto eligible = numbers(2, 4);
    BOOST_TEST((order->choose(eligible, 4, random) == eligible));
    BOOST_TEST((order->choose(eligible, 9, random) == eligible));
    BOOST_TEST(order->choose({}, 9, random).empty());
    BOOST_TEST(random.next() == untouched.next());
}

BOOST_AUTO_TEST_CASE(draws_all_alike_before_anything_has_changed) {
    auto order = dynamic_selection({0, 4}, 0.1);
    random_stream random{3};
    std::map<std::int64_t, int> counts;
    for (int i = 0; i < 4000; ++i)
        ++counts[order->choose(numbers(0, 4), 1, random).front()];
    for (std::int64_t j = 0; j < 4; ++j)
        BOOST_TEST(std::abs(counts[j] - 1000) < 150);
}

BOOST_AUTO_TEST_CASE(a_cyclic_schedule_passes_over_all_in_order_and_begins_again) {
    auto order = cyclic_selection();
    random_stream random{1};
    const std::vector<std::int64_t> eligible{2, 3, 5, 7, 11};
    using set = std::vector<std::int64_t>;
    BOOST_TEST((order->choose(eligible, 2, random) == set{2, 3}));
    BOOST_TEST((order->choose(eligible, 2, random) == set{5, 7}));
    BOOST_TEST((order->choose(eligible, 2, random) == set{11, 2}));
    // What is eligible may change; it goes on behind the last one.
    BOOST_TEST((order->choose(set{1, 4, 9}, 2, random) == set{4, 9}));
    BOOST_TEST((order->choose(set{1, 4, 9}, 5, random) == set{1, 4, 9}));
    BOOST_TEST(order->choose({}, 5, random).empty());
}

BOOST_AUTO_TEST_CASE(goes_on_from_a_saved_state) {
    for (const bool is_cyclic : {false, true}) {
        const auto make = [&] {
            return is_cyclic ? cyclic_selection() : dynamic_selection({0, 20}, 0.1);
        };
        auto one = make(), other = make();
        random_stream random{5};
        const auto eligible = numbers(0, 20);
        for (int i = 0; i < 10; ++i)
            for (const std::int64_t j : one->choose(eligible, 3, random))
                one->note_change(j, static_cast<double>(j) / 3);
        BOOST_TEST(other->restore(one->state()).ok());
        random_stream same = random;
        for (int i = 0; i < 10; ++i)
            BOOST_TEST((one->choose(eligible, 3, random) == other->choose(eligible, 3, same)));
        BOOST_TEST(!other->restore(std::vector<double>{1, 2, 3}).ok());
        BOOST_TEST(!other->restore(std::vector<double>(is_cyclic ? 1 : 20, -1.0)).ok());
    }
}

BOOST_AUTO_TEST_SUITE_END()
