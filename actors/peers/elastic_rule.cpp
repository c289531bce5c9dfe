#include "actors/peers/elastic_rule.hpp"

#include <algorithm>

namespace troupe {

float elastic_rate(float asked, std::uint32_t replicas) noexcept {
    return asked > 0 ? asked : 0.9f / static_cast<float>(replicas);
}

// At this rate the larger eigenvalue of the mean difference and the centre, on a quadratic, is -1.
double elastic_rate_max(std::uint32_t at_once, double step) noexcept {
    return (4 - 2 * step) / (2 + at_once * (2 - step));
}

double elastic_step_max(std::uint32_t at_once, double rate, double nesterov) noexcept {
    const double plain = (4 - 2 * rate * (1 + at_once)) / (2 - at_once * rate);
    return plain * (1 + nesterov) / (1 + 2 * nesterov);
}

bool elastic_round::arrive(std::uint32_t rank) {
    if (!live_[rank] || came_[rank])
        return false;
    came_[rank] = true;
    return true;
}

void elastic_round::lose(std::uint32_t rank) {
    live_[rank] = false;
    came_[rank] = false;
}

bool elastic_round::complete() const noexcept {
    return came_ == live_ && std::ranges::count(came_, true) > 0;
}

std::optional<std::uint32_t> elastic_round::missing() const noexcept {
    for (std::uint32_t r = 0; r < live_.size(); ++r)
        if (live_[r] && !came_[r])
            return r;
    return std::nullopt;
}

std::vector<std::uint32_t> elastic_round::take() {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t r = 0; r < came_.size(); ++r)
        if (came_[r])
            ranks.push_back(r);
    came_.assign(came_.size(), false);
    return ranks;
}

} // namespace troupe
