#include "apps/lda/alias_table.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::lda {

namespace {

// Up to which mean a list of as many places as the sum of the weights is made in less time than the table.
constexpr std::uint64_t laid_out_mean = 16;

} // namespace

void alias_table::lay_out(std::span<const std::int32_t> weights) {
    // Short runs are written in one piece, beyond their end too.
    constexpr std::size_t piece = 4;
    laid_out_.resize(size_ + piece);
    std::uint32_t* to = laid_out_.data();
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
        std::fill_n(to, piece, i);
        if (static_cast<std::size_t>(weights[i]) > piece)
            std::fill_n(to + piece, static_cast<std::size_t>(weights[i]) - piece, i);
        to += weights[i];
    }
}

void alias_table::build(std::span<const std::int32_t> weights) {
    const auto sum = static_cast<std::uint64_t>(
        std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
    is_laid_out_ = sum <= laid_out_mean * weights.size();
    size_ = is_laid_out_ ? static_cast<std::size_t>(sum) : weights.size();
    if (is_laid_out_)
        return lay_out(weights);
    const double scale = static_cast<double>(weights.size()) / static_cast<double>(sum);
    places_.resize(weights.size());
    left_.resize(weights.size());
    small_.clear();
    large_.clear();
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
        left_[i] = static_cast<double>(weights[i]) * scale;
        (left_[i] < 1 ? small_ : large_).push_back(i);
        places_[i] = {UINT32_MAX, i};
    }
    while (!small_.empty() && !large_.empty()) {
        const std::uint32_t small = small_.back(), large = large_.back();
        small_.pop_back();
        places_[small] = {static_cast<std::uint32_t>(std::max(left_[small], 0.0) * 0x1p32), large};
        left_[large] -= 1 - left_[small];
        if (left_[large] < 1) {
            large_.pop_back();
            small_.push_back(large);
        }
    }
}

} // namespace troupe::lda
