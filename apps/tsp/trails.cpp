#include "apps/tsp/trails.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "schemas/base/check.hpp"

namespace troupe::tsp {

namespace {

// Of the span between a city's lowest and highest trail (lambda of ACOTSP).
constexpr double little = 0.05;

// Small whole powers by products: they are the same on all machines, and fast.
double power(double base, double exponent) noexcept {
    if (exponent < 0 || exponent > 8 || exponent != std::floor(exponent))
        return std::pow(base, exponent);
    double product = 1;
    for (int i = 0; i < static_cast<int>(exponent); ++i)
        product *= base;
    return product;
}

} // namespace

trails::trails(const instance& of, const candidates& near, powers by)
    : near_{near}, is_symmetric_{of.is_symmetric()}, by_{by} {
    const std::size_t edges = of.cities() * near.count();
    values_.resize(edges);
    weights_.resize(edges);
    nearness_.reserve(edges);
    for (city c = 0; static_cast<std::size_t>(c) < of.cities(); ++c)
        for (const city to : near.of(c)) {
            // Two cities on one spot are near, not infinitely so.
            const double length = std::max(static_cast<double>(of.length(c, to)), 0.1);
            nearness_.push_back(power(1 / length, by.length));
        }
}

double trails::weight(std::size_t at) const noexcept {
    return power(values_[at], by_.trail) * nearness_[at];
}

void trails::evaporate(double share) noexcept {
    for (double& v : values_)
        v *= 1 - share;
}

void trails::clamp(double low, double high) noexcept {
    for (double& v : values_)
        v = std::clamp(v, low, high);
}

template <class Change>
void trails::for_each_edge(std::span<const city> tour, Change change) noexcept {
    const auto change_way = [&](city from, city to) {
        if (const std::size_t k = near_.place(from, to); k < near_.count())
            change(values_[static_cast<std::size_t>(from) * near_.count() + k]);
    };
    city from = tour.back();
    for (const city to : tour) {
        change_way(from, to);
        if (is_symmetric_)
            change_way(to, from);
        from = to;
    }
}

void trails::deposit(std::span<const city> tour, double amount) noexcept {
    for_each_edge(tour, [amount](double& v) { v += amount; });
}

void trails::mix(std::span<const city> tour, double share, double to) noexcept {
    for_each_edge(tour, [=](double& v) { v = (1 - share) * v + share * to; });
}

void trails::mix(city from, std::size_t place, double share, double to) noexcept {
    const auto change = [&](city c, std::size_t k) {
        const std::size_t at = static_cast<std::size_t>(c) * near_.count() + k;
        values_[at] = (1 - share) * values_[at] + share * to;
        weights_[at] = weight(at);
    };
    change(from, place);
    const city other = near_.of(from)[place];
    if (const std::size_t k = near_.place(other, from); is_symmetric_ && k < near_.count())
        change(other, k);
}

void trails::weigh() {
    for (std::size_t i = 0; i < values_.size(); ++i)
        weights_[i] = weight(i);
}

double trails::branching_factor() const noexcept {
    const std::size_t each = near_.count(), cities = values_.size() / each;
    std::size_t count = 0;
    for (std::size_t c = 0; c < cities; ++c) {
        const auto all = row(values_, static_cast<city>(c));
        const auto [low, high] = std::ranges::minmax(all);
        const double enough = low + little * (high - low);
        count += static_cast<std::size_t>(
            std::ranges::count_if(all, [enough](double v) { return v >= enough; }));
    }
    return static_cast<double>(count) / static_cast<double>(cities);
}

void trails::set(std::vector<double> values) {
    TROUPE_CHECK(values.size() == values_.size(), "every candidate edge has a trail");
    values_ = std::move(values);
    weigh();
}

} // namespace troupe::tsp
