#include "kernels/ops/tours.hpp"

#include <cmath>
#include <string>

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

void check_trails(operand_check& check, const trail_operands& on) {
    const tensor_shape& shape = on.candidates.shape();
    check.rank("candidates", on.candidates, 2)
        .is("candidates", on.candidates, shape, data_type::int32)
        .is("nearness", on.nearness, shape, data_type::float64)
        .is("trails", on.trails, shape, data_type::float64)
        .is("weights", on.weights, shape, data_type::float64)
        .require(on.power >= 0, "the power of trails is not at least 0");
}

std::size_t cities_of(const trail_operands& on) {
    return on.candidates.shape().rank() == 2 ? on.candidates.shape()[0] : 0;
}

} // namespace

double trail_power(double base, double exponent) noexcept {
    if (exponent < 0 || exponent > 8 || exponent != std::floor(exponent))
        return std::pow(base, exponent);
    double product = 1;
    for (int i = 0; i < static_cast<int>(exponent); ++i)
        product *= base;
    return product;
}

result<void> construct_tours::check() const {
    operand_check check{"construct_tours"};
    check_trails(check, on);
    const std::size_t cities = cities_of(on);
    check.require(cities > 0, "there are no cities")
        .require(greed >= 0 && greed <= 1, "greed is not in [0, 1]")
        .require(taken.share >= 0 && taken.share <= 1, "the share taken up is not in [0, 1]")
        .require((places != nullptr) != (lengths != nullptr),
                 "takes either places or lengths of ways")
        .rank("tours", tours, 2);
    if (!check.ok())
        return check.outcome();
    check.is("tours", tours, {tours.shape()[0], cities}, data_type::int32);
    if (lengths != nullptr)
        check.is("lengths", *lengths, {cities, cities}, data_type::int32);
    if (places != nullptr) {
        const bool is_plane = places->shape().rank() == 2 && places->shape()[1] == 2;
        check.is("places", *places, {cities, is_plane ? 2u : 3u}, data_type::float64);
    }
    return check.outcome();
}

result<void> update_trails::check() const {
    operand_check check{"update_trails"};
    check_trails(check, on);
    check.require(low <= high, "the lower limit is above the upper one").rank("tours", tours, 2);
    if (!check.ok())
        return check.outcome();
    const std::size_t count = tours.shape()[0];
    return check.is("tours", tours, {count, cities_of(on)}, data_type::int32)
        .is("amounts", amounts, {count}, data_type::float64)
        .outcome();
}

error no_city(const tensor& numbers, std::size_t i, std::size_t cities) {
    return {errc::data, "the number at " + std::to_string(i) + " of " + to_string(numbers.shape()) +
                            " is " + std::to_string(numbers.values<std::int32_t>()[i]) +
                            ", and cities are 0 to " + std::to_string(cities - 1)};
}

} // namespace troupe
