#include "apps/lasso/face_factor.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe::lasso {

namespace {

// Less than this share of a variable's own product is rounding.
constexpr double dependent_share = 1e-10;

// to -= factor * from
void subtract(double factor, const double* from, double* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] -= factor * from[i];
}

// In an order that does not depend on the instruction set.
double product(const double* a, const double* b, std::size_t count) {
    std::array<double, 8> sums{};
    std::size_t i = 0;
    for (; i + sums.size() <= count; i += sums.size())
        for (std::size_t k = 0; k < sums.size(); ++k)
            sums[k] += a[i + k] * b[i + k];
    for (std::size_t k = 0; i < count; ++i, ++k)
        sums[k] += a[i] * b[i];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
           ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

} // namespace

double face_factor::work(std::size_t variables) noexcept {
    const auto n = static_cast<double>(variables);
    return n * n * n / 6;
}

double face_factor::follow(const std::vector<std::size_t>& variables, const product_of& product) {
    double done = 0;
    const auto is_gone = [&](std::size_t v) { return !std::ranges::binary_search(variables, v); };
    double removal = 0;
    for (std::size_t i = 0; i < size(); ++i)
        if (is_gone(variables_[i])) {
            const auto rest = static_cast<double>(size() - i);
            removal += 2 * rest * rest;
        }
    if (removal > work(size()))
        variables_.clear();
    for (std::size_t i = size(); i-- > 0;)
        if (is_gone(variables_[i]))
            done += remove(i);
    std::vector<std::size_t> there = variables_;
    std::ranges::sort(there);
    for (const std::size_t v : variables)
        if (!std::ranges::binary_search(there, v))
            done += append(v, product);
    return done;
}

double face_factor::append(std::size_t variable, const product_of& product) {
    const std::size_t n = size();
    if (n + 1 > stride_)
        grow(2 * n + 64);
    std::vector<double> column(n);
    for (std::size_t i = 0; i < n; ++i)
        column[i] = product(variables_[i], variable);
    solve_transposed(column);
    double rest = product(variable, variable);
    const double least = dependent_share * rest;
    for (const double x : column)
        rest -= x * x;
    const double done = static_cast<double>(n) * static_cast<double>(n) / 2;
    if (!(rest > least))
        return done;
    for (std::size_t i = 0; i < n; ++i)
        row(i)[n] = column[i];
    row(n)[n] = std::sqrt(rest);
    variables_.push_back(variable);
    return done;
}

// Without its column U has a number below the diagonal in each row from `at` on, which rotations of two rows remove.
double face_factor::remove(std::size_t at) {
    const std::size_t n = size();
    for (std::size_t i = 0; i < n; ++i) {
        double* const r = row(i);
        const std::size_t first = std::max(at, i == 0 ? 0 : i - 1);
        std::copy(r + first + 1, r + n, r + first);
    }
    for (std::size_t i = at; i + 1 < n; ++i) {
        double *const upper = row(i), *const lower = row(i + 1);
        const double length = std::hypot(upper[i], lower[i]);
        const double c = upper[i] / length, s = lower[i] / length;
        for (std::size_t j = i; j + 1 < n; ++j) {
            const double u = upper[j], l = lower[j];
            upper[j] = c * u + s * l;
            lower[j] = c * l - s * u;
        }
    }
    variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(at));
    return 2 * static_cast<double>(n - at) * static_cast<double>(n - at);
}

void face_factor::grow(std::size_t stride) {
    std::vector<double> rows(stride * stride);
    for (std::size_t i = 0; i < size(); ++i)
        std::copy(row(i) + i, row(i) + size(), rows.data() + i * stride + i);
    rows_ = std::move(rows);
    stride_ = stride;
}

// U' x = numbers
void face_factor::solve_transposed(std::vector<double>& numbers) {
    const std::size_t n = numbers.size();
    for (std::size_t i = 0; i < n; ++i) {
        const double* const r = row(i);
        numbers[i] /= r[i];
        subtract(numbers[i], r + i + 1, numbers.data() + i + 1, n - i - 1);
    }
}

double face_factor::solve(std::vector<double>& numbers) {
    const std::size_t n = size();
    solve_transposed(numbers);
    for (std::size_t i = n; i-- > 0;) {
        const double* const r = row(i);
        numbers[i] = (numbers[i] - product(r + i + 1, numbers.data() + i + 1, n - i - 1)) / r[i];
    }
    return static_cast<double>(n) * static_cast<double>(n);
}

} // namespace troupe::lasso
