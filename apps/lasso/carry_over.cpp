#include "apps/lasso/carry_over.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/lasso/course_numbers.hpp"
#include "apps/lasso/facts_table.hpp"
#include "apps/lasso/few_numbers.hpp"
#include "apps/lasso/gathered_columns.hpp"
#include "apps/lasso/gram_cache.hpp"
#include "apps/lasso/newton_steps.hpp"
#include "apps/lasso/phases_under_way.hpp"
#include "apps/lasso/settings.hpp"
#include "apps/lasso/solutions.hpp"
#include "apps/lasso/working_set.hpp"

namespace troupe::lasso {

namespace {

using scheduled::number_range;
using scheduled::saved_part;

error bad() {
    return {errc::protocol, "the saved parts of lasso do not fit together"};
}

// Numbers by name of all parts, one after the other; `each` for each variable, or row, or none at all.
template <class Number = double>
result<std::vector<Number>> joined(const std::vector<saved_part>& parts, const char* name,
                                   std::uint64_t count, std::size_t each = 1) {
    std::vector<Number> all;
    for (const saved_part& part : parts) {
        const auto numbers = scheduled::read_state<Number>(part, name);
        if (!numbers)
            return numbers.failure();
        all.insert(all.end(), numbers->begin(), numbers->end());
    }
    if (!all.empty() && all.size() != count * each)
        return bad();
    return all;
}

template <class Number>
std::span<const Number> of(const std::vector<Number>& all, const number_range& range,
                           std::size_t each = 1) {
    return all.empty() ? std::span<const Number>{}
                       : std::span{all}.subspan(range.first * each, range.count * each);
}

// ---- schedulers ----

result<std::vector<solution>> joined_solutions(const std::vector<saved_part>& parts) {
    std::vector<solution> all;
    for (const saved_part& part : parts) {
        auto own = read_solutions(part);
        if (!own)
            return own.failure();
        if (&part == &parts.front()) {
            all = std::move(*own);
            continue;
        }
        if (own->size() != all.size())
            return bad();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const solution& more = (*own)[i];
            all[i].columns.insert(all[i].columns.end(), more.columns.begin(), more.columns.end());
            all[i].values.insert(all[i].values.end(), more.values.begin(), more.values.end());
        }
    }
    return all;
}

std::vector<solution> of(const std::vector<solution>& all, const number_range& range) {
    std::vector<solution> own;
    for (const solution& s : all) {
        solution& to = own.emplace_back();
        to.numbers = s.numbers;
        for (std::size_t i = 0; i < s.columns.size(); ++i) {
            const auto column = static_cast<std::uint64_t>(s.columns[i]);
            if (column < range.first || column - range.first >= range.count)
                continue;
            to.columns.push_back(s.columns[i]);
            to.values.push_back(s.values[i]);
        }
    }
    return own;
}

// Sets what is true of the new run before its first probe.
void begin_anew(std::vector<double>& course, bool is_logistic, double rows) {
    if (course[has_begun] == 0) { // at the beginning
        std::ranges::fill(course, 0.0);
        course[weight] = rows;
        return;
    }
    for (const std::size_t at : {is_done, may_gain, waits, has_returned, probe_from})
        course[at] = 0;
    std::fill(course.begin() + first_of_probe, course.end(), 0.0);
    std::fill(course.begin() + first_of_judged, course.begin() + last_of_judged + 1, 0.0);
    if (is_logistic) // the problem that the intercept is shifted for is no more
        course[has_shifted] = 1;
}

// The model as the schedulers know it, of all variables.
struct whole_model {
    std::vector<double> course, values, facts, squares;
    std::vector<std::int32_t> entries;
    std::vector<double>
        sizes; // of the last changes, if the schedule is dynamic; of another, it begins anew
    std::vector<solution> solutions;
};

// The same of numbers of which few are not 0.
result<std::vector<double>> joined_few(const std::vector<saved_part>& parts, const char* name,
                                       std::span<const number_range> ranges) {
    if (parts.size() != ranges.size())
        return bad();
    std::vector<double> all;
    for (std::size_t s = 0; s < parts.size(); ++s) {
        const auto numbers = read_few(parts[s], name, ranges[s].count);
        if (!numbers)
            return numbers.failure();
        all.insert(all.end(), numbers->begin(), numbers->end());
    }
    return all;
}

result<whole_model> joined_model(const std::vector<saved_part>& parts,
                                 const scheduled::carried_site& before, bool is_dynamic,
                                 const lasso_settings& settings) {
    const std::uint64_t columns = before.data.columns;
    const auto course = scheduled::read_state<double>(parts.front(), "course");
    auto values = joined_few(parts, "values", before.variables),
         facts = joined(parts, "facts", columns, facts_table::numbers_of_each(settings.intercept)),
         squares = joined(parts, "weighted squares", columns);
    auto entries = joined<std::int32_t>(parts, "entries", columns);
    auto sizes = is_dynamic ? joined_few(parts, "order", before.variables) : std::vector<double>{};
    auto solutions = joined_solutions(parts);
    if (const error* failure =
            scheduled::first_failure(course, values, facts, squares, entries, sizes, solutions))
        return *failure;
    if (course->size() != course_numbers || values->empty())
        return bad();
    whole_model model{{course->begin(), course->end()},
                      std::move(*values),
                      std::move(*facts),
                      std::move(*squares),
                      std::move(*entries),
                      std::move(*sizes),
                      std::move(*solutions)};
    begin_anew(model.course, settings.is_logistic(), static_cast<double>(before.data.rows));
    if (model.course[has_begun] == 0) {
        model.facts.clear();
        model.squares.clear();
        model.entries.clear();
    }
    return model;
}

result<saved_part> part_of(const whole_model& model, const number_range& own, bool is_dynamic,
                           const lasso_settings& settings, memory_pool& memory) {
    const std::array<double, 1> first_in_turn{0};
    const std::array<double, 6> probe_is_due{0, 0, 0, 0, 0, 1};
    const auto phases = phases_under_way{}.save();
    const auto gram = gram_cache{0}.save();
    const working_set::contents working;
    const std::span<const double> none;
    scheduled::state_writer write{memory};
    write("course", model.course);
    write("facts", of(model.facts, own, facts_table::numbers_of_each(settings.intercept)));
    write("weighted squares", of(model.squares, own));
    write("phases", phases.numbers)("phase variables", phases.chosen)("phase gradients",
                                                                      phases.gradients);
    write("product numbers", gram.numbers)("known products", gram.known);
    write("product places", gram.places)("products", gram.products);
    write("working set", working.own)("others", working.others)("facts of others", working.facts);
    write("entries", of(model.entries, own));
    write("rule", probe_is_due);
    write("steps", settings.is_logistic() ? newton_steps{}.save() : std::vector<double>{});
    write("fresh gradients", none)("judged gradients", none)("judged values", none);
    auto part = std::move(write).finish();
    if (!part)
        return part;
    const std::span<const double> order =
        is_dynamic ? of(model.sizes, own) : std::span<const double>{first_in_turn};
    for (const auto& appended : {append_few(memory, "values", of(model.values, own), *part),
                                 append_few(memory, "order", order, *part),
                                 gathered_columns{memory, 0}.save(memory, *part),
                                 append_solutions(memory, of(model.solutions, own), *part)})
        if (!appended)
            return appended.failure();
    return part;
}

result<void> carry_schedulers(const scheduled::carried_site& before,
                              const scheduled::carried_site& now, scheduled::carried_run& run) {
    const auto settings = read_settings(now.settings);
    if (!settings)
        return settings.failure();
    const bool is_dynamic = now.schedule.kind == scheduled::schedule_kind::dynamic;
    const auto model = joined_model(run.schedulers, before, is_dynamic, *settings);
    if (!model)
        return model.failure();
    run.schedulers.clear();
    for (const number_range& own : now.variables) {
        auto part = part_of(*model, own, is_dynamic, *settings, *now.memory);
        if (!part)
            return part.failure();
        run.schedulers.push_back(std::move(*part));
    }
    return {};
}

// ---- workers ----

result<void> carry_workers(const scheduled::carried_site& now, scheduled::carried_run& run) {
    const auto settings = read_settings(now.settings);
    if (!settings)
        return settings.failure();
    std::vector<const char*> names{"residual"};
    if (settings->is_logistic())
        names.insert(names.end(), {"margins", "weights"});
    std::vector<std::vector<double>> whole;
    for (const char* name : names) {
        auto all = joined(run.workers, name, now.data.rows);
        if (!all)
            return all.failure();
        if (all->empty())
            return bad();
        whole.push_back(std::move(*all));
    }
    const std::vector<saved_part> before = std::exchange(run.workers, {});
    for (const number_range& own : now.rows) {
        scheduled::state_writer write{*now.memory};
        for (std::size_t i = 0; i < names.size(); ++i)
            write(names[i], of(whole[i], own));
        const auto residual = of(whole[0], own);
        write("residual sum", std::array{std::accumulate(residual.begin(), residual.end(), 0.0)});
        if (settings->is_logistic()) {
            const auto intercept = scheduled::read_state<double>(before.front(), "intercept");
            if (!intercept)
                return intercept.failure();
            write("intercept", *intercept);
        }
        auto part = std::move(write).finish();
        if (!part)
            return part.failure();
        run.workers.push_back(std::move(*part));
    }
    return {};
}

} // namespace

result<void> carry_over(const scheduled::carried_site& before, const scheduled::carried_site& now,
                        scheduled::carried_run& run) {
    if (auto carried = carry_schedulers(before, now, run); !carried)
        return carried;
    return now.rows == before.rows ? result<void>{} : carry_workers(now, run);
}

} // namespace troupe::lasso
