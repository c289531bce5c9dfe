// Compiled several times, with TROUPE_NORM_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/norm_loops.hpp"

#include "kernels/cpu/vectors.hpp"

namespace troupe::cpu {

namespace {

// Three passes over a row, of which the first brings it into the cache. Centred: with mean and bias.
template <bool Centred>
void forward(row_norm_task t) {
    const float width = static_cast<float>(t.width);
    for (std::size_t row = 0; row < t.rows; ++row, t.x += t.width, t.y += t.width) {
        float mean = 0;
        if constexpr (Centred)
            t.mean[row] = mean = sum(t.width, [&](auto at) { return at(t.x); }) / width;
        const float variance = sum(t.width,
                                   [&](auto at) {
                                       const auto x = at(t.x) - mean;
                                       return x * x;
                                   }) /
                               width;
        const float r = 1.f / __builtin_sqrtf(variance + t.epsilon);
        t.inverse_deviation[row] = r;
        for_each_position(t.width, [&](auto at) {
            const auto x = (at(t.x) - mean) * r * at(t.weight);
            if constexpr (Centred)
                at.put(t.y, x + at(t.bias));
            else
                at.put(t.y, x);
        });
    }
}

template <bool Centred>
void backward(row_norm_back_task t) {
    const float width = static_cast<float>(t.width);
    for (std::size_t i = 0; i < t.width; ++i) {
        t.dweight[i] = 0;
        if (Centred)
            t.dbias[i] = 0;
    }
    for (std::size_t row = 0; row < t.rows; ++row, t.x += t.width, t.dy += t.width) {
        const float mean = Centred ? t.mean[row] : 0;
        const float r = t.inverse_deviation[row];
        // Sums of g and g * x'; adds the row's share of the parameters' gradients.
        const auto sums = sum(t.width, [&](auto at) {
            const auto x = (at(t.x) - mean) * r;
            const auto dy = at(t.dy);
            const auto g = dy * at(t.weight);
            at.put(t.dweight, at(t.dweight) + dy * x);
            if constexpr (Centred)
                at.put(t.dbias, at(t.dbias) + dy);
            return two<typename decltype(at)::values>{g, g * x};
        });
        if (t.dx == nullptr)
            continue;
        const float mean_g = Centred ? sums.first / width : 0;
        const float mean_gx = sums.second / width;
        for_each_position(t.width, [&](auto at) {
            const auto x = (at(t.x) - mean) * r;
            const auto g = at(t.dy) * at(t.weight);
            at.put(t.dx, r * (g - mean_g - x * mean_gx));
        });
        t.dx += t.width;
    }
}

} // namespace

extern const norm_loops TROUPE_NORM_LOOPS;
const norm_loops TROUPE_NORM_LOOPS{forward<true>, backward<true>, forward<false>, backward<false>};

} // namespace troupe::cpu
