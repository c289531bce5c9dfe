// The smaller parts of lasso: the check of correlations, working sets, and when probes are due.
#include <cmath>

#include <boost/test/unit_test.hpp>

#include "apps/lasso/checked_update.hpp"
#include "apps/lasso/penalty_path.hpp"
#include "apps/lasso/probe_rule.hpp"
#include "apps/lasso/working_set.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

using variables = std::vector<std::int64_t>;
using columns = std::vector<std::int32_t>;

bool are(std::span<const std::int64_t> some, const variables& others) {
    return std::ranges::equal(some, others);
}

// A scheduler's judgement whose lists outlive it.
struct listed {
    columns names;
    std::vector<double> gradients, means, squares;
    std::size_t in_use = 0;

    listed(columns used, columns others, std::vector<double> of_others)
        : names{std::move(used)}, in_use{names.size()} {
        gradients.assign(in_use, 1.0);
        names.insert(names.end(), others.begin(), others.end());
        gradients.insert(gradients.end(), of_others.begin(), of_others.end());
        means.assign(names.size(), 0.0);
        squares.assign(names.size(), 1.0);
    }
    judgement view() const {
        judgement j;
        j.in_use = in_use;
        j.columns = names;
        j.gradients = gradients;
        j.means = means;
        j.squares = squares;
        return j;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_parts)

BOOST_AUTO_TEST_CASE(correlated_candidates_are_left_out_the_first_is_kept) {
    const candidate_set start{
        {1, 0.5, 0.05, 0.5, 1, 0.05, 0.05, 0.05, 1}, {3, 4, 5}, {0, 0, 0}, {0, 0, 0.2}};
    const penalty p{1, 0};
    candidate_set set = start;
    const checked_outcome outcome = update_checked(set, p, 0.1);
    BOOST_TEST((outcome.is_kept == std::vector<bool>{true, false, false}));
    BOOST_TEST((set.values == std::vector<double>{2, 0, 0}));
    BOOST_TEST(outcome.decrease == 2);
    BOOST_TEST(outcome.refused == 0.5);
    set = start;
    BOOST_TEST(update_checked(set, p, 0.6).refused == 0);
    set = start;
    set.in_flight.assign(3, 0);
    BOOST_TEST((update_checked(set, p, 0.1).is_kept == std::vector<bool>{true, false, true}));
    set = start;
    BOOST_TEST((update_checked(set, p, HUGE_VAL).is_kept == std::vector<bool>{true, true, true}));
    BOOST_TEST((set.values == std::vector<double>{2, 3, 4}));
    set = start;
    BOOST_TEST((update_checked(set, p, 0.6).is_kept == std::vector<bool>{true, true, true}));
}

BOOST_AUTO_TEST_CASE(a_working_set_has_what_is_in_use_and_the_worst_of_the_others) {
    const column_form form{100, false, false};
    const listed own{{1, 4}, {0, 2, 3}, {3, 2, 0.5}}, other{{7}, {8, 9}, {2.5, 0.9}};
    const std::vector<judgement> judgements{own.view(), other.view()};
    working_set set{{0, 5}, 2};
    set.replace(10, judgements, {1, 5}, form);
    BOOST_TEST(are(set.own(), {0, 1, 4}));
    BOOST_TEST((set.others(13) == columns{7, 8}));
    BOOST_TEST(set.size() == 5u);
    set.replace(10, judgements, {1, 100}, form); // 0.5 and 0.9 are too far from the penalty
    BOOST_TEST(are(set.own(), {0, 1, 2, 4}));
    BOOST_TEST((set.others(13) == columns{7, 8}));
    set.replace(10, judgements, {1, 1}, form); // what is in use stays
    BOOST_TEST(are(set.own(), {1, 4}));
}

BOOST_AUTO_TEST_CASE(a_working_set_remembers_what_may_still_be_in_flight) {
    const column_form form{100, false, false};
    const listed none{{}, {}, {}}, before{{7, 8}, {}, {}}, after{{7}, {}, {}};
    working_set set{{0, 5}, 2};
    set.replace(10, std::vector<judgement>{none.view(), before.view()}, {1, 100}, form);
    set.replace(16, std::vector<judgement>{none.view(), after.view()}, {1, 100}, form);
    // Phases up to 18 were chosen with 8 in the set; up to 20 they may be in flight.
    BOOST_TEST((set.others(19) == columns{7, 8}));
    BOOST_TEST((set.others(20) == columns{7, 8}));
    BOOST_TEST((set.others(22) == columns{7}));
    BOOST_TEST(set.facts(8) != nullptr);
    // One of them changes it: it is back.
    BOOST_TEST(set.include(8).ok());
    BOOST_TEST((set.others(22) == columns{7, 8}));
    BOOST_TEST(!set.include(9).ok());
    BOOST_TEST(set.include(3).ok());
    BOOST_TEST(are(set.own(), {3}));

    working_set loaded{{0, 5}, 2};
    BOOST_TEST(loaded.load(set.save()).ok());
    BOOST_TEST((loaded.others(22) == columns{7, 8}));
    BOOST_TEST(are(loaded.own(), {3}));
}

BOOST_AUTO_TEST_CASE(a_probe_is_due_when_a_round_of_updates_gains_little) {
    probe_rule rule{4};
    rule.begin(1, 5, 6);
    rule.fold(4, {6, 0, 0}); // chosen before
    BOOST_TEST(!rule.is_due());
    rule.fold(5, {3, 0.021, HUGE_VAL});
    BOOST_TEST(!rule.is_due());
    rule.fold(6, {3, 0.021, HUGE_VAL});
    BOOST_TEST(!rule.is_due()); // 0.042 of 1
    rule.fold(7, {3, 0.006, HUGE_VAL});
    BOOST_TEST(rule.is_due()); // 0.027 in the last six updates
    probe_rule loaded{4};
    BOOST_TEST(loaded.load(rule.save()));
    BOOST_TEST(loaded.is_due());
    rule.fold(8, {3, 5, HUGE_VAL});
    BOOST_TEST(!rule.is_due());
    rule.fold(9, {6, 5, 0.9}); // all variables are settled
    BOOST_TEST(rule.is_due());
    rule.begin(1, 5, 6);
    for (std::uint64_t number = 5; number < 9; ++number) {
        BOOST_TEST(!rule.is_due());
        rule.fold(number, {0, 0, HUGE_VAL});
    }
    BOOST_TEST(rule.is_due()); // nothing left to update
    rule.begin(1, 5, 1);
    for (std::uint64_t number = 5; number < 25; ++number) {
        BOOST_TEST(!rule.is_due());
        rule.fold(number, {1, 5, HUGE_VAL});
    }
    BOOST_TEST(rule.is_due()); // many updates
}

BOOST_AUTO_TEST_CASE(a_probe_rule_takes_what_others_say) {
    probe_rule rule{4};
    rule.begin(1, 5, 0); // nothing to update, but another scheduler has
    rule.fold(5, {3, 1, HUGE_VAL});
    rule.fold(6, {3, 1, HUGE_VAL});
    BOOST_TEST(rule.is_due());

    const std::vector<double> saved = rule.save();
    BOOST_TEST(probe_rule{4}.load(saved));
    for (std::size_t i = 0; i < saved.size(); ++i)
        BOOST_TEST_CONTEXT("number " << i) {
            std::vector<double> broken = saved;
            broken[i] = std::nan("");
            BOOST_TEST(!probe_rule{4}.load(broken));
            broken[i] = -1;
            BOOST_TEST(probe_rule{4}.load(broken) == (i == 7)); // a decrease may be negative
            broken[i] = HUGE_VAL;
            BOOST_TEST(probe_rule{4}.load(broken) == (i == 0));
        }
}

BOOST_AUTO_TEST_CASE(a_saved_working_set_has_columns_of_others_and_numbers) {
    const working_set::contents right{{1, 3}, {7, -1}, {0, 1, 1, 9}};
    working_set set{{0, 5}, 2};
    BOOST_TEST(set.load(right).ok());
    const auto loads = [&](auto change) {
        working_set::contents c = right;
        change(c);
        return set.load(c).ok();
    };
    BOOST_TEST(!loads([](auto& c) { c.own = {3, 1}; }));
    BOOST_TEST(!loads([](auto& c) { c.own = {3, 3}; }));
    BOOST_TEST(!loads([](auto& c) { c.others[0] = 2; }));
    BOOST_TEST(!loads([](auto& c) { c.others[0] = -7; }));
    BOOST_TEST(!loads([](auto& c) { c.others[0] = std::int64_t{1} << 32; }));
    BOOST_TEST(!loads([](auto& c) { c.facts[0] = HUGE_VAL; }));
    BOOST_TEST(!loads([](auto& c) { c.facts[1] = -1; }));
    BOOST_TEST(!loads([](auto& c) { c.facts[2] = 0; }));
    BOOST_TEST(!loads([](auto& c) { c.facts[3] = -1; }));
    BOOST_TEST(!loads([](auto& c) { c.facts.pop_back(); }));
}

BOOST_AUTO_TEST_CASE(the_last_gap_is_aimed_at_when_it_is_close) {
    BOOST_TEST(next_gap(1, 1e-6) == 0.3);
    BOOST_TEST(next_gap(1, 0) == 0.3);
    BOOST_TEST(next_gap(1e-3, 1e-6) == 0.3e-6, boost::test_tools::tolerance(1e-14));
    BOOST_TEST(next_gap(0.5e-6, 1e-6) == 0.15e-6, boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(a_path_is_even_on_a_logarithmic_scale) {
    lasso_settings settings;
    settings.penalty = penalty_kind::path;
    settings.size = 0.01;
    settings.count = 3;
    settings.ratio = 0.5;
    penalty_path path{settings, 10};
    path.begin(40);
    BOOST_TEST(path.lambda() == 8);
    BOOST_TEST(path.weights().l1 == 40);
    BOOST_TEST(path.weights().l2 == 40);
    path.advance();
    BOOST_TEST(path.lambda() == 0.8, boost::test_tools::tolerance(1e-14));
    BOOST_TEST(!path.is_last());
    path.advance();
    BOOST_TEST(path.lambda() == 0.08, boost::test_tools::tolerance(1e-14));
    BOOST_TEST(path.is_last());
}

BOOST_AUTO_TEST_SUITE_END()
