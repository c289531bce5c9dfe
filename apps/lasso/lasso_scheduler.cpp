#include "apps/lasso/lasso_scheduler.hpp"

#include <algorithm>
#include <limits>

namespace troupe::lasso {

namespace {

std::unique_ptr<scheduled::selection> order_of(const scheduler_options& o) {
    if (o.schedule.kind == scheduled::schedule_kind::cyclic)
        return scheduled::cyclic_selection();
    return scheduled::dynamic_selection(o.own, o.schedule.base_width);
}

} // namespace

scheduler_options options_of(const scheduled::scheduler_site& site,
                             const lasso_settings& settings) {
    scheduler_options o;
    o.memory = site.memory;
    o.settings = settings;
    o.schedule = site.schedule;
    o.gap = site.stop.gap;
    o.form = {static_cast<double>(site.data.rows), settings.intercept, site.unit_norm};
    o.columns = site.data.columns;
    o.own = site.variables.at(site.scheduler);
    o.is_sparse = site.data.is_sparse;
    o.variables = site.variables;
    o.scheduler = site.scheduler;
    o.schedulers = static_cast<std::uint32_t>(site.variables.size());
    return o;
}

lasso_scheduler::lasso_scheduler(scheduler_options options)
    : options_{std::move(options)}, facts_{options_.form, options_.is_sparse},
      values_(options_.own.count), order_{order_of(options_)},
      couplings_{{options_.memory, static_cast<std::size_t>(options_.form.rows),
                  options_.gram_entries_max, options_.gathered_entries_max}},
      working_{options_.own, options_.schedule.window}, path_{options_.settings,
                                                              options_.form.rows},
      rule_{options_.schedulers + options_.schedule.window + std::size_t{1}} {
    course_.objective.weight = options_.form.rows;
}

// ---- phases ----

bool lasso_scheduler::is_probe_due(std::uint64_t number) const {
    if (options_.scheduler != 0 || course_.is_done || under_way_.has_probe())
        return false;
    if (!course_.has_begun)
        return true;
    if (options_.settings.is_logistic() && !course_.intercept.has_shifted)
        return false;
    return course_.round.waits ? number >= course_.round.probe_from : rule_.is_due();
}

result<phase> lasso_scheduler::schedule(std::uint64_t number, random_stream& random) {
    if (is_probe_due(number))
        return schedule_probe(number);
    if (steps_.is_going_back() && !course_.round.has_returned)
        return schedule_return(number);
    const std::vector<std::int32_t> partners = partners_at(number);
    const gram_cache::use use{number, under_way_.first_or(number)};
    auto [chosen, by_columns] = choose(use, partners, random);
    update_request request;
    request.chosen.assign(chosen.begin(), chosen.end());
    if (by_columns) {
        std::vector<std::int32_t> needed = partners;
        needed.insert(needed.end(), request.chosen.begin(), request.chosen.end());
        couplings_.ask_for_columns(
            needed, [this](std::int32_t column) { return facts_of(column)->entries; }, request);
    } else {
        const auto square = [this](std::int32_t column) {
            const column_facts facts = facts_[index_of(column)];
            const double mean = scaled_mean(facts, course_.objective.weight);
            return facts.curvature() + mean * mean;
        };
        couplings_.ask_for_products(chosen, partners, use, square, request);
    }
    std::vector<double> gradients = known_gradients(chosen);
    request.with_products = gradients.empty();
    under_way_.add(
        {number, false, std::move(chosen), std::move(gradients), course_.round.number, false});
    auto content = to_payload(*options_.memory, request);
    if (!content)
        return content.failure();
    return phase{number, false, std::move(*content)};
}

result<phase> lasso_scheduler::schedule_probe(std::uint64_t number) {
    under_way_.add({number, true, {}, {}, course_.round.number, false});
    const bool with_facts = facts_.empty() || options_.settings.is_logistic();
    auto content = to_payload(*options_.memory, probe_request{with_facts});
    if (!content)
        return content.failure();
    return phase{number, true, std::move(*content)};
}

// Workers are asked for nothing.
result<phase> lasso_scheduler::schedule_return(std::uint64_t number) {
    own_phase own{number, false, {}, {}, course_.round.number, true};
    update_request request;
    request.with_products = false;
    for (std::size_t i = 0; i < values_.size(); ++i)
        if (values_[i] != steps_.targets()[i]) {
            own.chosen.push_back(static_cast<std::int64_t>(options_.own.first + i));
            request.chosen.push_back(static_cast<std::int32_t>(own.chosen.back()));
        }
    own.gradients.resize(own.chosen.size());
    if (own.chosen.empty())
        request.with_products = true; // as of any phase without variables
    course_.round.has_returned = true;
    under_way_.add(std::move(own));
    auto content = to_payload(*options_.memory, request);
    if (!content)
        return content.failure();
    return phase{number, false, std::move(*content)};
}

lasso_scheduler::choice lasso_scheduler::choose(const gram_cache::use& use,
                                                const std::vector<std::int32_t>& partners,
                                                random_stream& random) {
    const bool is_being_probed = options_.settings.is_logistic() && under_way_.has_probe();
    if (!course_.has_begun || course_.is_done || course_.round.waits || is_being_probed)
        return {};
    std::vector<std::int64_t> taken = under_way_.variables();
    const auto own = working_.own();
    // One after the other, and none before something could be gained.
    if (options_.is_sized_by_work() && (!taken.empty() || !course_.set.may_gain))
        return {};
    if (options_.is_sized_by_work() && prefers_columns(partners))
        return {{own.begin(), own.end()}, true};
    // No more than there is room for: what is left out here has its turn later, as the order has it.
    const std::size_t count =
        std::min(options_.phase_size(), couplings_.products().room(partners.size(), use));
    if (options_.is_sized_by_work())
        return {order_->choose(own, count, random)};
    std::ranges::sort(taken);
    std::vector<std::int64_t> eligible;
    std::ranges::set_difference(own, taken, std::back_inserter(eligible));
    // If few are left besides what is under way, that would be the same sets again and again.
    const bool is_free = eligible.size() >= 2 * count;
    return {order_->choose(is_free ? std::span<const std::int64_t>{eligible} : own, count, random)};
}

bool lasso_scheduler::prefers_columns(const std::vector<std::int32_t>& partners) const {
    if (!options_.is_sparse)
        return false;
    set_sizes sizes;
    for (const std::int64_t j : working_.own())
        sizes.entries += facts_[index_of(j)].entries;
    sizes.all_entries = sizes.entries;
    for (const std::int32_t column : partners)
        sizes.all_entries += facts_of(column)->entries;
    sizes.variables = static_cast<double>(working_.own().size());
    sizes.all = sizes.variables + static_cast<double>(partners.size());
    return couplings_.prefers_columns(sizes);
}

// If all members of the working set are chosen right after a probe: what it has found.
std::vector<double> lasso_scheduler::known_gradients(const std::vector<std::int64_t>& chosen) {
    std::vector<double> known;
    if (fresh_gradients_.empty() || !working_.are_all(chosen))
        return known;
    const auto own = working_.own();
    for (const std::int64_t j : chosen)
        known.push_back(fresh_gradients_.at(
            static_cast<std::size_t>(std::ranges::lower_bound(own, j) - own.begin())));
    fresh_gradients_.clear();
    return known;
}

// Partners that the variables of phase `number` may meet: what is under way, its own and that of others.
std::vector<std::int32_t> lasso_scheduler::partners_at(std::uint64_t number) const {
    std::vector<std::int32_t> partners = working_.others(number);
    for (const std::int64_t j : under_way_.variables())
        partners.push_back(static_cast<std::int32_t>(j));
    return partners;
}

std::size_t lasso_scheduler::index_of(std::int64_t column) const {
    TROUPE_CHECK(working_.is_own(column), "a variable of another scheduler");
    return static_cast<std::size_t>(static_cast<std::uint64_t>(column) - options_.own.first);
}

std::optional<column_facts> lasso_scheduler::facts_of(std::int32_t column) const {
    if (working_.is_own(column))
        return facts_.empty() ? std::nullopt : std::optional{facts_[index_of(column)]};
    const column_facts* const known = working_.facts(column);
    return known == nullptr ? std::nullopt : std::optional{*known};
}

result<void> lasso_scheduler::absorb(const phase_deltas& deltas) {
    auto c = read_changes(deltas.changes, options_.columns);
    if (!c)
        return c.failure();
    for (const std::int32_t column : c->columns)
        if (auto known = working_.include(column); !known)
            return known;
    course_.set.may_gain = course_.set.may_gain || !c->columns.empty();
    rule_.fold(deltas.number, outcome_of(*c));
    return {};
}

} // namespace troupe::lasso
