#include "apps/lasso/couplings.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::lasso {

namespace {

// Multiply-adds that a phase may be solved with; but a few passes in any case.
constexpr double solve_operations_max = 1e9;
constexpr std::size_t solve_passes_min = 20, solve_passes_max = 5000;

void subtract(std::span<const double> corrections, const flight& f, coupled_set& set) {
    const double mean = std::inner_product(f.means.begin(), f.means.end(), f.deltas.begin(), 0.0);
    for (std::size_t i = 0; i < set.values.size(); ++i)
        set.gradients[i] -= corrections[i] - set.means[i] * mean;
}

} // namespace

std::size_t couplings::passes_for(std::size_t entries) noexcept {
    const double pass = static_cast<double>(std::max<std::size_t>(entries, 1));
    return static_cast<std::size_t>(std::clamp(solve_operations_max / pass,
                                               static_cast<double>(solve_passes_min),
                                               static_cast<double>(solve_passes_max)));
}

bool couplings::prefers_columns(const set_sizes& s) const noexcept {
    const double rows = static_cast<double>(options_.rows);
    const double products = std::min(s.variables * s.all, s.entries * s.all_entries / rows) / 2;
    return products > s.all_entries && s.all_entries <= static_cast<double>(options_.entries_max);
}

void couplings::ask_for_products(std::span<const std::int64_t> chosen,
                                 std::span<const std::int32_t> partners, const gram_cache::use& use,
                                 const number_of_column& square, update_request& request) {
    products_.make_room(chosen, partners, use);
    for (const std::int64_t j : chosen)
        products_.put_square(j, square(static_cast<std::int32_t>(j)));
    request.gram = products_.ask(chosen, partners);
}

void couplings::ask_for_columns(std::span<const std::int32_t> needed,
                                const number_of_column& entries, update_request& request) {
    products_ = gram_cache{options_.products_max};
    request.by_columns = true;
    request.columns = columns_.missing(needed);
    const double more = std::transform_reduce(request.columns.begin(), request.columns.end(), 0.0,
                                              std::plus{}, entries);
    if (static_cast<double>(columns_.entries()) + more <= static_cast<double>(options_.entries_max))
        return;
    columns_.clear();
    request.columns = columns_.missing(needed);
}

result<void> couplings::keep(const update_request& request, std::span<const update_partial> parts,
                             const number_of_column& scale) {
    if (request.by_columns) {
        std::vector<column_entries> columns;
        for (const update_partial& part : parts)
            columns.push_back(part.columns);
        return columns_.keep(request.columns, columns);
    }
    std::vector<gram_part> products;
    for (const update_partial& part : parts)
        products.push_back(part.gram);
    if (!products_.keep(request.gram, products, scale))
        return error{errc::numeric,
                     "products of columns are too large for float32, in which they are made "
                     "before data.scale; divide the columns in the file, so that their numbers "
                     "are below 1e15"};
    return {};
}

result<void> couplings::complete(coupled_set& set, const update_request& request,
                                 const flight& f) const {
    const std::vector<std::int64_t> chosen{request.chosen.begin(), request.chosen.end()};
    auto products = products_.among(chosen);
    const auto corrections = products_.sums_of(chosen, f.columns, f.deltas);
    if (const error* failure = scheduled::first_failure(products, corrections))
        return *failure;
    set.products = std::move(*products);
    subtract(*corrections, f, set);
    return {};
}

result<solve_outcome> couplings::solve(coupled_set& set, const update_request& request,
                                       const flight& f, const number_of_column& scale,
                                       const penalty& p, const solve_bounds& bounds) const {
    if (request.by_columns)
        return solve_by_columns(set, request, f, scale, p, bounds);
    if (auto completed = complete(set, request, f); !completed)
        return completed.failure();
    solve_bounds bounded = bounds;
    bounded.passes = std::min(bounds.passes, passes_for(set.products.entries()));
    return lasso::solve(set, p, bounded);
}

result<solve_outcome> couplings::solve_by_columns(coupled_set& set, const update_request& request,
                                                  const flight& f, const number_of_column& scale,
                                                  const penalty& p, solve_bounds bounds) const {
    auto columns = columns_.find(request.chosen, scale);
    const auto moved = columns_.find(f.columns, scale);
    if (const error* failure = scheduled::first_failure(columns, moved))
        return *failure;
    if (!moved->empty()) {
        std::vector<double> change(options_.rows), corrections;
        for (std::size_t k = 0; k < moved->size(); ++k)
            (*moved)[k].add(f.deltas[k], change);
        for (const gathered_column& column : *columns)
            corrections.push_back(column.product(change));
        subtract(corrections, f, set);
    }
    gathered_set gathered{std::move(*columns), set.means, set.curvatures, std::move(set.gradients),
                          std::move(set.values)};
    bounds.passes = std::min(bounds.passes, passes_for(2 * gathered.entries()));
    const solve_outcome outcome = lasso::solve(gathered, p, bounds);
    set.gradients = std::move(gathered.gradients);
    set.values = std::move(gathered.values);
    return outcome;
}

result<void> couplings::load(const gram_cache::contents& products,
                             const scheduled::saved_part& columns, std::uint64_t column_count) {
    if (auto loaded = products_.load(products); !loaded)
        return loaded;
    return columns_.load(columns, column_count);
}

void couplings::clear() {
    products_ = gram_cache{options_.products_max};
    columns_.clear();
}

} // namespace troupe::lasso
