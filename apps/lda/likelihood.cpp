#include "apps/lda/likelihood.hpp"

#include <math.h>

namespace troupe::lda {

namespace {

// std::lgamma writes a global variable.
double log_gamma(double x) {
    int sign = 0;
    return lgamma_r(x, &sign);
}

} // namespace

log_gamma_ratio::log_gamma_ratio(double start, std::size_t table)
    : start_{start}, at_start_{log_gamma(start)} {
    for (std::size_t n = 0; n < table; ++n)
        table_.push_back(computed(static_cast<std::int64_t>(n)));
}

double log_gamma_ratio::computed(std::int64_t n) const noexcept {
    return log_gamma(static_cast<double>(n) + start_) - at_start_;
}

double likelihood_of_totals(std::span<const std::int64_t> totals, double beta_words) {
    const log_gamma_ratio ratio{beta_words, 0};
    double sum = 0;
    for (const std::int64_t total : totals)
        sum -= ratio(total);
    return sum;
}

} // namespace troupe::lda
