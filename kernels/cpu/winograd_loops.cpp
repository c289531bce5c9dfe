// Compiled once per instruction set, with TROUPE_WINOGRAD_LOOPS naming the table: no inline functions from elsewhere.
#include "kernels/cpu/winograd_loops.hpp"

#include "kernels/cpu/winograd_transforms.hpp"

namespace troupe::cpu {

namespace {

constexpr std::size_t positions = 36; // of a transformed tile
constexpr std::size_t edge = 6;       // of a tile
constexpr std::size_t step = 4;       // from tile to tile; edge of its result
// Rows of a matrix product that are held in registers, two vectors wide; and how many tiles are a multiple of them for
// every instruction set.
constexpr std::size_t row_block = lanes == 16 ? 12 : rows_max;
constexpr std::size_t tile_unit = 12;

// The second dimension: every column of `half`, edge wide, goes to its place in all positions.
template <void (*Transform)(const vec*, std::size_t, vec*, std::size_t)>
inline void store_columns(const vec* half, float* to, std::size_t stride) {
    for (std::size_t c = 0; c < edge; ++c) {
        vec column[edge];
        Transform(half + c, edge, column, 1);
        for (std::size_t r = 0; r < edge; ++r)
            put(to + (r * edge + c) * stride, column[r]);
    }
}

// --- tiles

std::size_t out_height(const winograd_task& t) {
    return t.height + 2 * t.padding - 2;
}
std::size_t out_width(const winograd_task& t) {
    return t.width + 2 * t.padding - 2;
}

struct tile_grid {
    std::size_t down, across, all; // tiles of one image, of all

    explicit tile_grid(const winograd_task& t)
        : down{(out_height(t) + step - 1) / step}, across{(out_width(t) + step - 1) / step},
          all{t.samples * down * across} {}
};

struct tile {
    std::size_t sample, y, x; // of its result's first pixel

    tile(const tile_grid& grid, std::size_t number)
        : sample{number / (grid.down * grid.across)}, y{number / grid.across % grid.down * step},
          x{number % grid.across * step} {}
};

// Channels of a sample in memory.
std::size_t all_in(const winograd_task& t) {
    return t.in_all == 0 ? t.in : t.in_all;
}
std::size_t all_out(const winograd_task& t) {
    return t.out_all == 0 ? t.out : t.out_all;
}

// Where `lanes` channels of an image begin, the first of them `channel`; their pixels are t.block apart.
std::size_t place(const winograd_task& t, std::size_t sample, std::size_t channels,
                  std::size_t channel, std::size_t pixels) {
    return (sample * channels + channel / t.block * t.block) * pixels + channel % t.block;
}

// Tiles at a time: as many as keep both sides of the products in the second-level cache, but enough for them to be worth
// loading the weights.
std::size_t tiles_at_a_time(const winograd_task& t) {
    constexpr std::size_t cache_floats = (3u << 20) / 4 / sizeof(float);
    const std::size_t fitting = cache_floats / (positions * (t.in + t.out)) / tile_unit * tile_unit;
    return fitting < 4 * tile_unit ? 4 * tile_unit : fitting;
}

// One side of the products, position after position. A line of the cache more than needed keeps the positions of a tile
// from competing for the same ones.
std::size_t position_stride(std::size_t tiles, std::size_t channels) {
    return tiles * channels + 16;
}

void transform_input(const winograd_task& t, const tile_grid& grid, std::size_t first,
                     std::size_t count, const float* images, float* out, std::size_t stride) {
    for (std::size_t n = 0; n < count; ++n) {
        const tile here{grid, first + n};
        for (std::size_t channel = 0; channel < t.in; channel += lanes) {
            const float* image =
                images + place(t, here.sample, all_in(t), channel, t.height * t.width);
            vec pixels[edge * edge], half[edge * edge];
            for (std::size_t r = 0; r < edge; ++r) {
                const std::size_t y = here.y + r - t.padding; // above the image: very large
                for (std::size_t c = 0; c < edge; ++c) {
                    const std::size_t x = here.x + c - t.padding;
                    pixels[r * edge + c] = y < t.height && x < t.width
                                               ? get(image + (y * t.width + x) * t.block)
                                               : vec{};
                }
                transform_pixels(pixels + r * edge, 1, half + r * edge, 1);
            }
            store_columns<transform_pixels>(half, out + n * t.in + channel, stride);
        }
    }
}

void transform_output(const winograd_task& t, const tile_grid& grid, std::size_t first,
                      std::size_t count, const float* products, std::size_t stride,
                      const float* bias, float* result) {
    const std::size_t height = out_height(t), width = out_width(t);
    for (std::size_t n = 0; n < count; ++n) {
        const tile here{grid, first + n};
        const std::size_t rows = least(step, height - here.y);
        const std::size_t columns = least(step, width - here.x);
        for (std::size_t channel = 0; channel < t.out; channel += lanes) {
            const float* from = products + n * t.out + channel;
            vec half[edge * step];
            for (std::size_t r = 0; r < edge; ++r) {
                vec row[edge];
                for (std::size_t c = 0; c < edge; ++c)
                    row[c] = get(from + (r * edge + c) * stride);
                transform_results(row, 1, half + r * step, 1);
            }
            vec out[step * step];
            for (std::size_t c = 0; c < step; ++c)
                transform_results(half + c, step, out + c, step);
            const vec offset = bias != nullptr ? get(bias + channel) : vec{};
            float* image = result + place(t, here.sample, all_out(t), channel, height * width) +
                           (here.y * width + here.x) * t.block;
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < columns; ++c)
                    put(image + (r * width + c) * t.block, out[r * step + c] + offset);
        }
    }
}

// Also adds the gradients to `bias_sums`.
void transform_output_gradient(const winograd_task& t, const tile_grid& grid, std::size_t first,
                               std::size_t count, const float* gradients, float* out,
                               std::size_t stride, float* bias_sums) {
    const std::size_t height = out_height(t), width = out_width(t);
    for (std::size_t n = 0; n < count; ++n) {
        const tile here{grid, first + n};
        const std::size_t rows = least(step, height - here.y);
        const std::size_t columns = least(step, width - here.x);
        for (std::size_t channel = 0; channel < t.out; channel += lanes) {
            const float* image = gradients +
                                 place(t, here.sample, all_out(t), channel, height * width) +
                                 (here.y * width + here.x) * t.block;
            vec pixels[step * step] = {}, half[step * edge], sum = get(bias_sums + channel);
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < columns; ++c) {
                    pixels[r * step + c] = get(image + (r * width + c) * t.block);
                    sum += pixels[r * step + c];
                }
            put(bias_sums + channel, sum);
            for (std::size_t r = 0; r < step; ++r)
                transform_gradients(pixels + r * step, 1, half + r * edge, 1);
            store_columns<transform_gradients>(half, out + n * t.out + channel, stride);
        }
    }
}

// --- products: c = a (rows, depth) b (depth, columns), or added to c; `columns` whole vectors

struct product {
    const float* a;
    std::size_t a_row, a_depth; // distances
    const float* b;
    std::size_t b_depth;
    float* c;
    std::size_t c_row;
    std::size_t depth;
    bool adds;
};

template <std::size_t Rows, std::size_t Vectors>
void multiply_block(const product& p) {
    vec sums[Rows][Vectors];
#pragma GCC unroll 12
    for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < Vectors; ++v)
            sums[r][v] = p.adds ? get(p.c + r * p.c_row + v * lanes) : vec{};
    const float* a = p.a;
    const float* b = p.b;
    for (std::size_t k = 0; k < p.depth; ++k, a += p.a_depth, b += p.b_depth) {
        vec right[Vectors];
#pragma GCC unroll 2
        for (std::size_t v = 0; v < Vectors; ++v)
            right[v] = get(b + v * lanes);
#pragma GCC unroll 12
        for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 2
            for (std::size_t v = 0; v < Vectors; ++v)
                sums[r][v] += a[r * p.a_row] * right[v];
    }
#pragma GCC unroll 12
    for (std::size_t r = 0; r < Rows; ++r)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < Vectors; ++v)
            put(p.c + r * p.c_row + v * lanes, sums[r][v]);
}

// Rows left over.
template <std::size_t Vectors, std::size_t Rows = row_block - 1>
void multiply_rest(const product& p, std::size_t rows) {
    if constexpr (Rows > 0) {
        if (rows == Rows)
            multiply_block<Rows, Vectors>(p);
        else
            multiply_rest<Vectors, Rows - 1>(p, rows);
    }
}

template <std::size_t Vectors>
void multiply_columns(product p, std::size_t rows) {
    for (; rows >= row_block; rows -= row_block) {
        multiply_block<row_block, Vectors>(p);
        p.a += row_block * p.a_row;
        p.c += row_block * p.c_row;
    }
    multiply_rest<Vectors>(p, rows);
}

void multiply(product p, std::size_t rows, std::size_t columns) {
    for (; columns >= 2 * lanes; columns -= 2 * lanes, p.b += 2 * lanes, p.c += 2 * lanes)
        multiply_columns<2>(p, rows);
    if (columns > 0)
        multiply_columns<1>(p, rows);
}

// The weights of one contracted channel towards a vector of others, taken from rows of 9; `turned` by 180 degrees.
void pack_one(const float* weight, std::size_t distance, bool turned, float* to,
              std::size_t stride) {
    vec g[9], half[edge * 3];
    for (std::size_t k = 0; k < 9; ++k)
        for (std::size_t lane = 0; lane < lanes; ++lane)
            g[k][lane] = weight[lane * distance + (turned ? 8 - k : k)];
    for (std::size_t c = 0; c < 3; ++c)
        transform_weights(g + c, 3, half + c, 3);
    for (std::size_t r = 0; r < edge; ++r) {
        vec row[edge];
        transform_weights(half + 3 * r, 1, row, 1);
        for (std::size_t c = 0; c < edge; ++c)
            put(to + (r * edge + c) * stride, row[c]);
    }
}

std::size_t weight_floats(const winograd_task& t) {
    return positions * t.in * t.out;
}

std::size_t workspace_floats(const winograd_task& t) {
    const std::size_t tiles = least(tiles_at_a_time(t), tile_grid{t}.all);
    return positions * (position_stride(tiles, t.in) + position_stride(tiles, t.out));
}

void pack(const winograd_task& t, const float* weight, float* packed) {
    for (std::size_t i = 0; i < t.in; ++i)
        for (std::size_t o = 0; o < t.out; o += lanes)
            pack_one(weight + (o * all_in(t) + i) * 9, all_in(t) * 9, false, packed + i * t.out + o,
                     t.in * t.out);
}

void pack_backward(const winograd_task& t, const float* weight, float* packed) {
    for (std::size_t o = 0; o < t.out; ++o)
        for (std::size_t i = 0; i < t.in; i += lanes)
            pack_one(weight + (o * all_in(t) + i) * 9, 9, true, packed + o * t.in + i,
                     t.in * t.out);
}

void convolve(const winograd_task& t, const float* images, const float* packed, const float* bias,
              float* result, float* workspace) {
    const tile_grid grid{t};
    const std::size_t block = least(tiles_at_a_time(t), grid.all);
    const std::size_t left = position_stride(block, t.in), right = position_stride(block, t.out);
    float* const pixels = workspace;
    float* const products = workspace + positions * left;
    for (std::size_t first = 0; first < grid.all; first += block) {
        const std::size_t count = least(block, grid.all - first);
        transform_input(t, grid, first, count, images, pixels, left);
        for (std::size_t p = 0; p < positions; ++p)
            multiply({pixels + p * left, t.in, 1, packed + p * t.in * t.out, t.out,
                      products + p * right, t.out, t.in, false},
                     count, t.out);
        transform_output(t, grid, first, count, products, right, bias, result);
    }
}

void add_weight_gradient(const winograd_task& t, const float* images, const float* output_gradient,
                         float* sums, float* bias_sums, float* workspace) {
    const tile_grid grid{t};
    const std::size_t block = least(tiles_at_a_time(t), grid.all);
    const std::size_t left = position_stride(block, t.in), right = position_stride(block, t.out);
    float* const pixels = workspace;
    float* const gradients = workspace + positions * left;
    for (std::size_t first = 0; first < grid.all; first += block) {
        const std::size_t count = least(block, grid.all - first);
        transform_input(t, grid, first, count, images, pixels, left);
        transform_output_gradient(t, grid, first, count, output_gradient, gradients, right,
                                  bias_sums);
        for (std::size_t p = 0; p < positions; ++p)
            multiply({pixels + p * left, 1, t.in, gradients + p * right, t.out,
                      sums + p * t.in * t.out, t.out, count, true},
                     t.in, t.out);
    }
}

void unpack_weight_gradient(const winograd_task& t, const float* sums, float* weight_gradient) {
    const std::size_t stride = t.in * t.out;
    for (std::size_t i = 0; i < t.in; ++i)
        for (std::size_t o = 0; o < t.out; o += lanes) {
            const float* from = sums + i * t.out + o;
            vec half[edge * 3], g[9];
            for (std::size_t r = 0; r < edge; ++r) {
                vec row[edge];
                for (std::size_t c = 0; c < edge; ++c)
                    row[c] = get(from + (r * edge + c) * stride);
                transform_weight_gradients(row, 1, half + 3 * r, 1);
            }
            for (std::size_t c = 0; c < 3; ++c)
                transform_weight_gradients(half + c, 3, g + c, 3);
            for (std::size_t lane = 0; lane < lanes; ++lane)
                for (std::size_t k = 0; k < 9; ++k)
                    weight_gradient[((o + lane) * all_in(t) + i) * 9 + k] = g[k][lane];
        }
}

} // namespace

extern const winograd_loops TROUPE_WINOGRAD_LOOPS;
const winograd_loops TROUPE_WINOGRAD_LOOPS{.channels_min = lanes == 16 ? 48 : 16,
                                           .weight_floats = weight_floats,
                                           .workspace_floats = workspace_floats,
                                           .pack = pack,
                                           .pack_backward = pack_backward,
                                           .convolve = convolve,
                                           .add_weight_gradient = add_weight_gradient,
                                           .unpack_weight_gradient = unpack_weight_gradient};

} // namespace troupe::cpu
