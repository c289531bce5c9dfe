// lasso_scheduler: what follows from a probe, and the state that is saved.
#include <algorithm>
#include <cmath>

#include "apps/lasso/lasso_scheduler.hpp"
#include "apps/lasso/saved_state.hpp"

namespace troupe::lasso {

namespace {

constexpr std::size_t growth = 2; // of the working set, over the variables in use

std::vector<named_number> shown(const solution_numbers& n) {
    using enum proto::NumberStyle;
    return {{"objective", n.objective, PRECISE},
            {"gap", n.gap, PRECISE},
            {"lambda", n.lambda, PRECISE},
            {"variables", n.used, COUNT}};
}

} // namespace

result<scheduled::standing> lasso_scheduler::conclude(std::uint64_t number,
                                                      std::span<const payload> judgements) {
    if (judgements.size() != options_.variables.size() || !judged_)
        return error{errc::protocol,
                     "a probe is concluded that was not judged, or not by all schedulers"};
    std::vector<judgement> all;
    whole_sums sums;
    for (std::size_t s = 0; s < judgements.size(); ++s) {
        auto j = read_judgement(judgements[s], options_.variables[s]);
        if (!j)
            return j.failure();
        coefficient_sums& c = sums.coefficients;
        c.dual_norm = std::max(c.dual_norm, j->dual_norm);
        c.absolute += j->absolute;
        c.square += j->square;
        c.product += j->product;
        sums.used += j->used;
        sums.mean_value += j->mean_value;
        all.push_back(*j);
    }
    sums.residual_square = all.front().residual_square;
    if (!course_.has_begun) {
        course_.has_begun = true;
        course_.null_objective = sums.residual_square / 2;
        path_.begin(sums.coefficients.dual_norm);
    }
    scheduled::standing s;
    bool is_known = true; // the gap at this lambda
    while (is_known && !s.is_done) {
        const solution_numbers n = record(sums);
        const bool is_reached = options_.gap > 0 && n.gap <= options_.gap;
        if (is_reached || s.numbers.empty())
            s.numbers = shown(n);
        if (!is_reached)
            break;
        s.is_done = path_.is_last();
        if (!s.is_done)
            path_.advance();
        // With an L2 penalty the gradient of what the penalties leave depends on lambda.
        is_known = options_.settings.ratio == 1 || sums.used == 0;
    }
    course_.is_done = s.is_done;
    begin_round(number, all, sums);
    return s;
}

// The solution at this lambda, in place of what an earlier probe found.
solution_numbers lasso_scheduler::record(const whole_sums& all) {
    const penalty p = path_.weights();
    const double rows = options_.form.rows, null = course_.null_objective;
    const double gap = duality_gap(all.residual_square, all.coefficients, p);
    solution found;
    found.numbers = {path_.lambda(), objective(all.residual_square, all.coefficients, p) / rows,
                     null > 0 ? gap / null : 0.0,
                     options_.form.is_centred ? course_.target_mean - all.mean_value : 0.0,
                     all.used};
    for (std::size_t i = 0; i < judged_->values.size(); ++i)
        if (judged_->values[i] != 0) {
            found.columns.push_back(static_cast<std::int32_t>(options_.own.first + i));
            found.values.push_back(judged_->values[i]);
        }
    solutions_.resize(path_.at() + std::size_t{1});
    solutions_.back() = found;
    return found.numbers;
}

void lasso_scheduler::begin_round(std::uint64_t number, std::span<const judgement> judgements,
                                  const whole_sums& all) {
    const penalty p = path_.weights();
    course_.may_gain = true;
    course_.used = all.used;
    course_.objective_bound = objective(all.residual_square, all.coefficients, p);
    const auto used = static_cast<std::size_t>(all.used);
    // It grows also where it can no longer be one phase.
    const std::size_t size = std::max(
        std::min(std::max(first_size(options_.columns), growth * used), options_.whole_set_max()),
        used + used / 8);
    working_.replace(number, judgements, {p.l1, size}, options_.form);
    fresh_gradients_.clear();
    for (const std::int64_t column : working_.own()) {
        const std::size_t i = index_of(column);
        if (judged_->is_now)
            fresh_gradients_.push_back(judged_->gradients[i]);
        const double curvature = facts_[i].curvature(), value = judged_->values[i];
        const double best = minimizer(judged_->gradients[i] + curvature * value, curvature, p);
        if (std::isfinite(best))
            order_->note_change(column, std::abs(best - value) * std::sqrt(curvature));
    }
    judged_.reset();
    const double gap = duality_gap(all.residual_square, all.coefficients, p);
    rule_.begin(next_gap(gap, options_.gap * course_.null_objective),
                number + options_.schedule.window + 1, working_.size());
}

// ---- as it is saved ----

result<scheduled::saved_part> lasso_scheduler::save() const {
    std::vector<std::int64_t> under_way, chosen;
    std::vector<double> gradients;
    for (const own_phase& p : under_way_) {
        under_way.push_back(static_cast<std::int64_t>(p.number));
        under_way.push_back(p.is_probe);
        under_way.push_back(static_cast<std::int64_t>(p.chosen.size()));
        under_way.push_back(static_cast<std::int64_t>(p.gradients.size()));
        gradients.insert(gradients.end(), p.gradients.begin(), p.gradients.end());
        chosen.insert(chosen.end(), p.chosen.begin(), p.chosen.end());
    }
    std::vector<double> facts;
    for (const column_facts& f : facts_) {
        facts.push_back(f.mean);
        facts.push_back(f.square);
    }
    const std::vector<double> course{
        course_.has_begun ? 1.0 : 0.0,
        course_.is_done ? 1.0 : 0.0,
        course_.may_gain ? 1.0 : 0.0,
        course_.has_shifted ? 1.0 : 0.0,
        course_.target_mean,
        course_.null_objective,
        course_.objective_bound,
        course_.used,
        path_.lambda_max(),
        static_cast<double>(path_.at()),
        judged_.has_value() ? 1.0 : 0.0,
        judged_ && judged_->is_now ? 1.0 : 0.0,
    };
    // The products must be in it as long as phases follow: how many variables a phase may have, and which products it asks
    // for, depend on what is kept, and a phase that is chosen anew must be the one that was chosen before.
    const bool is_over = course_.is_done && std::ranges::all_of(under_way_, [](const own_phase& p) {
                             return p.chosen.empty();
                         });
    const auto gram = is_over ? gram_cache::contents{} : gram_.save();
    const auto working = working_.save();
    const judged_values judged = judged_.value_or(judged_values{});
    state_writer write{*options_.memory};
    write("course", course)("values", values_)("facts", facts)("order", order_->state());
    write("phases", under_way)("phase variables", chosen)("phase gradients", gradients);
    write("product numbers", gram.numbers)("known products", gram.known);
    write("product places", gram.places)("products", gram.products);
    write("working set", working.own)("others", working.others)("facts of others", working.facts);
    write("rule", rule_.save());
    write("fresh gradients", fresh_gradients_);
    write("judged gradients", judged.gradients)("judged values", judged.values);
    auto saved = std::move(write).finish();
    if (!saved)
        return saved;
    if (auto appended = append_solutions(*options_.memory, solutions_, *saved); !appended)
        return appended.failure();
    return saved;
}

} // namespace troupe::lasso
