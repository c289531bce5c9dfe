#include "apps/tsp/trails.hpp"

#include <algorithm>
#include <new>

#include "kernels/ops/ops.hpp"
#include "schemas/base/check.hpp"

namespace troupe::tsp {

namespace {

// A share of the span between a city's lowest and highest trail (lambda of ACOTSP).
constexpr double little = 0.05;

} // namespace

tensor made_tensor(memory_pool& pool, data_type type, tensor_shape shape) {
    auto made = tensor::allocate(pool, type, shape);
    if (!made)
        throw std::bad_alloc{};
    return std::move(*made);
}

trails::trails(const instance& of, const candidates& near, powers by)
    : near_{near}, is_symmetric_{of.is_symmetric()}, alpha_{by.trail} {
    const tensor_shape shape{of.cities(), near.count()};
    candidates_ = made_tensor(memory_, data_type::int32, shape);
    for (tensor* numbers : {&nearness_, &values_, &weights_})
        *numbers = made_tensor(memory_, data_type::float64, shape);
    tour_ = made_tensor(memory_, data_type::int32, {1, of.cities()});
    amount_ = made_tensor(memory_, data_type::float64, {1});
    auto candidate = candidates_.mutable_values<city>().begin();
    auto nearness = nearness_.mutable_values<double>().begin();
    for (city c = 0; static_cast<std::size_t>(c) < of.cities(); ++c)
        for (const city to : near.of(c)) {
            *candidate++ = to;
            // Two cities on one spot are near, not infinitely so.
            const double length = std::max(static_cast<double>(of.length(c, to)), 0.1);
            *nearness++ = trail_power(1 / length, by.length);
        }
}

trail_operands trails::operands() noexcept {
    return {.candidates = candidates_,
            .nearness = nearness_,
            .trails = values_,
            .weights = weights_,
            .power = alpha_,
            .both_ways = is_symmetric_};
}

result<void> trails::lay(operations& with, const change& how, const tensor& tours,
                         const tensor& amounts) {
    return with.run(update_trails{.kept = how.kept,
                                  .evaporates_laid_alone = how.evaporates_laid_alone,
                                  .low = how.low,
                                  .high = how.high,
                                  .tours = tours,
                                  .amounts = amounts,
                                  .on = operands()});
}

result<void> trails::lay(operations& with, const change& how, std::span<const city> tour,
                         double amount) {
    std::ranges::copy(tour, tour_.mutable_values<city>().begin());
    amount_.mutable_values<double>()[0] = amount;
    return lay(with, how, tour_, amount_);
}

void trails::weigh() {
    const auto values = values_.values<double>(), nearness = nearness_.values<double>();
    const auto weights = weights_.mutable_values<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
        weights[i] = trail_power(values[i], alpha_) * nearness[i];
}

double trails::branching_factor() const {
    const std::size_t each = near_.count(), cities = values().size() / each;
    std::size_t count = 0;
    for (std::size_t c = 0; c < cities; ++c) {
        const auto all = values().subspan(c * each, each);
        const auto [low, high] = std::ranges::minmax(all);
        const double enough = low + little * (high - low);
        count += static_cast<std::size_t>(
            std::ranges::count_if(all, [enough](double v) { return v >= enough; }));
    }
    return static_cast<double>(count) / static_cast<double>(cities);
}

void trails::fill(double value) {
    std::ranges::fill(values_.mutable_values<double>(), value);
    weigh();
}

void trails::set(std::span<const double> values) {
    TROUPE_CHECK(values.size() == values_.elements(), "every candidate edge has a trail");
    std::ranges::copy(values, values_.mutable_values<double>().begin());
    weigh();
}

} // namespace troupe::tsp
