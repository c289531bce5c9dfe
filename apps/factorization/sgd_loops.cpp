// Compiled several times, with TROUPE_SGD_LOOPS naming the table; see kernels/cpu/loops.cpp for what it must not include.
#include "apps/factorization/sgd_loops.hpp"

#ifndef TROUPE_SGD_LOOPS
#define TROUPE_SGD_LOOPS sgd_loops_baseline
#endif

namespace troupe::factorization {

// All has internal linkage, as the linker would keep one copy for all instruction sets otherwise.
namespace {

typedef float eight __attribute__((vector_size(lanes * sizeof(float))));
typedef float eight_in_memory
    __attribute__((vector_size(lanes * sizeof(float)), aligned(sizeof(float)), may_alias));

inline eight get(const float* from) {
    return *reinterpret_cast<const eight_in_memory*>(from);
}
inline void put(float* to, eight v) {
    *reinterpret_cast<eight_in_memory*>(to) = v;
}
inline float sum_of(eight v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// A user's factors in registers.
template <std::size_t Parts>
struct held_factors {
    eight part[Parts];

    held_factors(const float* from, std::size_t) {
        for (std::size_t k = 0; k < Parts; ++k)
            part[k] = get(from + k * lanes);
    }
    float product(const float* other) const {
        eight sum = part[0] * get(other);
        for (std::size_t k = 1; k < Parts; ++k)
            sum += part[k] * get(other + k * lanes);
        return sum_of(sum);
    }
    void move(float* other, float keep, float change) {
        for (std::size_t k = 0; k < Parts; ++k) {
            const eight q = get(other + k * lanes);
            put(other + k * lanes, keep * q + change * part[k]);
            part[k] = keep * part[k] + change * q;
        }
    }
    void put_back(float* to) const {
        for (std::size_t k = 0; k < Parts; ++k)
            put(to + k * lanes, part[k]);
    }
};

// More than there are registers for: where they are.
struct distant_factors {
    float* factors;
    std::size_t stride;

    distant_factors(float* from, std::size_t count) : factors{from}, stride{count} {}
    float product(const float* other) const {
        eight sum = get(factors) * get(other);
        for (std::size_t k = lanes; k < stride; k += lanes)
            sum += get(factors + k) * get(other + k);
        return sum_of(sum);
    }
    void move(float* other, float keep, float change) const {
        for (std::size_t k = 0; k < stride; k += lanes) {
            const eight p = get(factors + k), q = get(other + k);
            put(other + k, keep * q + change * p);
            put(factors + k, keep * p + change * q);
        }
    }
    void put_back(float*) const {}
};

template <class Factors>
double learn_with(const rating_view& ratings, std::size_t first, std::size_t last,
                  const factor_view& view, const sgd_step& step) {
    double squares = 0;
    const std::size_t stride = view.stride;
    for (std::size_t v = first; v < last; ++v) {
        const std::size_t user = ratings.users[v];
        Factors p{view.user_factors + user * stride, stride};
        float b = view.user_biases[user], square = 0;
        for (std::size_t k = ratings.starts[v]; k < ratings.starts[v + 1]; ++k) {
            const std::size_t item = ratings.items[k];
            float* const q = view.item_factors + item * stride;
            const float c = view.item_biases[item];
            const float e = ratings.values[k] - view.mean - b - c - p.product(q);
            square += e * e;
            b = step.bias_keep * b + step.bias_step * e;
            view.item_biases[item] = step.bias_keep * c + step.bias_step * e;
            p.move(q, step.keep, step.step * e);
        }
        squares += static_cast<double>(square);
        p.put_back(view.user_factors + user * stride);
        view.user_biases[user] = b;
    }
    return squares;
}

double learn(const rating_view& ratings, std::size_t first, std::size_t last,
             const factor_view& view, const sgd_step& step) {
    switch (view.stride / lanes) {
    case 1:
        return learn_with<held_factors<1>>(ratings, first, last, view, step);
    case 2:
        return learn_with<held_factors<2>>(ratings, first, last, view, step);
    case 3:
        return learn_with<held_factors<3>>(ratings, first, last, view, step);
    case 4:
        return learn_with<held_factors<4>>(ratings, first, last, view, step);
    case 5:
        return learn_with<held_factors<5>>(ratings, first, last, view, step);
    case 6:
        return learn_with<held_factors<6>>(ratings, first, last, view, step);
    case 7:
        return learn_with<held_factors<7>>(ratings, first, last, view, step);
    case 8:
        return learn_with<held_factors<8>>(ratings, first, last, view, step);
    default:
        return learn_with<distant_factors>(ratings, first, last, view, step);
    }
}

double squares(const rating_view& ratings, const factor_view& view) {
    double sum = 0;
    for (std::size_t v = 0; v < ratings.visits; ++v) {
        const std::size_t user = ratings.users[v];
        const distant_factors p{view.user_factors + user * view.stride, view.stride};
        const float b = view.user_biases[user];
        for (std::size_t k = ratings.starts[v]; k < ratings.starts[v + 1]; ++k) {
            const std::size_t item = ratings.items[k];
            const float e = ratings.values[k] - view.mean - b - view.item_biases[item] -
                            p.product(view.item_factors + item * view.stride);
            sum += static_cast<double>(e * e);
        }
    }
    return sum;
}

} // namespace

// It has external linkage, whatever its declaration says of constants.
extern const sgd_loops TROUPE_SGD_LOOPS;
const sgd_loops TROUPE_SGD_LOOPS{learn, squares};

} // namespace troupe::factorization
