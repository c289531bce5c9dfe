// The worker part of the program "lasso": some rows of the matrix, and how well they are fitted (row_fit.hpp).
//
// The residual includes c0, which is what phases have shifted the intercept by; of squares it is the model's residual as
// soon as the first phase after the first probe is applied. Columns are as they are in the file, neither centred nor
// scaled. If the loss weighs its rows, a probe makes the weights, and what first needs it a weighted copy of the columns,
// whose products phases ask for until the next probe.
//
// Dense columns whose values are nearly the same number are kept without that number, since their products with one another
// are summed in float32 for a stretch of rows (column_matrix.hpp): the schedulers subtract the squares of the means from
// them. What is answered is of the columns as they were read nevertheless.
//
// Threads, ownership, errors: as scheduled::worker_part says. errc::data for what builders of columns refuse and for targets
// that are no numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/program.hpp"
#include "apps/lasso/arriving_columns.hpp"
#include "apps/lasso/messages.hpp"
#include "apps/lasso/row_fit.hpp"
#include "apps/lasso/settings.hpp"
#include "apps/lasso/shifted_columns.hpp"
#include "kernels/columns/sparse_columns.hpp"

namespace troupe::lasso {

struct rows_options {
    memory_pool* memory = nullptr; // outlives the part
    loss_kind loss = loss_kind::squared;
    std::optional<double> label;
    bool has_intercept = false;
    bool is_sparse = false;
    std::uint64_t columns = 0;
    std::uint64_t rows = 0;                         // of this worker
    std::vector<scheduled::number_range> variables; // of each scheduler
};
rows_options options_of(const scheduled::worker_site& site, const lasso_settings& settings);

class lasso_rows final : public scheduled::worker_part {
  public:
    explicit lasso_rows(rows_options options)
        : options_{std::move(options)}, fit_{make_row_fit(options_.loss, options_.has_intercept,
                                                          options_.label)} {
        arriving_.emplace(*options_.memory, matrix_size{options_.rows, options_.columns},
                          options_.is_sparse);
    }

    result<void> take_data(const payload& piece) override;
    result<void> data_is_complete() override;
    result<void> apply(const scheduled::phase_deltas& deltas) override;
    result<payload> push(const scheduled::phase& p, compute_context& context) override;
    result<payload> probe(const scheduled::phase& p, std::uint32_t scheduler,
                          compute_context& context) override;
    // A probe makes the sum of the residuals anew, and the weights of rows.
    result<void> pass(const scheduled::phase& p, std::uint32_t, compute_context&) override {
        if (p.is_probe) {
            renew();
            facts_.reset();
        }
        return {};
    }
    std::string describe(const scheduled::phase& p) const override {
        return p.is_probe ? "probe" : describe_update(p.content);
    }
    result<scheduled::saved_part> save() const override;
    result<void> load(const scheduled::saved_part& saved) override;

  private:
    // As gram_part has them.
    struct sparse_answer {
        std::vector<double> products;
        std::vector<std::int64_t> numbers;
    };

    result<void> build();
    result<void> make_facts();
    bool is_weighted() const noexcept { return options_.loss != loss_kind::squared; }
    void renew();
    result<void> weigh(); // before anything that is fitted
    // Whose products with one another phases ask for, and whose sums and squares probes.
    const shifted_columns& fitted() const noexcept { return weighted_ ? *weighted_ : *columns_; }
    const sparse_columns& fitted_sparse() const noexcept {
        return static_cast<const sparse_columns&>(fitted().kept());
    }
    result<payload> push_columns(const update_request& request, std::span<const double> products,
                                 double residual_sum) const;
    std::span<double> multiply(const gram_block& block, std::span<double> to);
    bool is_sparse_enough(const gram_request& request) const;
    sparse_answer multiply_sparse(const gram_request& request) const;

    rows_options options_;
    std::optional<arriving_columns> arriving_; // while data arrives
    std::optional<shifted_columns> columns_;
    std::unique_ptr<row_fit> fit_;
    row_sums sums_;                           // as of the last probe
    std::optional<shifted_columns> weighted_; // if the loss weighs its rows
    bool has_other_weights_ = false;          // than weighted_
    std::optional<probe_tensors> facts_;      // of all columns, until the next probe
    column_workspace workspace_;
};

} // namespace troupe::lasso
