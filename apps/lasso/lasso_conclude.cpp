// lasso_scheduler: what follows from a probe, and the state that is saved.
#include <algorithm>
#include <array>
#include <cmath>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/lasso/course_numbers.hpp"
#include "apps/lasso/few_numbers.hpp"
#include "apps/lasso/lasso_scheduler.hpp"

namespace troupe::lasso {

namespace {

// Growth of the working set, over the variables in use, if columns are sparse: more are worth their while, as each costs
// little beside a probe.
constexpr std::size_t sparse_growth = 3;
constexpr double round_share = 1e-3; // of the gap that phases should come below, at most

// The share of ones at the first probe: all margins are 0 there, and all residuals 1/2 or -1/2, of rows of weight 1/4.
double share_of_ones(const fit_sums& fit) {
    return 0.5 + fit.shift / 4;
}

// `constant`: columns that are never used.
std::vector<named_number> shown(const solution_numbers& n, double constant) {
    using enum proto::NumberStyle;
    std::vector<named_number> all{{"objective", n.objective, PRECISE},
                                  {"gap", n.gap, PRECISE},
                                  {"lambda", n.lambda, PRECISE},
                                  {"variables", n.used, COUNT}};
    if (constant > 0)
        all.push_back({"constant_columns", constant, COUNT});
    return all;
}

} // namespace

result<scheduled::standing> lasso_scheduler::conclude(std::uint64_t number,
                                                      std::span<const payload> judgements) {
    if (judgements.size() != options_.variables.size() || !judged_)
        return error{errc::protocol,
                     "a probe is concluded that was not judged, or not by all schedulers"};
    std::vector<judgement> all;
    whole_sums sums;
    double constant = 0;
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
        constant += j->constant;
        sums.mean_value += j->mean_value;
        all.push_back(*j);
    }
    sums.fit = all.front().fit;
    scheduled::standing s;
    if (!course_.has_begun) {
        begin_first(sums);
    } else if (steps_.is_too_far(objective(sums.fit, sums.coefficients, path_.weights()))) {
        s.numbers = shown(solutions_.back().numbers, constant);
        begin_return(number, sums.fit);
        return s;
    }
    bool is_known = true; // the gap at this lambda
    while (is_known && !s.is_done) {
        const solution_numbers n = record(sums, judged_->values);
        const bool is_reached = options_.gap > 0 && n.gap <= options_.gap;
        if (is_reached || s.numbers.empty())
            s.numbers = shown(n, constant);
        if (!is_reached)
            break;
        s.is_done = path_.is_last();
        if (!s.is_done)
            path_.advance();
        // With an L2 penalty the gradient of what the penalties leave depends on lambda.
        is_known = options_.settings.ratio == 1 || sums.used == 0;
    }
    course_.is_done = s.is_done;
    if (s.is_done && under_way_.variables().empty())
        couplings_.clear(); // no phase follows that needs them
    begin_round(number, all, sums);
    return s;
}

// Where all coefficients are 0. Of a loss with rounds the first one is for the intercept alone, so that the next one begins
// where it is right.
void lasso_scheduler::begin_first(const whole_sums& all) {
    course_.has_begun = true;
    course_.objective.null = all.fit.loss;
    path_.begin(all.coefficients.dual_norm);
    if (!options_.settings.is_logistic() || !options_.form.is_centred)
        return;
    const double share = share_of_ones(all.fit);
    course_.objective.null = null_loss(options_.form.rows, share);
    course_.intercept.shift = std::log(share / (1 - share));
}

// The solution at this lambda, in place of what was found earlier.
solution_numbers lasso_scheduler::record(const whole_sums& all, const std::vector<double>& values) {
    const penalty p = path_.weights();
    const double rows = options_.form.rows, null = course_.objective.null;
    const double gap = duality_gap(options_.settings.loss, all.fit, all.coefficients, p);
    double intercept = 0;
    if (options_.form.is_centred)
        intercept = options_.settings.is_logistic()
                        ? all.fit.intercept
                        : course_.intercept.target_mean - all.mean_value;
    solution found;
    found.numbers = {path_.lambda(), objective(all.fit, all.coefficients, p) / rows,
                     null > 0 ? gap / null : 0.0, intercept, all.used};
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!is_rounding(values[i], facts_[i], null)) {
            found.columns.push_back(static_cast<std::int32_t>(options_.own.first + i));
            found.values.push_back(values[i]);
        }
    solutions_.resize(path_.at() + std::size_t{1});
    solutions_.back() = found;
    return found.numbers;
}

void lasso_scheduler::begin_round(std::uint64_t number, std::span<const judgement> judgements,
                                  const whole_sums& all) {
    const penalty p = path_.weights();
    course_.set.may_gain = true;
    course_.set.used = all.used;
    course_.objective.residual_square = all.fit.residual_square;
    // The bound of the least squares problem.
    course_.objective.bound = objective(all.fit.residual_square, all.coefficients, p);
    const auto used = static_cast<std::size_t>(all.used);
    // It grows also where it can no longer be one phase.
    const std::size_t size = std::max(
        std::min(std::max(first_size(options_.columns),
                          (options_.is_sparse ? sparse_growth : working_set_growth) * used),
                 options_.whole_set_max()),
        used + used / 8);
    working_.replace(number, judgements, {p.l1, size, course_.set.is_whole}, options_.form);
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
    if (options_.settings.is_logistic())
        begin_problem(all);
    judged_.reset();
    const double gap = duality_gap(options_.settings.loss, all.fit, all.coefficients, p);
    double enough = next_gap(gap, options_.gap * course_.objective.null);
    // Where nothing can be missing.
    if (course_.set.is_whole)
        enough = std::min(enough, end_gap(options_.gap * course_.objective.null));
    // A problem that many phases solve is worth solving well, as the next one begins with nothing known; and what they can
    // gain falls with the square of the gap.
    if (options_.settings.is_logistic() &&
        (options_.schedulers > 1 || !options_.is_sized_by_work()))
        enough *= std::min(round_share, gap / course_.objective.null);
    rule_.begin(enough, number + options_.schedule.window + 1, working_.size());
}

// The least squares problem of a round. Nothing that is known of the one before is true of it.
void lasso_scheduler::begin_problem(const whole_sums& all) {
    course_.round.waits =
        course_.round.number == 0 && options_.form.is_centred; // as begin_first says
    if (!course_.round.waits)
        course_.intercept.shift = all.fit.shift;
    ++course_.round.number;
    course_.intercept.has_shifted = false;
    course_.round.probe_from = 0;
    couplings_.clear();
    steps_.take(judged_->values, all.fit.intercept,
                objective(all.fit, all.coefficients, path_.weights()));
}

// A round in which the variables go half the way back: to where the workers will have them at its end.
void lasso_scheduler::begin_return(std::uint64_t number, const fit_sums& fit) {
    steps_.go_back(judged_->values, fit.intercept);
    ++course_.round.number;
    course_.round.waits = true;
    course_.round.has_returned = false;
    course_.intercept.has_shifted = false;
    course_.intercept.shift = steps_.target_intercept() - fit.intercept - judged_->shift;
    // Each scheduler's next phase is one of the first `schedulers` that are chosen from now on.
    course_.round.probe_from =
        number + 2 * std::uint64_t{options_.schedule.window} + options_.schedulers + 1;
    fresh_gradients_.clear();
    judged_.reset();
}

// ---- as it is saved ----

result<scheduled::saved_part> lasso_scheduler::save() const {
    const bool is_logistic = options_.settings.is_logistic();
    std::array<double, course_numbers> course{};
    course[has_begun] = course_.has_begun ? 1.0 : 0.0;
    course[is_done] = course_.is_done ? 1.0 : 0.0;
    course[may_gain] = course_.set.may_gain ? 1.0 : 0.0;
    course[has_shifted] = course_.intercept.has_shifted ? 1.0 : 0.0;
    course[target_mean] = course_.intercept.target_mean;
    course[null_objective] = course_.objective.null;
    course[objective_bound] = course_.objective.bound;
    course[used] = course_.set.used;
    course[lambda_max] = path_.lambda_max();
    course[lambda_at] = static_cast<double>(path_.at());
    course[is_judged] = judged_.has_value() ? 1.0 : 0.0;
    course[judged_is_now] = judged_ && judged_->is_now ? 1.0 : 0.0;
    course[judged_shift] = judged_ ? judged_->shift : 0.0;
    course[shift] = course_.intercept.shift;
    course[weight] = course_.objective.weight;
    course[round] = static_cast<double>(course_.round.number);
    course[waits] = course_.round.waits ? 1.0 : 0.0;
    course[has_returned] = course_.round.has_returned ? 1.0 : 0.0;
    course[probe_from] = static_cast<double>(course_.round.probe_from);
    course[residual_square] = course_.objective.residual_square;
    course[has_exact_products] = course_.set.has_exact_products ? 1.0 : 0.0;
    course[is_whole] = course_.set.is_whole ? 1.0 : 0.0;
    // The products must be in it as long as phases follow: how many variables a phase may have, and which products it asks
    // for, depend on what is kept, and a phase that is chosen anew must be the one that was chosen before.
    const bool is_over = course_.is_done && under_way_.variables().empty();
    const auto gram = is_over ? gram_cache{0}.save() : couplings_.products().save();
    const auto working = working_.save();
    const auto phases = under_way_.save();
    const judged_values none;
    const judged_values& judged = judged_ ? *judged_ : none;
    scheduled::state_writer write{*options_.memory};
    write("course", course);
    write("phases", phases.numbers)("phase variables", phases.chosen)("phase gradients",
                                                                      phases.gradients);
    write("product numbers", gram.numbers)("known products", gram.known);
    write("product places", gram.places)("products", gram.products);
    write("working set", working.own)("others", working.others)("facts of others", working.facts);
    write("rule", rule_.save());
    write("steps", is_logistic ? steps_.save() : std::vector<double>{});
    write("fresh gradients", fresh_gradients_);
    write("judged gradients", judged.gradients)("judged values", judged.values);
    auto saved = std::move(write).finish();
    if (!saved)
        return saved;
    const gathered_columns none_gathered{*options_.memory, 0};
    const gathered_columns& gathered = is_over ? none_gathered : couplings_.columns();
    for (const auto& appended : {append_few(*options_.memory, "values", values_, *saved),
                                 append_few(*options_.memory, "order", order_->state(), *saved),
                                 facts_.append(*options_.memory, is_logistic, *saved),
                                 gathered.save(*options_.memory, *saved),
                                 append_solutions(*options_.memory, solutions_, *saved)})
        if (!appended)
            return appended.failure();
    return saved;
}

} // namespace troupe::lasso
