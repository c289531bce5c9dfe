// lasso_scheduler: the judgement of a probe.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/lasso/lasso_scheduler.hpp"
#include "apps/lasso/target_classes.hpp"

namespace troupe::lasso {

namespace {

// The fit to all rows. Workers' squares are about their own means.
fit_sums fit_of(std::span<const probe_partial> partials, const scheduler_options& options) {
    fit_sums fit;
    double sum = 0;
    for (const probe_partial& part : partials) {
        sum += part.rows.residual_sum;
        fit.weight += part.rows.weight;
        fit.loss += part.rows.loss;
        fit.intercept = part.rows.intercept;
    }
    if (options.form.is_centred)
        fit.shift = sum / fit.weight;
    for (const probe_partial& part : partials) {
        if (part.rows.weight <= 0)
            continue;
        const double difference = part.rows.residual_sum / part.rows.weight - fit.shift;
        fit.residual_square +=
            part.rows.residual_square + part.rows.weight * difference * difference;
    }
    if (!options.settings.is_logistic())
        fit.loss = fit.residual_square / 2;
    return fit;
}

result<void> check_classes(std::span<const probe_partial> partials) {
    class_counts all;
    for (const probe_partial& part : partials) {
        all.zeros += part.rows.zeros;
        all.minus += part.rows.minus;
        all.ones += part.rows.ones;
    }
    return all.check();
}

// Variables whose gradients are a smaller share of the penalty are worth no mention.
constexpr double listed_share = 0.5;

} // namespace

result<payload> lasso_scheduler::judge(std::uint64_t number, in_flight deltas,
                                       std::span<const payload> partials) {
    under_way_.take(number);
    const auto parts = read_partials(partials);
    if (!parts)
        return parts.failure();
    const fit_sums fit = fit_of(*parts, options_);
    if (auto learned = learn(*parts, fit); !learned)
        return learned.failure();
    if (auto seen = look_back(deltas, *parts); !seen)
        return seen.failure();

    judgement j;
    j.fit = fit;
    coefficient_sums sums;
    const double l2 = path_.weights().l2;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const double value = judged_->values[i];
        sums.add(value, judged_->gradients[i], l2);
        j.used += !is_rounding(value, facts_[i], course_.objective.null);
        j.mean_value += value / facts_[i].scale * facts_[i].mean;
    }
    j.constant = static_cast<double>(facts_.size() - facts_.count_varying());
    j.dual_norm = sums.dual_norm;
    j.absolute = sums.absolute;
    j.square = sums.square;
    j.product = sums.product;
    // Before others are told, who would take it for a message that is broken.
    const auto is_finite = [](double x) { return std::isfinite(x); };
    if (!std::isfinite(j.fit.residual_square + j.fit.loss + j.absolute + j.square + j.product +
                       j.mean_value) ||
        !std::ranges::all_of(judged_->gradients, is_finite))
        return error{errc::numeric, "the residual of lasso is no number; use couple: exact, or a "
                                    "smaller window, set or rho"};
    const bool is_path_known = course_.set.has_exact_products && options_.gap > 0;
    if (options_.may_take_all() &&
        is_whole_set_due(options_.columns, j.used, is_path_known ? path_.left() : 0))
        course_.set.is_whole = true;
    const std::vector<std::int32_t> columns = worth_listing(j.in_use);
    std::vector<double> gradients, means, squares, scales, entries;
    for (const std::int32_t column : columns) {
        const std::size_t i = index_of(column);
        gradients.push_back(std::abs(judged_->gradients[i]));
        means.push_back(facts_[i].mean);
        squares.push_back(facts_[i].square);
        if (options_.settings.is_logistic())
            scales.push_back(facts_[i].scale);
        if (options_.is_sparse)
            entries.push_back(facts_[i].entries);
    }
    j.entries = entries;
    j.scales = scales;
    j.columns = columns;
    j.gradients = gradients;
    j.means = means;
    j.squares = squares;
    return to_payload(*options_.memory, j);
}

result<std::vector<probe_partial>>
lasso_scheduler::read_partials(std::span<const payload> partials) const {
    std::vector<probe_partial> parts;
    for (const payload& partial : partials) {
        const auto part = read_probe_partial(
            partial, {values_.size(), facts_.empty() || options_.settings.is_logistic(),
                      options_.form.is_centred, options_.is_sparse});
        if (!part)
            return part.failure();
        parts.push_back(*part);
    }
    return parts;
}

// Learns what the first probe tells of the columns and the targets; and, of weighted rows, what each tells of the columns.
result<void> lasso_scheduler::learn(std::span<const probe_partial> partials, const fit_sums& fit) {
    const bool is_first = facts_.empty(), is_logistic = options_.settings.is_logistic();
    course_.objective.weight = fit.weight;
    if (is_first && is_logistic)
        if (auto good = check_classes(partials); !good)
            return good;
    if (is_first)
        course_.intercept.shift = course_.intercept.target_mean = fit.shift;
    course_.set.has_exact_products =
        std::ranges::all_of(partials, &probe_partial::has_exact_products);
    if (!is_first && !is_logistic)
        return {};
    // The weights are all the same at first, where all margins are 0.
    const double each = options_.form.rows / fit.weight;
    facts_.resize(values_.size());
    column_form weighted = options_.form;
    weighted.rows = fit.weight;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        double sum = 0, square = 0, entries = 0;
        for (const probe_partial& part : partials) {
            sum += part.sums.empty() ? 0 : part.sums[i];
            square += part.squares[i];
            entries += part.entries.empty() ? 0 : part.entries[i];
        }
        column_facts facts = facts_[i];
        if (is_first) {
            facts = lasso::facts_of(each * sum, each * square, options_.form);
            facts.entries = entries;
        }
        facts_.set(i, is_logistic ? reweighted(facts, sum, square, weighted) : facts);
    }
    return {};
}

// Gradients and values as of the workers' state: without what is in flight.
result<void> lasso_scheduler::look_back(in_flight deltas, std::span<const probe_partial> partials) {
    judged_.emplace();
    judged_->values = values_;
    judged_->is_now = options_.schedulers == 1 && under_way_.variables().empty();
    for (std::size_t d = deltas.size(); d-- > 0;) {
        if (deltas[d].changes.empty())
            continue; // a probe
        const auto c = read_changes(deltas[d].changes, options_.columns);
        if (!c)
            return c.failure();
        judged_->is_now = judged_->is_now && c->columns.empty();
        judged_->shift += c->shift;
        for (std::size_t i = 0; i < c->columns.size(); ++i)
            if (working_.is_own(c->columns[i]))
                judged_->values[index_of(c->columns[i])] = c->before[i];
    }
    double residual_sum = 0;
    for (const probe_partial& part : partials)
        residual_sum += part.rows.residual_sum;
    judged_->gradients.resize(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
        double product = 0;
        for (const probe_partial& part : partials)
            product += part.products[i];
        const column_facts facts = facts_[i];
        if (facts.square > 0)
            judged_->gradients[i] = (product - facts.mean * residual_sum) / facts.scale;
    }
    return {};
}

// The variables in use, and of the others those that break the conditions of the optimum most, or come closest to it.
std::vector<std::int32_t> lasso_scheduler::worth_listing(std::size_t& in_use) const {
    const double l1 = path_.weights().l1, near = listed_share * path_.next_weights().l1;
    std::vector<std::int32_t> listed;
    const auto column_of = [this](std::size_t i) {
        return static_cast<std::int32_t>(options_.own.first + i);
    };
    const auto is_used = [this](std::size_t i) {
        return values_[i] != 0 || judged_->values[i] != 0;
    };
    for (std::size_t i = 0; i < values_.size(); ++i)
        if (is_used(i))
            listed.push_back(column_of(i));
    in_use = listed.size();
    const auto used = static_cast<std::size_t>(course_.set.used);
    const std::size_t most =
        course_.set.is_whole ? values_.size()
                             : std::max(first_size(options_.columns), 2 * std::max(used, in_use));
    std::vector<std::pair<double, std::int32_t>> others; // how far from the optimum's conditions
    const auto keep_best = [&] {
        if (others.size() <= most)
            return;
        std::ranges::nth_element(others, others.begin() + static_cast<std::ptrdiff_t>(most));
        others.resize(most);
    };
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const double gradient = std::abs(judged_->gradients[i]);
        if (is_used(i) || !(course_.set.is_whole ? facts_[i].square > 0 : gradient > near))
            continue;
        others.emplace_back((l1 - gradient) / std::sqrt(facts_[i].curvature()), column_of(i));
        if (others.size() / 4 >= most) // there may be millions
            keep_best();
    }
    keep_best();
    for (const auto& [distance, column] : others)
        listed.push_back(column);
    std::sort(listed.begin() + static_cast<std::ptrdiff_t>(in_use), listed.end());
    return listed;
}

} // namespace troupe::lasso
