// Compiled several times, with TROUPE_TOUR_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/tour_loops.hpp"

#include "kernels/cpu/loop_marks.hpp"

namespace troupe::cpu {

namespace {

#if defined(__AVX512F__)
constexpr std::size_t lanes = 8;
#elif defined(__AVX2__)
constexpr std::size_t lanes = 4;
#else
constexpr std::size_t lanes = 2;
#endif
typedef double wide __attribute__((vector_size(lanes * 8)));
typedef double wide_in_memory __attribute__((vector_size(lanes * 8), aligned(8), may_alias));

inline wide get(const double* from) {
    return *reinterpret_cast<const wide_in_memory*>(from);
}

inline double masked(double x, std::uint64_t mask) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits &= mask;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

void left_weights(const candidate_row& row, const std::uint64_t* left, double* weights) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t k = 0; k < row.count; ++k)
        weights[k] = masked(row.weights[k], left[row.candidates[k]]);
}

void left_sums(const candidate_row& row, const std::uint64_t* left, double* weights, double* sums) {
    left_weights(row, left, weights);
    double sum = 0;
    for (std::size_t k = 0; k < row.count; ++k)
        sums[k] = sum += weights[k];
}

std::size_t first_above(const double* numbers, std::size_t count, double limit) {
    // Without a branch, which nobody could predict.
    std::uint64_t first = count;
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t here = numbers[k] > limit ? k : count;
        first = here < first ? here : first;
    }
    return first;
}

std::size_t first_of_largest(const double* numbers, std::size_t count) {
    double largest = 0;
    std::size_t first = count;
    for (std::size_t k = 0; k < count; ++k) {
        const bool is_larger = numbers[k] > largest;
        largest = is_larger ? numbers[k] : largest;
        first = is_larger ? k : first;
    }
    return first;
}

template <bool IsPlane>
std::size_t nearest_in(const left_cities& left, const double* from) {
    const auto square_at = [&](std::size_t i) {
        const double x = from[0] - left.places[0][i], y = from[1] - left.places[1][i];
        double square = x * x + y * y;
        if constexpr (!IsPlane) {
            const double z = from[2] - left.places[2][i];
            square += z * z;
        }
        return square;
    };
    double square = square_at(0), number = left.numbers[0];
    const auto take = [&](double other_square, double other_number) {
        if (other_square < square || (other_square == square && other_number < number)) {
            square = other_square;
            number = other_number;
        }
    };
    std::size_t i = 0;
    if (left.count >= lanes) {
        wide squares = wide{} + square, numbers = wide{} + number; // the nearest of each lane
        for (; i + lanes <= left.count; i += lanes) {
            const wide x = from[0] - get(left.places[0] + i), y = from[1] - get(left.places[1] + i);
            wide here = x * x + y * y;
            if constexpr (!IsPlane) {
                const wide z = from[2] - get(left.places[2] + i);
                here += z * z;
            }
            const wide others = get(left.numbers + i);
            const auto is_nearer = (here < squares) | ((here == squares) & (others < numbers));
            squares = is_nearer ? here : squares;
            numbers = is_nearer ? others : numbers;
        }
        for (std::size_t l = 0; l < lanes; ++l)
            take(squares[l], numbers[l]);
    }
    for (; i < left.count; ++i)
        take(square_at(i), left.numbers[i]);
    return static_cast<std::size_t>(number);
}

std::size_t nearest(const left_cities& left, const double* from) {
    return left.places[2] == nullptr ? nearest_in<true>(left, from) : nearest_in<false>(left, from);
}

std::uint32_t largest(const std::int32_t* numbers, std::size_t count) {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto number = static_cast<std::uint32_t>(numbers[i]);
        largest = number > largest ? number : largest;
    }
    return largest;
}

void scale(double factor, double* x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        x[i] *= factor;
}

// Most ways of a tour lead to one of the first candidates.
void lay_way(const lay_task& task, std::int32_t from, std::int32_t to) {
    const std::size_t first = static_cast<std::size_t>(from) * task.count;
    for (std::size_t k = 0; k < task.count; ++k)
        if (task.candidates[first + k] == to) {
            double& trail = task.trails[first + k];
            trail = task.kept * trail + task.amount;
            return;
        }
}

void lay(const lay_task& task) {
    std::int32_t from = task.tour[task.cities - 1];
    for (std::size_t i = 0; i < task.cities; ++i) {
        const std::int32_t to = task.tour[i];
        lay_way(task, from, to);
        if (task.both_ways)
            lay_way(task, to, from);
        from = to;
    }
}

void limit(const trail_limits& limits, double* trails, std::size_t count) {
    const double low = limits.low, high = limits.high;
    for (std::size_t i = 0; i < count; ++i) {
        const double at_least = trails[i] < low ? low : trails[i];
        trails[i] = at_least > high ? high : at_least;
    }
}

void weigh(std::size_t power, const double* trails, const double* nearness, double* weights,
           std::size_t count) {
    if (power == 1) {
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < count; ++i)
            weights[i] = trails[i] * nearness[i];
        return;
    }
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i) {
        double product = 1;
        for (std::size_t p = 0; p < power; ++p)
            product *= trails[i];
        weights[i] = product * nearness[i];
    }
}

} // namespace

extern const tour_loops TROUPE_TOUR_LOOPS;
const tour_loops TROUPE_TOUR_LOOPS{.left_weights = left_weights,
                                   .left_sums = left_sums,
                                   .first_above = first_above,
                                   .first_of_largest = first_of_largest,
                                   .nearest = nearest,
                                   .largest = largest,
                                   .scale = scale,
                                   .lay = lay,
                                   .limit = limit,
                                   .weigh = weigh};

} // namespace troupe::cpu
