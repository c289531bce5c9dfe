#include "apps/lasso/lasso_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/lasso/lasso_limits.hpp"
#include "apps/lasso/saved_state.hpp"
#include "kernels/columns/sparse_columns.hpp"

namespace troupe::lasso {

namespace {

// The sum of f over the numbers, by several sums that do not wait for each other.
template <class Function>
double sum_of(std::span<const double> numbers, Function f) {
    std::array<double, 8> sums{};
    std::size_t i = 0;
    for (; i + sums.size() <= numbers.size(); i += sums.size())
        for (std::size_t k = 0; k < sums.size(); ++k)
            sums[k] += f(numbers[i + k]);
    for (std::size_t k = 0; i < numbers.size(); ++i, ++k)
        sums[k] += f(numbers[i]);
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
           ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

sparse_rows rows_of(const scheduled::matrix_piece& piece) {
    return {piece.starts, piece.indices, piece.values};
}

std::vector<std::uint32_t> numbers_of(std::span<const std::int32_t> columns) {
    return {columns.begin(), columns.end()};
}

} // namespace

rows_options options_of(const scheduled::worker_site& site, const lasso_settings& settings) {
    return {site.memory,       settings.label,  settings.intercept, site.data.is_sparse,
            site.data.columns, site.rows.count, site.variables};
}

// ---- data ----

result<void> lasso_rows::take_data(const payload& piece) {
    const auto matrix = scheduled::read_matrix_piece(piece, options_.columns);
    if (!matrix)
        return matrix.failure();
    if (matrix->is_sparse() != options_.is_sparse)
        return error{errc::protocol, "a piece of a matrix is sparse, and the matrix is not, or the "
                                     "other way round"};
    if (residual_.size() + matrix->rows() > options_.rows)
        return error{errc::protocol, "a worker is dealt more rows than its share has"};
    for (const double target : matrix->targets) {
        if (!std::isfinite(target))
            return error{errc::data, "the targets have a value that is infinite or NaN; remove its "
                                     "row"};
        residual_.push_back(!options_.label ? target : target == *options_.label ? 1.0 : 0.0);
    }
    if (options_.is_sparse) {
        pieces_.push_back(piece);
        return {};
    }
    return take_rows(*matrix);
}

result<void> lasso_rows::take_rows(const scheduled::matrix_piece& piece) {
    if (!dense_) {
        auto builder =
            dense_columns_builder::make(*options_.memory, {options_.rows, options_.columns});
        if (!builder)
            return builder.failure();
        dense_.emplace(std::move(*builder));
    }
    return dense_->append(piece.rows(), piece.values);
}

result<void> lasso_rows::data_is_complete() {
    if (residual_.size() != options_.rows)
        return error{errc::protocol, "a worker is dealt fewer rows than its share has"};
    residual_sum_ = sum_of(residual_, [](double r) { return r; });
    if (options_.is_sparse)
        return build_sparse();
    if (!dense_)
        if (auto none = take_rows({}); !none)
            return none;
    auto columns = dense_->finish();
    dense_.reset();
    if (!columns)
        return columns.failure();
    if (!options_.has_intercept) {
        columns_.emplace(std::move(*columns));
        return {};
    }
    auto shifted = shifted_columns::of_dense(*options_.memory, std::move(*columns));
    if (!shifted)
        return shifted.failure();
    columns_.emplace(std::move(*shifted));
    return {};
}

result<void> lasso_rows::build_sparse() {
    auto counter = column_counter::make(options_.columns);
    if (!counter)
        return counter.failure();
    const auto matrix_of = [this](const payload& piece) {
        return scheduled::read_matrix_piece(piece, options_.columns).value();
    };
    for (const payload& piece : pieces_)
        if (auto counted = counter->append(rows_of(matrix_of(piece))); !counted)
            return counted;
    auto builder = sparse_columns_builder::make(*options_.memory, options_.rows, counter->counts());
    if (!builder)
        return builder.failure();
    for (payload& piece : pieces_) {
        if (auto placed = builder->append(rows_of(matrix_of(piece))); !placed)
            return placed;
        piece.clear();
    }
    pieces_.clear();
    auto columns = builder->finish();
    if (!columns)
        return columns.failure();
    columns_.emplace(std::move(*columns));
    return {};
}

// ---- phases ----

result<void> lasso_rows::apply(const scheduled::phase_deltas& deltas) {
    if (deltas.changes.empty())
        return {}; // a probe
    const auto c = read_changes(deltas.changes, options_.columns);
    if (!c)
        return c.failure();
    std::vector<double> coefficients(c->deltas.size());
    std::ranges::transform(c->deltas, coefficients.begin(), std::negate{});
    const std::vector<std::uint32_t> columns = numbers_of(c->columns);
    columns_->add(columns, coefficients, residual_);
    if (!options_.has_intercept)
        return {};
    if (c->shift != 0)
        for (double& r : residual_)
            r -= c->shift;
    for (std::size_t i = 0; i < columns.size(); ++i)
        residual_sum_ += coefficients[i] * columns_->sums()[columns[i]];
    residual_sum_ -= c->shift * static_cast<double>(residual_.size());
    return {};
}

result<payload> lasso_rows::push(const scheduled::phase& p, compute_context&) {
    const auto request = read_update_request(p.content, options_.columns);
    if (!request)
        return request.failure();
    const std::vector<std::uint32_t> chosen = numbers_of(request->chosen);
    std::vector<double> products(request->with_products ? chosen.size() : 0);
    if (request->with_products)
        columns_->products(chosen, residual_, residual_sum_, products);
    auto gram = tensor::allocate(*options_.memory, data_type::float64, {entries_of(request->gram)});
    if (!gram)
        return gram.failure();
    std::span<double> to = gram->mutable_values<double>();
    for (const gram_block& block : request->gram)
        to = multiply(block, to);
    return to_payload(*options_.memory,
                      update_partial{products, options_.has_intercept ? residual_sum_ : 0.0, {}},
                      std::move(*gram));
}

// Writes what a block asks for; returns what is left behind it.
std::span<double> lasso_rows::multiply(const gram_block& block, std::span<double> to) {
    const std::vector<std::uint32_t> rows = numbers_of(block.rows),
                                     columns = numbers_of(block.columns);
    if (block.pairs() > 0) {
        std::vector<double> among(rows.size() * rows.size());
        columns_->gram(rows, among, workspace_);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            std::ranges::copy(std::span{among}.subspan(i * rows.size(), i), to.begin());
            to = to.subspan(i);
        }
    }
    const std::span<double> rest = to.first(rows.size() * columns.size());
    columns_->gram({rows, columns}, rest, workspace_);
    return to.subspan(rest.size());
}

result<payload> lasso_rows::probe(const scheduled::phase& p, std::uint32_t scheduler,
                                  compute_context&) {
    const auto request = read_probe_request(p.content);
    if (!request)
        return request.failure();
    if (scheduler >= options_.variables.size())
        return error{errc::protocol, "a probe for a scheduler that the run has not"};
    const scheduled::number_range own = options_.variables[scheduler];
    // What changes have done to the sum is rounded; here it is made anew.
    residual_sum_ = sum_of(residual_, [](double r) { return r; });
    probe_partial partial;
    partial.rows = static_cast<double>(residual_.size());
    partial.residual_sum = residual_sum_;
    const double mean = residual_.empty() ? 0.0 : residual_sum_ / partial.rows;
    partial.residual_square =
        sum_of(residual_, [mean](double r) { return (r - mean) * (r - mean); });
    std::vector<double> products(own.count);
    columns_->products(column_set::range(own.first, own.count), residual_, residual_sum_, products);
    partial.products = products;
    if (request->with_facts) {
        partial.sums = std::span{columns_->sums()}.subspan(own.first, own.count);
        partial.squares = std::span{columns_->squares()}.subspan(own.first, own.count);
    }
    return to_payload(*options_.memory, partial);
}

// ---- as it is saved ----

result<scheduled::saved_part> lasso_rows::save() const {
    state_writer write{*options_.memory};
    write("residual", residual_)("residual sum", std::array{residual_sum_});
    return std::move(write).finish();
}

result<void> lasso_rows::load(const scheduled::saved_part& saved) {
    const auto residual = read_state<double>(saved, "residual");
    const auto sum = read_state<double>(saved, "residual sum");
    if (!residual)
        return residual.failure();
    if (!sum)
        return sum.failure();
    if (residual->size() != residual_.size() || sum->size() != 1)
        return error{errc::protocol, "the saved residual of lasso has other sizes"};
    residual_.assign(residual->begin(), residual->end());
    residual_sum_ = sum->front();
    return {};
}

} // namespace troupe::lasso
