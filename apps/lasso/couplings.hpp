// How the variables of a scheduler act on one another, as far as it has asked the workers: by the products of their columns
// or, where those would be more numbers, by the columns themselves.
//
//     couplings.ask_for_columns(needed, entries, request);               // or by couplings.products()
//     ...
//     couplings.keep(request, parts, scale);                             // when they have come, of all workers
//     couplings.solve(set, request, flight, ...);
//
// A value of one thread. Errors: of gram_cache and gathered_columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apps/lasso/coupled_solve.hpp"
#include "apps/lasso/gathered_columns.hpp"
#include "apps/lasso/gram_cache.hpp"
#include "apps/lasso/messages.hpp"

namespace troupe::lasso {

struct couplings_options {
    memory_pool* memory = nullptr; // outlives it
    std::size_t rows = 0;          // of all workers
    std::size_t products_max = 0;  // that are kept
    std::size_t entries_max = 0;   // of columns, likewise
};

// Variables that are to be solved together, and all that they meet, themselves among them.
struct set_sizes {
    double variables = 0, entries = 0; // of their columns
    double all = 0, all_entries = 0;
};

// Changes in flight, of the model's coefficients.
struct flight {
    std::vector<std::int32_t> columns;
    std::vector<double> deltas;
    std::vector<double> curvatures;
    std::vector<double> means; // as in coupled_set
};

class couplings {
  public:
    using number_of_column = std::function<double(std::int32_t)>;

    explicit couplings(const couplings_options& options)
        : options_{options}, products_{options.products_max}, columns_{*options.memory,
                                                                       options.rows} {}

    // Whether the columns are fewer numbers than their products, if entries are in rows that are drawn; and few enough to be
    // kept.
    bool prefers_columns(const set_sizes& s) const noexcept;

    // Into the request: which of the products are missing, as gram_cache says. `square`: of a chosen column with itself.
    void ask_for_products(std::span<const std::int64_t> chosen,
                          std::span<const std::int32_t> partners, const gram_cache::use& use,
                          const number_of_column& square, update_request& request);
    // Into the request: which of the columns `needed` are missing. `entries`: so many does a column have.
    void ask_for_columns(std::span<const std::int32_t> needed, const number_of_column& entries,
                         update_request& request);
    // Keeps what has come. `scale`: what a column is divided by. Parts are the workers', in their order.
    result<void> keep(const update_request& request, std::span<const update_partial> parts,
                      const number_of_column& scale);

    // Completes the request's variables: their products, and gradients that know of what is in flight.
    result<void> complete(coupled_set& set, const update_request& request, const flight& f) const;
    // Passes over so many products, so that a scheduler is not busy for seconds.
    static std::size_t passes_for(std::size_t entries) noexcept;

    // Solves the request's variables together until the gap is small enough, or for so long that a scheduler is not busy for
    // seconds. Gradients do not know yet of what is in flight; they and the values change, and the products are set here.
    result<solve_outcome> solve(coupled_set& set, const update_request& request, const flight& f,
                                const number_of_column& scale, const penalty& p,
                                const solve_bounds& bounds) const;

    const gram_cache& products() const noexcept { return products_; }
    const gathered_columns& columns() const noexcept { return columns_; }
    // `columns`: what gathered_columns has saved.
    result<void> load(const gram_cache::contents& products, const scheduled::saved_part& columns,
                      std::uint64_t column_count);

    void clear(); // nothing is known any more

  private:
    result<solve_outcome> solve_by_columns(coupled_set& set, const update_request& request,
                                           const flight& f, const number_of_column& scale,
                                           const penalty& p, solve_bounds bounds) const;

    couplings_options options_;
    gram_cache products_;
    gathered_columns columns_;
};

} // namespace troupe::lasso
