// The parts of a program hand each other payloads: a few tensors in host memory, whose meaning the program gives them.
//
//     return payload_of(memory, chosen, deltas);                 // a tensor for each: vectors or spans of numbers
//     ...
//     auto chosen = read<std::int64_t>(sent, 0, "the chosen variables");       // a span, or an error of errc::protocol
//
// Threads: tensors are immutable once made. Ownership: the pool must outlive them. Errors: errc::exhausted past its bound.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/tensor/tensor.hpp"
#include "schemas/base/error.hpp"

namespace troupe::scheduled {

using payload = std::vector<tensor>;

template <class Number>
struct number_type; // of float, double, int32, int64 and bytes
template <>
struct number_type<float> {
    static constexpr data_type value = data_type::float32;
};
template <>
struct number_type<double> {
    static constexpr data_type value = data_type::float64;
};
template <>
struct number_type<std::int32_t> {
    static constexpr data_type value = data_type::int32;
};
template <>
struct number_type<std::int64_t> {
    static constexpr data_type value = data_type::int64;
};
template <>
struct number_type<std::uint8_t> {
    static constexpr data_type value = data_type::uint8;
};

// A vector of these numbers.
template <class Number>
result<tensor> numbers_of(memory_pool& memory, std::span<const Number> numbers) {
    auto made = tensor::allocate(memory, number_type<Number>::value, {numbers.size()});
    if (made)
        std::ranges::copy(numbers, made->template mutable_values<Number>().begin());
    return made;
}

// A payload with a vector for each of these ranges of numbers.
template <class... Ranges>
result<payload> payload_of(memory_pool& memory, const Ranges&... ranges) {
    payload made;
    std::optional<error> failure;
    const auto add = [&](const auto& range) {
        if (failure)
            return;
        auto numbers =
            numbers_of(memory, std::span<const std::ranges::range_value_t<decltype(range)>>{range});
        if (numbers)
            made.push_back(std::move(*numbers));
        else
            failure = numbers.failure();
    };
    (add(ranges), ...);
    if (failure)
        return *failure;
    return made;
}

// The numbers of tensor `at`; errc::protocol with `what` if there is no such tensor, or one of another type.
result<void> check_tensor(const payload& p, std::size_t at, data_type type, std::string_view what);
template <class Number>
result<std::span<const Number>> read(const payload& p, std::size_t at, std::string_view what) {
    if (auto fits = check_tensor(p, at, number_type<Number>::value, what); !fits)
        return fits.failure();
    return p[at].values<Number>();
}
// The same if there must be `size` of them.
template <class Number>
result<std::span<const Number>> read(const payload& p, std::size_t at, std::size_t size,
                                     std::string_view what) {
    auto numbers = read<Number>(p, at, what);
    if (numbers && numbers->size() != size)
        return error{errc::protocol, std::string{what} + ": " + std::to_string(numbers->size()) +
                                         " numbers instead of " + std::to_string(size)};
    return numbers;
}

// The first failure of several results, in the order in which they are named; null if there is none.
template <class... Results>
const error* first_failure(const Results&... results) {
    const error* failure = nullptr;
    const auto look = [&](const auto& r) {
        if (failure == nullptr && !r.ok())
            failure = &r.failure();
    };
    (look(results), ...);
    return failure;
}

} // namespace troupe::scheduled
