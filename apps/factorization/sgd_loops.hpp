// The loops of stochastic gradient descent, compiled once per instruction set as those of kernels/cpu/loops.hpp and under
// the same rule: no result depends on the instruction set, as sums have eight lanes everywhere and no a * b + c is
// contracted.
//
// Of each rating r of user u and item i, with p = user u's factors, q = item i's, b and c their biases:
//
//     e = r - mean - b - c - p . q
//     p = keep p + step e q,  q = keep q + step e p     with the p and q from before
//     b = bias_keep b + bias_step e,  c likewise
//
// Two users take turns, a rating each, in the order in which each has them; when one has none left the next user takes its
// place, of two such the first one's. A step waits for the one before it of the same user: this way the processor has two at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::factorization {

// Factors are rounded up to so many, with zeros.
inline constexpr std::size_t lanes = 8;
constexpr std::size_t stride_of(std::size_t rank) noexcept {
    return (rank + lanes - 1) / lanes * lanes;
}

// Ratings by user: users[v] has rated items [starts[v], starts[v + 1]).
struct rating_view {
    std::size_t visits; // elements of users
    const std::uint32_t* users;
    const std::uint64_t* starts;
    const std::uint32_t* items;
    const float* values;
};

// Factors of the users and items, by the numbers that a rating_view has of them.
struct factor_view {
    std::size_t stride; // a multiple of lanes
    float* user_factors;
    float* user_biases;
    float* item_factors;
    float* item_biases;
    float mean;
};

struct sgd_step {
    float step, keep, bias_step, bias_keep;
};

struct sgd_loops {
    // Learns from the ratings of users[first, last). Returns the sum of e^2.
    double (*learn)(const rating_view& ratings, std::size_t first, std::size_t last,
                    const factor_view& view, const sgd_step& step);
    // The sum of e^2 over all of them; changes nothing.
    double (*squares)(const rating_view& ratings, const factor_view& view);
};

extern const sgd_loops sgd_loops_baseline;
extern const sgd_loops sgd_loops_avx2;
extern const sgd_loops sgd_loops_avx512;

const sgd_loops& fastest_sgd_loops();

} // namespace troupe::factorization
