// lasso_scheduler: from what was saved.
#include <algorithm>
#include <cmath>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/lasso/course_numbers.hpp"
#include "apps/lasso/few_numbers.hpp"
#include "apps/lasso/lasso_scheduler.hpp"

namespace troupe::lasso {

namespace {

error bad(const char* what) {
    return {errc::protocol, std::string{what} + ": the saved state of lasso has other sizes"};
}

template <class Number>
result<void> copy(const scheduled::saved_part& saved, const char* name, std::vector<Number>& to) {
    const auto numbers = scheduled::read_state<Number>(saved, name);
    if (!numbers)
        return numbers.failure();
    to.assign(numbers->begin(), numbers->end());
    return {};
}

// The first failure of several, if any.
template <class... Results>
result<void> all_of(const Results&... results) {
    if (const error* failure = scheduled::first_failure(results...))
        return *failure;
    return {};
}

bool are_finite(const std::vector<double>& numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
}

} // namespace

result<void> lasso_scheduler::load(const scheduled::saved_part& saved) {
    if (auto loaded = load_course(saved); !loaded)
        return loaded;
    std::vector<double> rule;
    phases_under_way::contents phases;
    gram_cache::contents gram;
    working_set::contents working;
    auto copied = all_of(
        copy(saved, "phases", phases.numbers), copy(saved, "phase variables", phases.chosen),
        copy(saved, "phase gradients", phases.gradients), copy(saved, "rule", rule),
        copy(saved, "product numbers", gram.numbers), copy(saved, "known products", gram.known),
        copy(saved, "product places", gram.places), copy(saved, "products", gram.products),
        copy(saved, "fresh gradients", fresh_gradients_), copy(saved, "working set", working.own),
        copy(saved, "others", working.others), copy(saved, "facts of others", working.facts));
    if (!copied)
        return copied;
    const auto order = read_few(saved, "order", order_->state().size());
    if (!order)
        return order.failure();
    if (!under_way_.load(phases, [this](const own_phase& p) { return may_be_under_way(p); }))
        return bad("phases");
    if (!rule_.load(rule))
        return bad("rule");
    auto solutions = read_solutions(saved);
    if (!solutions)
        return solutions.failure();
    solutions_ = std::move(*solutions);
    const auto is_own = [this](std::int64_t j) { return working_.is_own(j); };
    if (!std::ranges::all_of(working.own, is_own) || (facts_.empty() && !working.own.empty()))
        return bad("working set");
    if (!fresh_gradients_.empty() &&
        (fresh_gradients_.size() != working.own.size() || !are_finite(fresh_gradients_)))
        return bad("fresh gradients");
    return all_of(order_->restore(*order), couplings_.load(gram, saved, options_.columns),
                  working_.load(working));
}

result<void> lasso_scheduler::load_course(const scheduled::saved_part& saved) {
    std::vector<double> course, facts, squares, steps;
    std::vector<std::int32_t> entries;
    judged_values judged;
    auto copied = all_of(copy(saved, "course", course), copy(saved, "facts", facts),
                         copy(saved, "judged gradients", judged.gradients),
                         copy(saved, "judged values", judged.values),
                         copy(saved, "weighted squares", squares), copy(saved, "steps", steps),
                         copy(saved, "entries", entries));
    if (!copied)
        return copied;
    if (course.size() != course_numbers || !are_finite(course) ||
        !(course[lambda_at] >= 0 && course[lambda_at] < options_.settings.count) ||
        !(course[used] >= 0 && course[used] <= static_cast<double>(options_.columns)))
        return bad("course");
    auto values = read_few(saved, "values", values_.size());
    if (!values)
        return values.failure();
    if (!are_finite(*values))
        return bad("values");
    const bool needs_facts = course[has_begun] != 0 || course[is_judged] != 0 || !facts.empty();
    const std::size_t each = facts_table::numbers_of_each(options_.form.is_centred);
    if (facts.size() != (needs_facts ? each * values_.size() : 0) || !are_finite(facts))
        return bad("facts");
    if (entries.size() != (options_.is_sparse ? facts.size() / each : 0) ||
        std::ranges::any_of(entries, [](std::int32_t n) { return n < 0; }))
        return bad("entries");
    const bool is_logistic = options_.settings.is_logistic();
    const auto is_count = [](double x) { return x >= 0 && x <= 0x1p53; };
    if (!is_count(course[round]) || !is_count(course[probe_from]) || !(course[weight] > 0))
        return bad("course");
    if (squares.size() != (is_logistic ? facts.size() / each : 0) || !are_finite(squares) ||
        std::ranges::any_of(squares, [](double x) { return x < 0; }))
        return bad("weighted squares");
    if (is_logistic && !steps_.load(steps, values_.size()))
        return bad("steps");
    course_ = {.has_begun = course[has_begun] != 0,
               .is_done = course[is_done] != 0,
               .objective = {.null = course[null_objective],
                             .bound = course[objective_bound],
                             .residual_square = course[residual_square],
                             .weight = course[weight]},
               .intercept = {.target_mean = course[target_mean],
                             .shift = course[shift],
                             .has_shifted = course[has_shifted] != 0},
               .round = {.number = static_cast<std::uint64_t>(course[round]),
                         .waits = course[waits] != 0,
                         .has_returned = course[has_returned] != 0,
                         .probe_from = static_cast<std::uint64_t>(course[probe_from])},
               .set = {.used = course[used],
                       .may_gain = course[may_gain] != 0,
                       .has_exact_products = course[has_exact_products] != 0,
                       .is_whole = course[is_whole] != 0}};
    path_.restore(course[lambda_max], static_cast<std::uint32_t>(course[lambda_at]));
    values_ = std::move(*values);
    facts_.resize(facts.size() / each);
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        column_facts known = facts_of_centred(each == 2 ? facts[2 * i] : 0.0,
                                              facts[each * i + each - 1], options_.form);
        if (is_logistic)
            known.square = squares[i];
        if (options_.is_sparse)
            known.entries = entries[i];
        facts_.set(i, known);
    }
    judged_.reset();
    if (course[is_judged] == 0)
        return {};
    if (judged.gradients.size() != values_.size() || judged.values.size() != values_.size() ||
        !are_finite(judged.gradients) || !are_finite(judged.values))
        return bad("judged values");
    judged.is_now = course[judged_is_now] != 0;
    judged.shift = course[judged_shift];
    judged_ = std::move(judged);
    return {};
}

bool lasso_scheduler::may_be_under_way(const own_phase& p) const {
    const auto is_own = [this](std::int64_t j) { return working_.is_own(j); };
    return std::ranges::all_of(p.chosen, is_own) && (!facts_.empty() || p.chosen.empty()) &&
           (!p.is_return || steps_.is_going_back() || p.round != course_.round.number);
}

} // namespace troupe::lasso
