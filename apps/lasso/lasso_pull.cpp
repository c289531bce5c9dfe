// lasso_scheduler: what a phase changes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/lasso/lasso_scheduler.hpp"

namespace troupe::lasso {

namespace {

// Multiply-adds that a phase may be solved with, so that a scheduler is not busy for seconds; but a few passes in any case.
constexpr double solve_operations_max = 4e9;
constexpr std::size_t solve_passes_min = 20, solve_passes_max = 5000;

std::size_t passes_for(std::size_t variables) {
    const double pass = static_cast<double>(variables) * static_cast<double>(variables);
    return static_cast<std::size_t>(std::clamp(solve_operations_max / std::max(pass, 1.0),
                                               static_cast<double>(solve_passes_min),
                                               static_cast<double>(solve_passes_max)));
}

error diverged() {
    return {errc::numeric, "the coefficients of lasso have diverged: what was computed is no "
                           "number; use couple: exact, or a smaller window, set or rho"};
}

} // namespace

result<payload> lasso_scheduler::pull(const phase& p, in_flight deltas,
                                      std::span<const payload> partials) {
    TROUPE_CHECK(!under_way_.empty() && under_way_.front().number == p.number,
                 "phases are pulled in the order in which they were chosen");
    const std::vector<std::int64_t> chosen = std::move(under_way_.front().chosen);
    under_way_.pop_front();
    if (chosen.empty())
        return change(p.number, chosen, {});
    const auto request = read_update_request(p.content, options_.columns);
    if (!request)
        return request.failure();
    const auto sums = sums_of(*request, partials);
    if (!sums)
        return sums.failure();
    if (auto kept = keep_products(request->gram, sums->gram); !kept)
        return kept.failure();
    const auto f = flight_of(deltas);
    if (!f)
        return f.failure();
    const auto u = update(chosen, *sums, *f);
    if (!u)
        return u.failure();
    return change(p.number, chosen, *u);
}

// ---- what has come ----

result<lasso_scheduler::update_sums>
lasso_scheduler::sums_of(const update_request& request, std::span<const payload> partials) const {
    update_sums sums;
    sums.products.resize(request.chosen.size());
    sums.gram.resize(entries_of(request.gram));
    for (const payload& partial : partials) {
        const auto part =
            read_update_partial(partial, request.chosen.size(), sums.gram.size());
        if (!part)
            return part.failure();
        sums.residual_sum += part->residual_sum;
        std::ranges::transform(sums.products, part->products, sums.products.begin(), std::plus{});
        std::ranges::transform(sums.gram, part->gram, sums.gram.begin(), std::plus{});
    }
    return sums;
}

result<void> lasso_scheduler::keep_products(const gram_request& request,
                                            const std::vector<double>& sums) {
    auto next = sums.begin();
    const auto keep = [&](std::int32_t row, std::int32_t column) {
        const column_facts *a = facts_of(row), *b = facts_of(column);
        if (a != nullptr && b != nullptr)
            gram_.put(row, column, model_product(*next, *a, *b, options_.form.rows));
        ++next;
    };
    for (const gram_block& block : request) {
        for (std::size_t i = 0; i < block.rows.size(); ++i)
            for (std::size_t k = 0; k < i; ++k)
                keep(block.rows[i], block.rows[k]);
        for (const std::int32_t row : block.rows)
            for (const std::int32_t column : block.columns)
                keep(row, column);
    }
    if (!std::ranges::all_of(sums, [](double x) { return std::isfinite(x); }))
        return error{errc::numeric, "products of columns are too large for float64; scale the data"};
    return {};
}

result<lasso_scheduler::flight> lasso_scheduler::flight_of(in_flight deltas) const {
    flight f;
    for (const phase_deltas& d : deltas) {
        if (d.changes.empty())
            continue; // a probe
        const auto c = read_changes(d.changes, options_.columns);
        if (!c)
            return c.failure();
        for (std::size_t i = 0; i < c->columns.size(); ++i) {
            const column_facts* facts = facts_of(c->columns[i]);
            if (facts == nullptr)
                return error{errc::protocol, "column " + std::to_string(c->columns[i]) +
                                                 " has changed, which is in no working set"};
            f.columns.push_back(c->columns[i]);
            f.deltas.push_back(c->deltas[i] * facts->scale);
            f.curvatures.push_back(facts->curvature());
        }
    }
    return f;
}

// ---- what follows ----

result<lasso_scheduler::updated> lasso_scheduler::update(const std::vector<std::int64_t>& chosen,
                                                         const update_sums& sums,
                                                         const flight& f) const {
    std::vector<std::int32_t> columns(chosen.begin(), chosen.end());
    auto gram = gram_.gather(chosen, columns);
    if (!gram)
        return gram.failure();
    const auto cross = gram_.gather(chosen, f.columns);
    if (!cross)
        return cross.failure();
    coupled_set set{std::move(*gram), {}, {}};
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const column_facts& facts = facts_[index_of(chosen[i])];
        const double product = sums.products[i] - facts.mean * sums.residual_sum;
        set.gradients.push_back(product / facts.scale);
        set.values.push_back(values_[index_of(chosen[i])]);
    }
    if (options_.schedule.couple == scheduled::coupling::check)
        return solved_alone(std::move(set), *cross, f);
    for (std::size_t i = 0; i < chosen.size(); ++i)
        for (std::size_t k = 0; k < f.columns.size(); ++k)
            set.gradients[i] -= (*cross)[i * f.columns.size() + k] * f.deltas[k];
    return solved_together(std::move(set));
}

lasso_scheduler::updated lasso_scheduler::solved_together(coupled_set set) const {
    const std::size_t size = set.values.size();
    const solve_outcome outcome =
        solve(set, path_.weights(),
              {enough_gap(size), passes_for(size), 2 * course_.objective_bound});
    return {std::move(set.values), std::vector<bool>(size, true), outcome.decrease, outcome.gap};
}

lasso_scheduler::updated lasso_scheduler::solved_alone(coupled_set set,
                                                       const std::vector<double>& cross,
                                                       const flight& f) const {
    const std::size_t size = set.values.size();
    candidate_set candidates{std::move(set.gram), std::move(set.gradients), std::move(set.values),
                             std::vector<double>(size)};
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t k = 0; k < f.columns.size(); ++k) {
            const double square = candidates.gram[i * size + i] * f.curvatures[k];
            const double correlation =
                std::abs(cross[i * f.columns.size() + k]) / std::sqrt(square);
            candidates.in_flight[i] = std::max(candidates.in_flight[i], correlation);
        }
    checked_outcome outcome = lasso::update_checked(candidates, path_.weights(),
                                                    {options_.schedule.rho, options_.scope});
    return {std::move(candidates.values), std::move(outcome.is_kept), outcome.decrease,
            std::numeric_limits<double>::infinity()};
}

// The share of so many variables in the gap that is small enough.
double lasso_scheduler::enough_gap(std::size_t variables) const {
    const auto all = static_cast<double>(std::max(working_.size(), variables));
    return rule_.settled_gap() * static_cast<double>(variables) / all;
}

bool lasso_scheduler::is_working_set(const std::vector<std::int64_t>& chosen) const {
    const auto own = working_.own();
    return !chosen.empty() && chosen.size() == own.size() &&
           std::ranges::all_of(
               chosen, [&](std::int64_t j) { return std::ranges::binary_search(own, j); });
}

// Takes the new values over and says what has changed.
result<payload> lasso_scheduler::change(std::uint64_t number,
                                        const std::vector<std::int64_t>& chosen,
                                        const updated& u) {
    std::vector<std::int32_t> columns;
    std::vector<double> deltas, before;
    changes c;
    if (course_.has_begun && options_.scheduler == 0 && !course_.has_shifted) {
        course_.has_shifted = true;
        c.shift = course_.target_mean;
    }
    const bool is_all = is_working_set(chosen);
    const double enough = enough_gap(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const column_facts& facts = facts_[index_of(chosen[i])];
        double& value = values_[index_of(chosen[i])];
        const double delta = u.values[i] - value;
        if (!std::isfinite(delta) || !std::isfinite(u.values[i] * u.values[i]))
            return diverged();
        if (u.is_updated[i])
            order_->note_change(chosen[i], std::abs(delta) * std::sqrt(facts.curvature()));
        if (delta == 0)
            continue;
        columns.push_back(static_cast<std::int32_t>(chosen[i]));
        deltas.push_back(delta / facts.scale);
        before.push_back(value);
        c.shift -= facts.mean * deltas.back();
        value = u.values[i];
        if (auto known = working_.include(columns.back()); !known)
            return known.failure();
    }
    c.columns = columns;
    c.deltas = deltas;
    c.before = before;
    c.decrease = u.decrease;
    c.gap = is_all && options_.schedulers == 1 ? u.gap : std::numeric_limits<double>::infinity();
    if (is_all)
        course_.may_gain = !(u.gap <= enough);
    fold(number, c);
    return to_payload(*options_.memory, c);
}

} // namespace troupe::lasso
