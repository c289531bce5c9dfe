// Compiled several times, with TROUPE_LOSS_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/loss_loops.hpp"

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/loop_marks.hpp"
#include "kernels/cpu/reductions.hpp"

namespace troupe::cpu {

namespace {

constexpr std::size_t block = 64 * lanes; // what a loop keeps beside its operands

loss_loops::softmax_sums softmax(const float* x, float* powers, std::size_t count) {
    const float largest = largest_of(x, count);
    double total = 0;
    float own[block];
    for (std::size_t begin = 0; begin < count; begin += block) {
        const std::size_t size = count - begin < block ? count - begin : block;
        const float* from = x + begin;
        float* to = powers != nullptr ? powers + begin : own;
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < size; ++i)
            to[i] = exponential(from[i] - largest);
        total += sum_of(to, size);
    }
    return {largest, total};
}

void scale(float* y, float factor, float less, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = factor * y[i] - less;
}

double sum(const float* x, std::size_t count) {
    return sum_of(x, count);
}

double squared_error(const float* x, const float* y, float factor, float* difference,
                     std::size_t count) {
    double total = 0;
    float squares[block];
    for (std::size_t begin = 0; begin < count; begin += block) {
        const std::size_t size = count - begin < block ? count - begin : block;
        const float* a = x + begin;
        const float* b = y + begin;
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < size; ++i)
            squares[i] = (a[i] - b[i]) * (a[i] - b[i]);
        if (difference != nullptr) {
            float* d = difference + begin;
            TROUPE_EACH_BY_ITSELF
            for (std::size_t i = 0; i < size; ++i)
                d[i] = factor * (a[i] - b[i]);
        }
        total += sum_of(squares, size);
    }
    return total;
}

} // namespace

extern const loss_loops TROUPE_LOSS_LOOPS;
const loss_loops TROUPE_LOSS_LOOPS{softmax, scale, sum, squared_error};

} // namespace troupe::cpu
