// Messages between the parts of the program "lasso", and how they lie in payloads. Vectors and spans of plain numbers;
// what is read is a view of the payload, with sizes that agree.
//
// Columns have their numbers in the whole matrix. Coefficients of phases and changes are those of the columns as the workers
// have them, not of the model's.
//
// Errors: errc::protocol for a payload that is not one of these.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduled/payload.hpp"
#include "actors/scheduled/run_settings.hpp"
#include "apps/lasso/fit_sums.hpp"
#include "apps/lasso/gram_request.hpp"
#include "apps/lasso/probe_rule.hpp"
#include "kernels/columns/column_entries.hpp"

namespace troupe::lasso {

using scheduled::payload;

// Content of a phase that updates: scheduler to workers.
struct update_request {
    std::vector<std::int32_t> chosen;
    bool with_products = true; // with the residual; if not, the scheduler knows them
    gram_request gram;
    bool by_columns = false;           // the columns themselves instead of products
    std::vector<std::int32_t> columns; // that the scheduler has not yet
};
result<payload> to_payload(memory_pool& memory, const update_request& request);
result<update_request> read_update_request(const payload& p, std::uint64_t columns);
// For inspectors: "3 variables: 17 4 90", with the first few of them.
std::string describe_update(const payload& request);
// A text on the phase before it: "; refused before: correlation 0.53"; nothing for a correlation of 0.
std::string refused_text(double correlation);

// A worker's part of it, over its rows.
struct update_partial {
    std::span<const double> products; // x_j'r of the chosen, if asked for
    double residual_sum = 0;
    gram_part gram;
    column_entries columns; // if asked for
};
result<payload> to_payload(memory_pool& memory, const update_partial& partial);
// One with columns, to be filled in: it is not held twice.
struct columns_answer {
    payload made;
    std::span<std::int64_t> starts; // one more than columns
    std::span<std::int32_t> row_numbers;
    std::span<float> values;
};
struct columns_answer_size {
    std::size_t columns = 0, entries = 0;
};
result<columns_answer> make_columns_answer(memory_pool& memory, const update_partial& without,
                                           columns_answer_size size);
result<update_partial> read_update_partial(const payload& p, const update_request& request);

// Content of a probe. Facts are the numbers of entries of sparse columns, their squares, and, if columns are centred, their
// sums.
struct probe_request {
    bool with_facts = false; // of the columns: once
};
result<payload> to_payload(memory_pool& memory, const probe_request& request);
result<probe_request> read_probe_request(const payload& p);

// A worker's rows as a probe finds them. Squares are about the worker's own mean: the sum of w (r / w - mean)^2 for rows
// of weight w.
struct row_sums {
    double weight = 0; // of the rows: their number, unless the loss weighs them
    double residual_sum = 0;
    double residual_square = 0;
    double loss = 0; // of a loss that is not the squares
    double intercept = 0;
    double zeros = 0, minus = 0, ones = 0; // targets of each class, of a loss that has classes
};

// A worker's part of a probe, for the variables of one scheduler.
struct probe_partial {
    row_sums rows;
    std::span<const double> products; // x_j'r
    std::span<const double>
        sums; // of the columns, of their squares, and their entries: the facts, if asked for
    std::span<const double> squares;
    std::span<const std::int32_t> entries;
    bool has_exact_products = false; // of columns with one another, in what phases bring
};
// How many numbers of each kind there are.
struct probe_sizes {
    std::size_t columns = 0;
    bool with_facts = false;
    bool are_centred = false;
    bool are_sparse = false;

    std::size_t sums() const noexcept { return with_facts && are_centred ? columns : 0; }
    std::size_t squares() const noexcept { return with_facts ? columns : 0; }
    std::size_t entries() const noexcept { return with_facts && are_sparse ? columns : 0; }
};
// The tensors of a partial, to be filled in: they have a number for each column, and are not held twice.
struct probe_tensors {
    tensor products, sums, squares, entries;
};
result<probe_tensors> make_probe_tensors(memory_pool& memory, const probe_sizes& sizes);
// `numbers`: rows and has_exact_products of it are sent.
result<payload> to_payload(memory_pool& memory, const probe_partial& numbers,
                           probe_tensors tensors);
result<probe_partial> read_probe_partial(const payload& p, const probe_sizes& sizes);

// Changes of a phase: scheduler to workers and to the other schedulers.
struct changes {
    std::span<const std::int32_t> columns;
    std::span<const double> deltas; // of their coefficients
    std::span<const double>
        before;          // the model's coefficients, for the scheduler that made the changes
    double updated = 0;  // variables, changed or not
    double shift = 0;    // of the intercept
    double decrease = 0; // of the objective
    double gap =
        0; // of all variables of the scheduler that may change; infinite where only some of them were chosen
};
inline phase_outcome outcome_of(const changes& c) noexcept {
    return {static_cast<std::size_t>(c.updated), c.decrease, c.gap};
}
result<payload> to_payload(memory_pool& memory, const changes& c);
result<changes> read_changes(const payload& p, std::uint64_t columns);

// A scheduler's judgement of a probe: sums over its variables, and those that may be worth an update.
struct judgement {
    fit_sums fit;         // of all rows: every scheduler says the same
    double dual_norm = 0; // coefficient_sums
    double absolute = 0;
    double square = 0;
    double product = 0;
    double used = 0;        // variables that are not 0
    double constant = 0;    // columns that are constant, and never used
    double mean_value = 0;  // of the rows of X b: the intercept is the targets' mean less this
    std::size_t in_use = 0; // the first so many of the columns are not 0
    std::span<const std::int32_t> columns; // those in use rising, then the others rising; each once
    std::span<const double> gradients;     // of the columns, their sizes
    std::span<const double> means;
    std::span<const double> squares;
    std::span<const double> scales;  // none where they follow from the squares
    std::span<const double> entries; // none of dense columns
};
result<payload> to_payload(memory_pool& memory, const judgement& j);
// `own`: the variables of the scheduler whose judgement it is.
result<judgement> read_judgement(const payload& p, const scheduled::number_range& own);

} // namespace troupe::lasso
