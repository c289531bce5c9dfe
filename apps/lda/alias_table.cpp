#include "apps/lda/alias_table.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::lda {

void alias_table::build(std::span<const std::int32_t> weights) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double scale = static_cast<double>(weights.size()) / sum;
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
