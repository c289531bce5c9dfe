// Compiled once per instruction set, with TROUPE_FEW_CHANNELS_LOOPS naming the table: no inline functions from elsewhere.
#include "kernels/cpu/few_channels_loops.hpp"

#include <cstdint>

#include "kernels/cpu/packed_products.hpp"

namespace troupe::cpu {

namespace {

// The image with zeros around it, and behind its channels a plane of ones: its sum is that of the biases.
struct padded_image {
    std::size_t height, width, planes;

    explicit padded_image(const few_channels_task& t)
        : height{t.height + 2 * t.padding}, width{t.width + 2 * t.padding}, planes{t.in + 1} {}

    std::size_t floats() const { return planes * height * width; }
};

std::size_t taps(const few_channels_task& t) {
    return t.in * t.kernel_height * t.kernel_width;
}

// Where the first window has its position `tap`; behind the last one, the first of the ones.
std::size_t place(const few_channels_task& t, const padded_image& image, std::size_t tap) {
    const std::size_t window = t.kernel_height * t.kernel_width;
    const std::size_t y = tap % window / t.kernel_width, x = tap % window % t.kernel_width;
    return (tap / window * image.height + y) * image.width + x;
}

void pad(const few_channels_task& t, const padded_image& image, const float* from, float* to) {
    for (std::size_t plane = 0; plane < t.in; ++plane)
        for (std::size_t y = 0; y < image.height; ++y)
            for (std::size_t x = 0; x < image.width; ++x, ++to) {
                const std::size_t row = y - t.padding, column = x - t.padding; // before: very large
                *to = row < t.height && column < t.width
                          ? from[(plane * t.height + row) * t.width + column]
                          : 0;
            }
}

struct sample_sums {
    const few_channels_task& t;
    const padded_image image;
    const float* padded;
    const float* gradient;

    // A few taps towards one or two vectors of channels.
    template <int Rows, int Vectors>
    void add(std::size_t tap, std::size_t channel, float* sums) const {
        const std::size_t pixels = t.out_height * t.out_width;
        const float* from[Rows];
        for (int r = 0; r < Rows; ++r)
            from[r] = padded + place(t, image, tap + static_cast<std::size_t>(r));
        const float* with[Vectors];
        for (int v = 0; v < Vectors; ++v) {
            const std::size_t c = channel + static_cast<std::size_t>(v) * lanes;
            with[v] = gradient + c / t.block * t.block * pixels + c % t.block;
        }
        vec totals[Rows][Vectors] = {};
        for (std::size_t y = 0; y < t.out_height; ++y) {
            std::size_t a = y * t.stride * image.width, b = y * t.out_width * t.block;
            for (std::size_t x = 0; x < t.out_width; ++x, a += t.stride, b += t.block) {
                vec right[Vectors];
                for (int v = 0; v < Vectors; ++v)
                    right[v] = get(with[v] + b);
                for (int r = 0; r < Rows; ++r)
                    for (int v = 0; v < Vectors; ++v)
                        totals[r][v] += from[r][a] * right[v];
            }
        }
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v) {
                float* const to = sums + (tap + static_cast<std::size_t>(r)) * t.out + channel +
                                  static_cast<std::size_t>(v) * lanes;
                put(to, get(to) + totals[r][v]);
            }
    }

    template <int Rows>
    void add_rows(std::size_t tap, std::size_t count, float* sums) const {
        if (count < Rows) {
            if constexpr (Rows > 1)
                add_rows<Rows - 1>(tap, count, sums);
            return;
        }
        std::size_t channel = 0;
        for (; channel + vectors_max * lanes <= t.out; channel += vectors_max * lanes)
            add<Rows, vectors_max>(tap, channel, sums);
        for (; channel < t.out; channel += lanes)
            add<Rows, 1>(tap, channel, sums);
    }
};

std::size_t sums_floats(const few_channels_task& t) {
    return (taps(t) + 1) * t.out;
}

std::size_t workspace_floats(const few_channels_task& t) {
    return padded_image{t}.floats();
}

void add(const few_channels_task& t, const float* images, const float* output_gradient, float* sums,
         float* workspace) {
    const padded_image image{t};
    const std::size_t plane = image.height * image.width, rows = taps(t) + 1;
    for (std::size_t i = 0; i < plane; ++i)
        workspace[t.in * plane + i] = 1;
    const std::size_t tiles = (rows + rows_max - 1) / rows_max;
    for (std::size_t s = 0; s < t.samples; ++s) {
        pad(t, image, images + s * t.in * t.height * t.width, workspace);
        const sample_sums sample{t, image, workspace,
                                 output_gradient + s * t.out * t.out_height * t.out_width};
        for (std::size_t i = 0; i < tiles; ++i) {
            const std::size_t first = rows * i / tiles;
            sample.add_rows<rows_max>(first, rows * (i + 1) / tiles - first, sums);
        }
    }
}

void unpack(const few_channels_task& t, const float* sums, float* weight_gradient,
            float* bias_gradient) {
    const std::size_t rows = taps(t);
    for (std::size_t o = 0; o < t.out; ++o)
        for (std::size_t tap = 0; tap < rows; ++tap)
            weight_gradient[o * rows + tap] = sums[tap * t.out + o];
    if (bias_gradient != nullptr)
        for (std::size_t o = 0; o < t.out; ++o)
            bias_gradient[o] = sums[rows * t.out + o];
}

// --- forward

struct sample_products {
    const few_channels_task& t;
    const padded_image image;
    const float* padded;
    const float* packed; // of the first of these channels
    const float* bias;   // null, or of these channels
    float* result;       // of these channels

    // A few pixels of a row towards one or two vectors of channels.
    template <int Pixels, int Vectors>
    void multiply(std::size_t y, std::size_t x) const {
        const std::size_t pixels = t.out_height * t.out_width;
        const float* from[Pixels];
        for (int p = 0; p < Pixels; ++p)
            from[p] =
                padded + y * t.stride * image.width + (x + static_cast<std::size_t>(p)) * t.stride;
        vec sums[Pixels][Vectors] = {};
        const float* b = packed;
        for (std::size_t plane = 0; plane < t.in; ++plane)
            for (std::size_t row = 0; row < t.kernel_height; ++row) {
                std::size_t a = (plane * image.height + row) * image.width;
                for (std::size_t k = 0; k < t.kernel_width; ++k, ++a, b += panel) {
                    vec right[Vectors];
                    for (int v = 0; v < Vectors; ++v)
                        right[v] = get(b + v * lanes);
                    for (int p = 0; p < Pixels; ++p)
                        for (int v = 0; v < Vectors; ++v)
                            sums[p][v] += from[p][a] * right[v];
                }
            }
        for (int v = 0; v < Vectors; ++v) {
            const std::size_t c = static_cast<std::size_t>(v) * lanes;
            const vec offset = bias != nullptr ? get(bias + c) : vec{};
            float* const to = result + c / t.block * t.block * pixels + c % t.block +
                              (y * t.out_width + x) * t.block;
            for (int p = 0; p < Pixels; ++p)
                put(to + static_cast<std::size_t>(p) * t.block, sums[p][v] + offset);
        }
    }

    template <int Vectors, int Pixels = rows_max>
    void multiply_some(std::size_t count, std::size_t y, std::size_t x) const {
        if (count == Pixels)
            return multiply<Pixels, Vectors>(y, x);
        if constexpr (Pixels > 1)
            multiply_some<Vectors, Pixels - 1>(count, y, x);
    }

    template <int Vectors>
    void multiply_all() const {
        const strips all{t.out_width};
        for (std::size_t y = 0; y < t.out_height; ++y)
            for (std::size_t i = 0; i < all.count; ++i)
                multiply_some<Vectors>(all.rows_of(i), y, all.first(i));
    }
};

std::size_t packed_floats(const few_channels_task& t) {
    return taps(t) * rounded_up(t.out, panel);
}

// A panel of channels beside one another, tap after tap.
void pack(const few_channels_task& t, const float* weight, float* packed) {
    const std::size_t rows = taps(t);
    for (std::size_t o = 0; o < t.out; ++o)
        for (std::size_t tap = 0; tap < rows; ++tap)
            packed[(o / panel * rows + tap) * panel + o % panel] = weight[o * rows + tap];
}

void convolve(const few_channels_task& t, const float* images, const float* packed,
              const float* bias, float* result, float* workspace) {
    const padded_image image{t};
    const std::size_t pixels = t.out_height * t.out_width;
    for (std::size_t s = 0; s < t.samples; ++s) {
        pad(t, image, images + s * t.in * t.height * t.width, workspace);
        for (std::size_t c = 0; c < t.out; c += panel) {
            const sample_products some{t,
                                       image,
                                       workspace,
                                       packed + c * taps(t),
                                       bias != nullptr ? bias + c : nullptr,
                                       result + (s * t.out + c / t.block * t.block) * pixels +
                                           c % t.block};
            if (t.out - c > lanes)
                some.template multiply_all<vectors_max>();
            else
                some.template multiply_all<1>();
        }
    }
}

} // namespace

extern const few_channels_loops TROUPE_FEW_CHANNELS_LOOPS;
const few_channels_loops TROUPE_FEW_CHANNELS_LOOPS{.channels_max = lanes == 16 ? 0 : 7,
                                                   .forward_window_min =
                                                       lanes == 8 ? 11 * 11 : SIZE_MAX,
                                                   .sums_floats = sums_floats,
                                                   .workspace_floats = workspace_floats,
                                                   .add = add,
                                                   .unpack = unpack,
                                                   .packed_floats = packed_floats,
                                                   .pack = pack,
                                                   .convolve = convolve};

} // namespace troupe::cpu
