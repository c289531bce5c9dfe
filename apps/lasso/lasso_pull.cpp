// lasso_scheduler: what a phase changes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "apps/lasso/lasso_scheduler.hpp"
#include "apps/lasso/whole_problem.hpp"

namespace troupe::lasso {

namespace {

// The scale of a column, by its facts; of one that is in no working set any more nothing is needed.
template <class Facts>
couplings::number_of_column scale_by(Facts facts_of) {
    return [facts_of](std::int32_t column) {
        const std::optional<column_facts> facts = facts_of(column);
        return facts ? facts->scale : 1.0;
    };
}

error diverged() {
    return {errc::numeric, "the coefficients of lasso have diverged: what was computed is no "
                           "number; use couple: exact, or a smaller window, set or rho"};
}

error not_chosen(std::uint64_t number) {
    return {errc::protocol, "phase " + std::to_string(number) +
                                " is not the one that this scheduler of lasso chose; its saved "
                                "state is of another run"};
}

} // namespace

result<payload> lasso_scheduler::pull(const phase& p, in_flight deltas,
                                      std::span<const payload> partials) {
    // Restored state may come from elsewhere, its phases from one place and what was chosen for them from another.
    const std::optional<own_phase> taken = under_way_.take(p.number);
    if (!taken)
        return not_chosen(p.number);
    const own_phase& own = *taken;
    if (own.chosen.empty())
        return change(own, {});
    const auto request = read_update_request(p.content, options_.columns);
    if (!request)
        return request.failure();
    if (!std::ranges::equal(request->chosen, own.chosen) ||
        (request->by_columns && !options_.is_sized_by_work()) ||
        request->with_products != own.gradients.empty())
        return not_chosen(p.number);
    // The phase is of a problem that is no more; what the workers have computed is of another one.
    if (own.round != course_.round.number)
        return change({own.number, false, {}, {}, own.round, false}, {});
    if (own.is_return) {
        updated back{{}, std::vector<bool>(own.chosen.size(), true), 0, HUGE_VAL};
        for (const std::int64_t j : own.chosen)
            back.values.push_back(steps_.targets()[index_of(j)]);
        return change(own, back);
    }
    const auto sums = sums_of(*request, partials);
    if (!sums)
        return sums.failure();
    const auto f = flight_of(deltas);
    if (!f)
        return f.failure();
    const auto u = update(own, *request, *sums, *f);
    if (!u)
        return u.failure();
    refused_ = u->refused;
    return change(own, *u);
}

// ---- what has come ----

result<lasso_scheduler::update_sums> lasso_scheduler::sums_of(const update_request& request,
                                                              std::span<const payload> partials) {
    update_sums sums;
    sums.products.resize(request.with_products ? request.chosen.size() : 0);
    std::vector<update_partial> parts;
    for (const payload& partial : partials) {
        const auto part = read_update_partial(partial, request);
        if (!part)
            return part.failure();
        sums.residual_sum += part->residual_sum;
        std::ranges::transform(sums.products, part->products, sums.products.begin(), std::plus{});
        parts.push_back(*part);
    }
    if (auto kept = couplings_.keep(
            request, parts, scale_by([this](std::int32_t column) { return facts_of(column); }));
        !kept)
        return kept.failure();
    return sums;
}

result<flight> lasso_scheduler::flight_of(in_flight deltas) const {
    flight f;
    for (const phase_deltas& d : deltas) {
        if (d.changes.empty())
            continue; // a probe
        const auto c = read_changes(d.changes, options_.columns);
        if (!c)
            return c.failure();
        for (std::size_t i = 0; i < c->columns.size(); ++i) {
            const std::optional<column_facts> facts = facts_of(c->columns[i]);
            if (!facts)
                return error{errc::protocol, "column " + std::to_string(c->columns[i]) +
                                                 " has changed, which is in no working set"};
            f.columns.push_back(c->columns[i]);
            f.deltas.push_back(c->deltas[i] * facts->scale);
            f.curvatures.push_back(facts->curvature());
            f.means.push_back(scaled_mean(*facts, course_.objective.weight));
        }
    }
    return f;
}

// ---- what follows ----

result<lasso_scheduler::updated> lasso_scheduler::update(const own_phase& own,
                                                         const update_request& request,
                                                         const update_sums& sums, const flight& f) {
    coupled_set set = set_of(own, sums);
    if (options_.schedule.couple == scheduled::coupling::check)
        return solved_alone(std::move(set), own.chosen, f);
    if (is_whole_problem(own)) {
        if (auto completed = couplings_.complete(set, request, f); !completed)
            return completed.failure();
        return solve_path(own, std::move(set));
    }
    const std::size_t size = set.values.size();
    const auto outcome = couplings_.solve(
        set, request, f, scale_by([this](std::int32_t column) { return facts_of(column); }),
        path_.weights(),
        {enough_gap(size), std::numeric_limits<std::size_t>::max(), 2 * course_.objective.bound});
    if (!outcome)
        return outcome.failure();
    return updated{std::move(set.values), std::vector<bool>(size, true), outcome->decrease,
                   outcome->gap};
}

// Whether what a probe would find after this phase follows from what the last one has found.
bool lasso_scheduler::is_whole_problem(const own_phase& own) const {
    return course_.set.is_whole && course_.set.has_exact_products && options_.gap > 0 &&
           !own.gradients.empty() && own.chosen.size() == facts_.count_varying();
}

// As many lambdas of a path as may be solved in a phase. The last one is left to a probe of the data, which finds the same.
lasso_scheduler::updated lasso_scheduler::solve_path(const own_phase& own, coupled_set set) {
    const std::size_t size = set.values.size();
    std::size_t passes = couplings::passes_for(set.products.entries());
    whole_problem problem{std::move(set), course_.objective.residual_square};
    solve_outcome outcome;
    while (true) {
        outcome =
            problem.solve(path_.weights(), end_gap(options_.gap * course_.objective.null), passes);
        passes -= std::min(passes, outcome.passes);
        if (path_.is_last() || passes == 0)
            break;
        whole_sums all;
        all.fit.residual_square = problem.residual_square();
        all.fit.loss = all.fit.residual_square / 2;
        all.coefficients = problem.sums(path_.weights().l2);
        std::vector<double> values(values_.size());
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t at = index_of(own.chosen[i]);
            values[at] = problem.set().values[i];
            all.used += values[at] != 0;
            all.mean_value += values[at] / facts_[at].scale * facts_[at].mean;
        }
        if (!(record(all, values).gap <= options_.gap))
            break;
        path_.advance();
    }
    return {problem.set().values, std::vector<bool>(size, true), outcome.decrease, outcome.gap};
}

// All but the products of its columns. Gradients are those of the workers' state.
coupled_set lasso_scheduler::set_of(const own_phase& own, const update_sums& sums) const {
    coupled_set set;
    for (std::size_t i = 0; i < own.chosen.size(); ++i) {
        const column_facts facts = facts_[index_of(own.chosen[i])];
        set.means.push_back(scaled_mean(facts, course_.objective.weight));
        set.curvatures.push_back(facts.curvature());
        set.values.push_back(values_[index_of(own.chosen[i])]);
        set.gradients.push_back(own.gradients.empty()
                                    ? (sums.products[i] - facts.mean * sums.residual_sum) /
                                          facts.scale
                                    : own.gradients[i]);
    }
    return set;
}

result<lasso_scheduler::updated>
lasso_scheduler::solved_alone(coupled_set set, const std::vector<std::int64_t>& chosen,
                              const flight& f) const {
    const std::size_t size = set.values.size(), changed = f.columns.size();
    auto products = couplings_.products().among(chosen);
    const auto cross = couplings_.products().gather(chosen, f.columns);
    if (const error* failure = scheduled::first_failure(products, cross))
        return *failure;
    set.products = std::move(*products);
    candidate_set candidates{std::vector<double>(size * size), std::move(set.gradients),
                             std::move(set.values), std::vector<double>(size)};
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t k = 0; k < size; ++k)
            candidates.gram[i * size + k] = i == k ? set.curvatures[i] : set.coupling(i, k);
        for (std::size_t k = 0; k < changed; ++k) {
            const double product = (*cross)[i * changed + k] - set.means[i] * f.means[k];
            candidates.in_flight[i] =
                std::max(candidates.in_flight[i],
                         std::abs(product) / std::sqrt(set.curvatures[i] * f.curvatures[k]));
        }
    }
    checked_outcome outcome =
        lasso::update_checked(candidates, path_.weights(), options_.schedule.rho);
    return updated{std::move(candidates.values), std::move(outcome.is_kept), outcome.decrease,
                   std::numeric_limits<double>::infinity(), outcome.refused};
}

// The share of so many variables in the gap that is small enough.
double lasso_scheduler::enough_gap(std::size_t variables) const {
    const auto all = static_cast<double>(std::max(working_.size(), variables));
    return rule_.settled_gap() * static_cast<double>(variables) / all;
}

// Takes the new values over and says what has changed.
result<payload> lasso_scheduler::change(const own_phase& own, const updated& u) {
    const std::vector<std::int64_t>& chosen = own.chosen;
    std::vector<std::int32_t> columns;
    std::vector<double> deltas, before;
    changes c;
    if (course_.has_begun && options_.scheduler == 0 && !course_.intercept.has_shifted) {
        course_.intercept.has_shifted = true;
        c.shift = course_.intercept.shift;
    }
    const bool is_all = working_.are_all(chosen);
    const double enough = enough_gap(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const column_facts facts = facts_[index_of(chosen[i])];
        double& value = values_[index_of(chosen[i])];
        const double delta = u.values[i] - value;
        if (!std::isfinite(delta) || !std::isfinite(u.values[i] * u.values[i]))
            return diverged();
        c.updated += u.is_updated[i];
        if (u.is_updated[i])
            order_->note_change(chosen[i], std::abs(delta) * std::sqrt(facts.curvature()));
        if (delta == 0)
            continue;
        columns.push_back(static_cast<std::int32_t>(chosen[i]));
        deltas.push_back(delta / facts.scale);
        before.push_back(value);
        if (!own.is_return) // its shift says where the intercept goes
            c.shift -= facts.mean * deltas.back();
        value = u.values[i];
        if (auto known = working_.include(columns.back()); !known)
            return known.failure();
    }
    if (!columns.empty())
        fresh_gradients_.clear();
    if (!std::isfinite(c.shift) || !std::isfinite(u.decrease))
        return diverged();
    c.columns = columns;
    c.deltas = deltas;
    c.before = before;
    c.decrease = u.decrease;
    c.gap = is_all && options_.schedulers == 1 ? u.gap : std::numeric_limits<double>::infinity();
    if (is_all)
        course_.set.may_gain = !(u.gap <= enough);
    rule_.fold(own.number, outcome_of(c));
    return to_payload(*options_.memory, c);
}

} // namespace troupe::lasso
