// The loops of ants and their trails (kernels/ops/tours.hpp), compiled once per instruction set as those of loops.hpp and
// under the same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

// The candidates of the city where an ant is.
struct candidate_row {
    const std::int32_t* candidates;
    const double* weights;
    std::size_t count;
};

// Cities that an ant has not visited, in no order: their numbers and their places along two or three axes.
struct left_cities {
    std::size_t count;
    const double* numbers;
    const double* places[3]; // the last one null in the plane
};

// The trails of a table, and a tour that is laid on them: trail = kept * trail + amount on each of its ways, and on the way
// back of each, as far as it is to a candidate.
struct lay_task {
    double* trails;
    const std::int32_t* candidates;
    std::size_t count; // of a city's candidates
    const std::int32_t* tour;
    std::size_t cities;
    double kept, amount;
    bool both_ways;
};

struct trail_limits {
    double low, high;
};

struct tour_loops {
    // weights[k] = of candidate k, or 0 if it is not left: left[city] has all bits, or none.
    void (*left_weights)(const candidate_row& row, const std::uint64_t* left, double* weights);
    // The same, and sums[k] = weights[0] + ... + weights[k].
    void (*left_sums)(const candidate_row& row, const std::uint64_t* left, double* weights,
                      double* sums);
    // The place of the first number above the limit, or the count.
    std::size_t (*first_above)(const double* numbers, std::size_t count, double limit);
    // The place of the first of the largest numbers, or the count if none is above 0.
    std::size_t (*first_of_largest)(const double* numbers, std::size_t count);
    // The number of the city that is nearest to a place by a straight line; of those as near the lowest. One at least is
    // left.
    std::size_t (*nearest)(const left_cities& left, const double* from);

    std::uint32_t (*largest)(const std::int32_t* numbers, std::size_t count); // as unsigned numbers
    void (*scale)(double factor, double* x, std::size_t count);
    void (*lay)(const lay_task& task);
    void (*limit)(const trail_limits& limits, double* trails, std::size_t count);
    // weights = trails^power * nearness
    void (*weigh)(std::size_t power, const double* trails, const double* nearness, double* weights,
                  std::size_t count);
};

extern const tour_loops tour_loops_baseline;
extern const tour_loops tour_loops_avx2;
extern const tour_loops tour_loops_avx512;

} // namespace troupe::cpu
