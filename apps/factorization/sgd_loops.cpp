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

constexpr std::size_t line = 64 / sizeof(float); // of a cache

inline eight get(const float* from) {
    return *reinterpret_cast<const eight_in_memory*>(from);
}
inline void put(float* to, eight v) {
    *reinterpret_cast<eight_in_memory*>(to) = v;
}
typedef float four __attribute__((vector_size(4 * sizeof(float))));

inline float sum_of(eight v) {
    const four halves =
        __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    const four quarters = halves + __builtin_shufflevector(halves, halves, 2, 3, 2, 3);
    return quarters[0] + quarters[1];
}

// Adds the parts first to last - 1, as a tree: an addition waits for few others.
template <std::size_t First, std::size_t Last>
inline eight sum_of_products(const eight* part, const float* other) {
    if constexpr (Last - First == 1)
        return part[First] * get(other + First * lanes);
    else
        return sum_of_products<First, (First + Last + 1) / 2>(part, other) +
               sum_of_products<(First + Last + 1) / 2, Last>(part, other);
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
        return sum_of(sum_of_products<0, Parts>(part, other));
    }
    void move(float* other, float keep, float change) {
        for (std::size_t k = 0; k < Parts; ++k) {
            const eight q = get(other + k * lanes);
            put(other + k * lanes, keep * q + change * part[k]);
            part[k] = keep * part[k] + change * q;
        }
    }
    static void prefetch(const float* other) {
        for (std::size_t k = 0; k < Parts * lanes; k += line)
            __builtin_prefetch(other + k, 1);
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
    static void prefetch(const float*) {} // long enough for the processor's own
    void put_back(float*) const {}
};

// The users that are to be learned from, one after the other. Copies, which no store can change.
struct visits {
    // Ratings: whose item's factors are brought nearer.
    static constexpr std::size_t ahead = 2;

    rating_view ratings;
    factor_view view;
    sgd_step step;
    std::size_t next, last;
    double squares = 0;
    std::size_t all = ratings.starts[ratings.visits];

    float* factors_of_item(std::size_t rating) const {
        return view.item_factors + std::size_t{ratings.items[rating]} * view.stride;
    }
};

// A user and the ratings of it that are left.
template <class Factors>
struct visited {
    Factors p;
    float* factors;
    float* bias;
    float b, square = 0;
    std::size_t at, end;

    // There is a next one.
    explicit visited(visits& from)
        : p{factors_of(from), from.view.stride}, factors{factors_of(from)},
          bias{from.view.user_biases + from.ratings.users[from.next]}, b{*bias},
          at{from.ratings.starts[from.next]}, end{from.ratings.starts[from.next + 1]} {
        ++from.next;
    }
    static float* factors_of(const visits& from) {
        return from.view.user_factors +
               std::size_t{from.ratings.users[from.next]} * from.view.stride;
    }
    std::size_t left() const { return end - at; }
    void step(const visits& from) {
        const sgd_step& s = from.step;
        const std::size_t item = from.ratings.items[at];
        float* const q = from.factors_of_item(at);
        Factors::prefetch(from.factors_of_item(at + from.ahead < from.all ? at + from.ahead : at));
        const float c = from.view.item_biases[item];
        const float e = from.ratings.values[at] - from.view.mean - b - c - p.product(q);
        square += e * e;
        b = s.bias_keep * b + s.bias_step * e;
        from.view.item_biases[item] = s.bias_keep * c + s.bias_step * e;
        p.move(q, s.keep, s.step * e);
        ++at;
    }
    void put_back(visits& from) const {
        from.squares += static_cast<double>(square);
        p.put_back(factors);
        *bias = b;
    }
};

// A step waits for the step before it of the same user, and takes little more time if another user's is made meanwhile.
template <class Factors>
double learn_with(const rating_view& ratings, std::size_t first, std::size_t last,
                  const factor_view& view, const sgd_step& s) {
    visits from{ratings, view, s, first, last};
    const auto finish = [&from](visited<Factors>& user) {
        while (user.left() > 0)
            user.step(from);
        user.put_back(from);
    };
    if (last - first < 2) {
        if (first < last) {
            visited<Factors> one{from};
            finish(one);
        }
        return from.squares;
    }
    visited<Factors> one{from}, other{from};
    for (;;) {
        for (std::size_t both = one.left() < other.left() ? one.left() : other.left(); both > 0;
             --both) {
            one.step(from);
            other.step(from);
        }
        if (from.next == last)
            break;
        if (one.left() == 0) {
            one.put_back(from);
            one = visited<Factors>{from};
        } else {
            other.put_back(from);
            other = visited<Factors>{from};
        }
    }
    finish(one);
    finish(other);
    return from.squares;
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
