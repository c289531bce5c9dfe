// Vectors for loops that are compiled once per instruction set. All has internal linkage, as the linker would keep one copy
// for all instruction sets otherwise. Sums are taken in an order that does not depend on the width of the registers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

namespace {

// So many floats as one vector. The compiler splits what is wider than the machine's registers.
template <int Lanes>
struct vectors {
    typedef float values __attribute__((vector_size(Lanes * 4), aligned(4))); // in memory
    typedef float registers __attribute__((vector_size(Lanes * 4)));
    typedef std::int32_t integers __attribute__((vector_size(Lanes * 4)));
    typedef std::uint8_t bytes __attribute__((vector_size(Lanes), aligned(1)));
};

// The lanes of the machine's registers.
#if defined(__AVX512F__)
constexpr int register_lanes = 16;
#elif defined(__AVX2__)
constexpr int register_lanes = 8;
#else
constexpr int register_lanes = 4;
#endif

// More lanes than a register has: GCC keeps the parts of a vector that it splits by itself in memory.
template <class Half>
struct halves {
    Half low, high;

    halves& operator+=(const halves& b) {
        low += b.low;
        high += b.high;
        return *this;
    }
    friend halves operator+(halves a, const halves& b) { return a += b; }
    friend halves operator+(const halves& a, float b) { return {a.low + b, a.high + b}; }
    friend halves operator-(const halves& a, const halves& b) {
        return {a.low - b.low, a.high - b.high};
    }
    friend halves operator-(const halves& a, float b) { return {a.low - b, a.high - b}; }
    friend halves operator*(const halves& a, const halves& b) {
        return {a.low * b.low, a.high * b.high};
    }
    friend halves operator*(const halves& a, float b) { return {a.low * b, a.high * b}; }
    friend halves operator*(float a, const halves& b) { return {a * b.low, a * b.high}; }
    friend halves operator/(const halves& a, float b) { return {a.low / b, a.high / b}; }
};

template <int Lanes, bool IsOne = (Lanes <= register_lanes)>
struct registers_of {
    using values = typename vectors<Lanes>::registers;
    using in_memory = typename vectors<Lanes>::values;

    static values get(const float* x) { return *reinterpret_cast<const in_memory*>(x); }
    static void put(float* x, values v) { *reinterpret_cast<in_memory*>(x) = v; }
};
template <int Lanes>
struct registers_of<Lanes, false> {
    using half = registers_of<Lanes / 2>;
    using values = halves<typename half::values>;

    static values get(const float* x) { return {half::get(x), half::get(x + Lanes / 2)}; }
    static void put(float* x, const values& v) {
        half::put(x, v.low);
        half::put(x + Lanes / 2, v.high);
    }
};

// The position of a loop: Lanes consecutive elements of each array.
template <int Lanes>
struct position {
    using values = typename registers_of<Lanes>::values;
    std::size_t i;

    values operator()(const float* x) const { return registers_of<Lanes>::get(x + i); }
    void put(float* x, const values& v) const { registers_of<Lanes>::put(x + i, v); }
};
template <>
struct position<1> {
    using values = float;
    std::size_t i;

    float operator()(const float* x) const { return x[i]; }
    void put(float* x, float v) const { x[i] = v; }
};

// Calls f with the positions of `count` elements, most of them 16 at a time.
template <class Function>
inline void for_each_position(std::size_t count, Function f) {
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16)
        f(position<16>{i});
    for (; i < count; ++i)
        f(position<1>{i});
}

// Two sums that are taken together.
template <class Value>
struct two {
    Value first, second;

    two& operator+=(const two& other) {
        first += other.first;
        second += other.second;
        return *this;
    }
};

// The lanes of a vector, halves added to halves.
inline float add_lanes(const position<16>::values& v) {
    float parts[16];
    position<16>{0}.put(parts, v);
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; ++l)
            parts[l] += parts[l + half];
    return parts[0];
}
template <class Value>
inline two<float> add_lanes(two<Value> v) {
    return {add_lanes(v.first), add_lanes(v.second)};
}

// The sum of what f gives at each position of `count` elements, a float or vector or two; in 64 running sums.
template <class Function>
inline auto sum(std::size_t count, Function f) {
    decltype(f(position<16>{0})) sums[4] = {};
    std::size_t i = 0;
    for (; i + 64 <= count; i += 64)
        for (std::size_t s = 0; s < 4; ++s)
            sums[s] += f(position<16>{i + s * 16});
    for (; i + 16 <= count; i += 16)
        sums[0] += f(position<16>{i});
    sums[0] += sums[1];
    sums[2] += sums[3];
    sums[0] += sums[2];
    auto total = add_lanes(sums[0]);
    for (; i < count; ++i)
        total += f(position<1>{i});
    return total;
}

} // namespace

} // namespace troupe::cpu
