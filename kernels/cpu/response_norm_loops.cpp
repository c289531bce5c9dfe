// Compiled several times, with TROUPE_RESPONSE_NORM_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/response_norm_loops.hpp"

#include "kernels/cpu/loop_marks.hpp"

namespace troupe::cpu {

namespace {

// Some neighbouring pixels with all their channels, (channels, pixels): sums over channels are sums of shifted lines.
struct tile {
    std::size_t pixels; // in it
    std::size_t rows;   // contiguous in the images
    std::size_t row;    // floats in one
    std::size_t stride; // floats from one to the next

    std::size_t floats() const { return rows * row; }

    void load(const float* images, float* line) const {
        for (std::size_t r = 0; r < rows; ++r) {
            const float* from = images + r * stride;
            float* to = line + r * row;
            TROUPE_EACH_BY_ITSELF
            for (std::size_t i = 0; i < row; ++i)
                to[i] = from[i];
        }
    }
    void store(const float* line, float* images) const {
        for (std::size_t r = 0; r < rows; ++r) {
            const float* from = line + r * row;
            float* to = images + r * stride;
            TROUPE_EACH_BY_ITSELF
            for (std::size_t i = 0; i < row; ++i)
                to[i] = from[i];
        }
    }
};

// Calls f with each tile and where it begins in the images.
template <class Function>
void for_each_tile(const response_norm_task& t, Function f) {
    const std::size_t most = t.block == 1 ? response_norm_pixels : 1;
    const std::size_t groups = t.channels / t.block;
    for (std::size_t s = 0; s < t.samples; ++s)
        for (std::size_t p = 0; p < t.pixels; p += most) {
            const std::size_t pixels = t.pixels - p < most ? t.pixels - p : most;
            f(tile{pixels, groups, pixels * t.block, t.pixels * t.block},
              (s * groups * t.pixels + p) * t.block);
        }
}

void zero(float* x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        x[i] = 0;
}

// y[i] = sum of x[i], x[i + step] ... x[i + (terms - 1) * step]
void add_shifted(const float* x, std::size_t step, std::size_t terms, float* y, std::size_t count) {
    if (terms == 5) { // AlexNet's: at once
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < count; ++i)
            y[i] = x[i] + x[i + step] + x[i + 2 * step] + x[i + 3 * step] + x[i + 4 * step];
        return;
    }
    zero(y, count);
    for (std::size_t j = 0; j < terms; ++j) {
        const float* shifted = x + j * step;
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < count; ++i)
            y[i] += shifted[i];
    }
}

// s^-0.75 for s > 0, with a relative error below 6e-7: s^-0.25 from its exponent, then three steps of Newton's method, which
// is less work than roots and a division.
inline float inverse_three_quarters(float s) {
    const int guess = 0x4f58cae5 - (__builtin_bit_cast(int, s) >> 2);
    float y = __builtin_bit_cast(float, guess);
    const float quarter = 0.25f * s;
    for (int step = 0; step < 3; ++step) {
        const float square = y * y;
        y = y * (1.25f - quarter * (square * square));
    }
    return y * y * y;
}

// power[i] = scale[i]^-beta
void powers(const float* scale, float beta, float* power, std::size_t count) {
    if (beta == 0.75f) {
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < count; ++i)
            power[i] = inverse_three_quarters(scale[i]);
    } else
        for (std::size_t i = 0; i < count; ++i)
            power[i] = __builtin_powf(scale[i], -beta);
}

// A line with zeros at both ends, for `before` and `after` channels that there are not.
struct padded_line {
    float* begin;
    float* values;

    padded_line(float* workspace, std::size_t before, std::size_t after, const tile& part)
        : begin{workspace}, values{workspace + before * part.pixels} {
        zero(begin, before * part.pixels);
        zero(values + part.floats(), after * part.pixels);
    }
};

// scale = k + share * sum of squares of x, a line of the tile.
void scales(const response_norm_task& t, const tile& part, const float* x, float* space,
            float* scale) {
    const std::size_t count = part.floats();
    const padded_line squares{space, t.size / 2, (t.size - 1) / 2, part};
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        squares.values[i] = x[i] * x[i];
    add_shifted(squares.begin, part.pixels, t.size, scale, count);
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        scale[i] = t.k + t.share * scale[i];
}

void forward(response_norm_task t) {
    const std::size_t line = response_norm_pixels * t.channels;
    float* const x = t.workspace;
    float* const scale = x + line;
    float* const power = scale + line;
    float* const space = power + line;
    for_each_tile(t, [&](const tile& part, std::size_t at) {
        const std::size_t count = part.floats();
        part.load(t.x + at, x);
        scales(t, part, x, space, scale);
        powers(scale, t.beta, power, count);
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < count; ++i)
            power[i] *= x[i];
        part.store(power, t.y + at);
    });
}

void backward(response_norm_task t) {
    const std::size_t line = response_norm_pixels * t.channels;
    float* const x = t.workspace;
    float* const scale = x + line;     // then sums
    float* const power = scale + line; // then what goes straight through
    float* const space = power + line;
    const float factor = 2 * t.share * t.beta;
    for_each_tile(t, [&](const tile& part, std::size_t at) {
        const std::size_t count = part.floats();
        part.load(t.x + at, x);
        scales(t, part, x, space, scale);
        powers(scale, t.beta, power, count);
        // Channel c counts for those from c - (size - 1) / 2 to c + size / 2.
        const padded_line shares{space, (t.size - 1) / 2, t.size / 2, part};
        part.load(t.dy + at, shares.values);
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < count; ++i) {
            const float straight = shares.values[i] * power[i];
            power[i] = straight;
            shares.values[i] = straight * x[i] / scale[i];
        }
        add_shifted(shares.begin, part.pixels, t.size, scale, count);
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < count; ++i)
            power[i] -= factor * x[i] * scale[i];
        part.store(power, t.y + at);
    });
}

} // namespace

extern const response_norm_loops TROUPE_RESPONSE_NORM_LOOPS;
const response_norm_loops TROUPE_RESPONSE_NORM_LOOPS{forward, backward};

} // namespace troupe::cpu
