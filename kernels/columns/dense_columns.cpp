#include "kernels/columns/dense_columns.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/columns/builder_checks.hpp"
#include "kernels/cpu/fastest_loops.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

constexpr std::size_t line_floats = 16; // a line of the cache, and the unit of the loops

// An odd number of lines, so that the rows of different columns do not compete for the same lines of the cache.
std::size_t stride_for(std::size_t rows) {
    const std::size_t lines = (rows + line_floats - 1) / line_floats;
    return (lines | 1) * line_floats;
}

const columns::dense_column_loops& fastest_loops() {
    return cpu::fastest(columns::dense_column_loops_avx512, columns::dense_column_loops_avx2,
                        columns::dense_column_loops_baseline);
}

error first_not_finite(std::size_t first_row, std::span<const float> values, std::size_t columns) {
    const auto found = std::ranges::find_if_not(values, [](float v) { return std::isfinite(v); });
    TROUPE_CHECK(found != values.end(), "some value is not finite");
    const auto place = static_cast<std::size_t>(found - values.begin());
    return columns::not_finite(first_row + place / columns, place % columns, *found);
}

// Whole numbers whose products add up to 2^24 at most along the rows that gram_loops.cpp sums in float32.
bool are_small_and_whole(const float* values, std::size_t count) {
    constexpr float largest = 256;
    constexpr std::size_t at_once = 4096;
    for (std::size_t first = 0; first < count; first += at_once) {
        bool are = true;
        for (std::size_t i = first; i < std::min(first + at_once, count); ++i) {
            const float v = std::clamp(values[i], -largest, largest);
            are = are & (static_cast<float>(static_cast<int>(v)) == values[i]);
        }
        if (!are)
            return false;
    }
    return true;
}

} // namespace

// ---- the matrix ----

dense_columns::dense_columns(matrix_size size, std::size_t stride, buffer_ref memory)
    : column_matrix{size}, stride_{stride}, memory_{std::move(memory)},
      has_exact_gram_{are_small_and_whole(view().first, stride * size.columns)},
      loops_{fastest_loops()}, gram_loops_{cpu::fastest(columns::gram_loops_avx512,
                                                        columns::gram_loops_avx2,
                                                        columns::gram_loops_baseline)} {}

columns::dense_view dense_columns::view() const noexcept {
    return {reinterpret_cast<const float*>(memory_->data()), stride_, rows()};
}

std::span<const float> dense_columns::values(std::size_t column) const {
    TROUPE_CHECK(column < columns(), "the matrix has the column");
    return {view().first + column * stride_, rows()};
}

void dense_columns::write(std::size_t column, float* to) const {
    std::ranges::copy(values(column), to);
}

void dense_columns::multiply(column_list set, const double* r, double* products) const {
    loops_.products(view(), set, r, products);
}

void dense_columns::add_columns(column_list set, const double* coefficients, double* r) const {
    loops_.add(view(), set, coefficients, r);
}

void dense_columns::multiply_pairs(column_list left, column_list right, double* block,
                                   column_workspace&) const {
    gram_loops_.multiply({view(), left, right, block, false});
}

void dense_columns::multiply_among(column_list set, double* block, column_workspace&) const {
    gram_loops_.multiply({view(), set, set, block, true});
    for (std::size_t i = 0; i < set.count; ++i)
        for (std::size_t j = 0; j < i; ++j)
            block[i * set.count + j] = block[j * set.count + i];
}

void dense_columns::add_squares(column_list set, double* squares) const {
    loops_.squares(view(), set, squares);
}

void dense_columns::add_values(column_list set, double* sums) const {
    loops_.sums(view(), set, sums);
}

result<std::unique_ptr<const column_matrix>> dense_columns::scale(memory_pool& pool,
                                                                  const float* factors) const {
    auto memory = pool.allocate(stride_ * columns() * sizeof(float));
    if (!memory)
        return memory.failure().in("the scaled copy of a matrix of " + std::to_string(rows()) +
                                   " rows and " + std::to_string(columns()) + " columns");
    auto* const first = reinterpret_cast<float*>((*memory)->data());
    for (std::size_t j = 0; j < columns(); ++j) {
        float* const to = first + j * stride_;
        const std::span<const float> from = values(j);
        for (std::size_t i = 0; i < from.size(); ++i)
            to[i] = from[i] * factors[i];
        std::fill(to + from.size(), to + stride_, 0.f);
    }
    return std::unique_ptr<const column_matrix>{
        new dense_columns{{rows(), columns()}, stride_, std::move(*memory)}};
}

// ---- the builder ----

dense_columns_builder::dense_columns_builder(matrix_size size, std::size_t stride,
                                             buffer_ref memory)
    : size_{size}, stride_{stride}, memory_{std::move(memory)} {
    for (std::size_t j = 0; j < size.columns; ++j)
        std::fill(column(j) + size.rows, column(j) + stride, 0.f);
}

result<dense_columns_builder> dense_columns_builder::make(memory_pool& pool, matrix_size size) {
    if (auto allowed = columns::check_size(size); !allowed)
        return allowed.failure();
    const std::size_t stride = stride_for(size.rows); // at most 2^27 of both: no overflow
    auto memory = pool.allocate(stride * size.columns * sizeof(float));
    if (!memory)
        return memory.failure().in("a matrix of " + std::to_string(size.rows) + " rows and " +
                                   std::to_string(size.columns) + " columns");
    return dense_columns_builder{size, stride, std::move(*memory)};
}

float* dense_columns_builder::column(std::size_t column) const noexcept {
    return reinterpret_cast<float*>(memory_->data()) + column * stride_;
}

result<void> dense_columns_builder::append(std::size_t rows, std::span<const float> values) {
    TROUPE_CHECK(memory_, "a builder is used until it has finished");
    if (auto fits = columns::check_rows(size_, rows_, rows); !fits)
        return fits;
    if (values.size() != rows * size_.columns)
        return error{errc::data, "row " + std::to_string(rows_) +
                                     " and those behind it: " + std::to_string(values.size()) +
                                     " values for " + std::to_string(rows) + " rows of " +
                                     std::to_string(size_.columns) +
                                     " columns: the data is cut off or has another width"};
    if (!fastest_loops().place({values.data(), rows, size_.columns, column(0) + rows_, stride_}))
        return first_not_finite(rows_, values, size_.columns);
    rows_ += rows;
    return {};
}

result<std::unique_ptr<const dense_columns>> dense_columns_builder::finish() {
    TROUPE_CHECK(memory_, "a builder finishes once");
    if (auto complete = columns::check_complete(size_, rows_); !complete)
        return complete.failure();
    return std::unique_ptr<const dense_columns>{
        new dense_columns{size_, stride_, std::exchange(memory_, {})}};
}

} // namespace troupe
