// Compiled several times, with TROUPE_LOOPS naming the table. Must not use inline functions from elsewhere (but the
// compiler's own): the linker keeps one copy of each, which could be one that this machine cannot run.
#include "kernels/cpu/loops.hpp"

#include "kernels/cpu/vectors.hpp"
#include "kernels/cpu/windows.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace troupe::cpu {

namespace {

void add_scaled(const float* x, float factor, const float* y, float* out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = x[i] + factor * y[i];
}

#if defined(__AVX512F__)
constexpr __mmask16 all = 0xffff; // the forms without a mask make GCC 12 warn
#endif

// Positions in memory as integers, and back. The compiler would convert them one by one.
template <int Block>
typename vectors<Block>::integers load_positions(const std::uint8_t* positions) {
    using bytes = typename vectors<Block>::bytes;
#if defined(__AVX512F__)
    if constexpr (Block == 16)
        return (typename vectors<16>::integers)_mm512_maskz_cvtepu8_epi32(
            all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(positions)));
#endif
#if defined(__AVX2__)
    if constexpr (Block == 8)
        return (typename vectors<8>::integers)_mm256_cvtepu8_epi32(
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(positions)));
#endif
    return __builtin_convertvector(*reinterpret_cast<const bytes*>(positions),
                                   typename vectors<Block>::integers);
}

template <int Block>
void store_positions(std::uint8_t* positions, typename vectors<Block>::integers values) {
    using bytes = typename vectors<Block>::bytes;
#if defined(__AVX512F__)
    if constexpr (Block == 16) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(positions),
                         _mm512_maskz_cvtepi32_epi8(all, (__m512i)values));
        return;
    }
#elif defined(__AVX2__)
    if constexpr (Block == 8) {
        const auto all_eight = (__m256i)values;
        const __m128i shorts = _mm_packus_epi32(_mm256_castsi256_si128(all_eight),
                                                _mm256_extracti128_si256(all_eight, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(positions), _mm_packus_epi16(shorts, shorts));
        return;
    }
#endif
    *reinterpret_cast<bytes*>(positions) = __builtin_convertvector(values, bytes);
}

// The rows or columns of a window that lie in the image. With Kernel > 0 the window's size is known when this is compiled,
// and there is no padding.
template <int Kernel>
range part_inside(const pool_task& t, std::size_t window, std::size_t size) {
    return Kernel > 0 ? range{0, Kernel} : inside(window, t.stride, t.padding, t.kernel, size);
}

template <int Block, int Kernel>
void pool_forward_blocked(const pool_task& t, const float* images, float* pooled,
                          std::uint8_t* positions) {
    using values = typename vectors<Block>::values;
    using integers = typename vectors<Block>::integers;
    const std::size_t kernel = Kernel > 0 ? Kernel : t.kernel;
    for (std::size_t plane = 0; plane < t.planes; ++plane, images += t.height * t.width * Block)
        for (std::size_t y = 0; y < t.windows_down; ++y) {
            const range rows = part_inside<Kernel>(t, y, t.height);
            for (std::size_t x = 0; x < t.windows_across;
                 ++x, pooled += Block, positions += Block) {
                const range columns = part_inside<Kernel>(t, x, t.width);
                const std::size_t row = y * t.stride + rows.begin - t.padding;
                const std::size_t column = x * t.stride + columns.begin - t.padding;
                const float* from = images + (row * t.width + column) * Block;
                values largest = *reinterpret_cast<const values*>(from);
                integers position =
                    integers{} + static_cast<std::int32_t>(rows.begin * kernel + columns.begin);
                for (std::size_t r = rows.begin; r < rows.end; ++r, from += t.width * Block)
                    for (std::size_t c = columns.begin; c < columns.end; ++c) {
                        const values v =
                            *reinterpret_cast<const values*>(from + (c - columns.begin) * Block);
                        const integers here =
                            integers{} + static_cast<std::int32_t>(r * kernel + c);
                        const auto more = v > largest;
                        largest = more ? v : largest;
                        position = more ? here : position;
                    }
                if (t.relu)
                    largest = largest < 0 ? values{} : largest;
                *reinterpret_cast<values*>(pooled) = largest;
                store_positions<Block>(positions, position);
            }
        }
}

void zero(float* x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        x[i] = 0;
}

template <int Block, int Kernel>
void pool_backward_blocked(const pool_task& t, const float* pooled_gradient, const float* pooled,
                           const std::uint8_t* positions, float* gradient) {
    using values = typename vectors<Block>::values;
    using integers = typename vectors<Block>::integers;
    const std::size_t kernel = Kernel > 0 ? Kernel : t.kernel;
    // Then every element is in one window, and need not be zeroed before.
    const bool covered = t.padding == 0 && t.stride == t.kernel &&
                         t.windows_down * t.stride == t.height &&
                         t.windows_across * t.stride == t.width;
    for (std::size_t plane = 0; plane < t.planes; ++plane, gradient += t.height * t.width * Block) {
        if (!covered)
            zero(gradient, t.height * t.width * Block);
        for (std::size_t y = 0; y < t.windows_down; ++y) {
            const range rows = part_inside<Kernel>(t, y, t.height);
            for (std::size_t x = 0; x < t.windows_across; ++x) {
                const range columns = part_inside<Kernel>(t, x, t.width);
                // + 0 makes -0 to 0, as adding to a zeroed image does.
                values g = *reinterpret_cast<const values*>(pooled_gradient) + 0.f;
                if (t.relu)
                    g = *reinterpret_cast<const values*>(pooled) > 0 ? g : values{};
                const integers position = load_positions<Block>(positions);
                const std::size_t row = y * t.stride + rows.begin - t.padding;
                const std::size_t column = x * t.stride + columns.begin - t.padding;
                float* to = gradient + (row * t.width + column) * Block;
                for (std::size_t r = rows.begin; r < rows.end; ++r, to += t.width * Block)
                    for (std::size_t c = columns.begin; c < columns.end; ++c) {
                        const auto here = position == static_cast<std::int32_t>(r * kernel + c);
                        const values share = here ? g : values{};
                        values* element =
                            reinterpret_cast<values*>(to + (c - columns.begin) * Block);
                        *element = covered ? share : *element + share;
                    }
                pooled_gradient += Block;
                pooled += Block;
                positions += Block;
            }
        }
    }
}

// Any block, stride and window, one channel after another.
template <class Position>
void pool_forward_any(const pool_task& t, const float* images, float* pooled, Position* positions) {
    for (std::size_t plane = 0; plane < t.planes; ++plane, images += t.height * t.width * t.block)
        for (std::size_t y = 0; y < t.windows_down; ++y) {
            const range rows = part_inside<0>(t, y, t.height);
            for (std::size_t x = 0; x < t.windows_across; ++x) {
                const range columns = part_inside<0>(t, x, t.width);
                const std::size_t row = y * t.stride + rows.begin - t.padding;
                const std::size_t column = x * t.stride + columns.begin - t.padding;
                for (std::size_t lane = 0; lane < t.block; ++lane) {
                    const float* from = images + (row * t.width + column) * t.block + lane;
                    float largest = *from;
                    std::size_t position = rows.begin * t.kernel + columns.begin;
                    for (std::size_t r = rows.begin; r < rows.end; ++r, from += t.width * t.block)
                        for (std::size_t c = columns.begin; c < columns.end; ++c) {
                            const float v = from[(c - columns.begin) * t.block];
                            position = v > largest ? r * t.kernel + c : position;
                            largest = v > largest ? v : largest;
                        }
                    *pooled++ = t.relu && largest < 0 ? 0 : largest;
                    *positions++ = static_cast<Position>(position);
                }
            }
        }
}

template <class Position>
void pool_backward_any(const pool_task& t, const float* pooled_gradient, const float* pooled,
                       const Position* positions, float* gradient) {
    for (std::size_t plane = 0; plane < t.planes;
         ++plane, gradient += t.height * t.width * t.block) {
        zero(gradient, t.height * t.width * t.block);
        for (std::size_t y = 0; y < t.windows_down; ++y)
            for (std::size_t x = 0; x < t.windows_across; ++x)
                for (std::size_t lane = 0; lane < t.block;
                     ++lane, ++pooled_gradient, ++pooled, ++positions) {
                    const auto position = static_cast<std::size_t>(*positions);
                    const std::size_t row = y * t.stride + position / t.kernel - t.padding;
                    const std::size_t column = x * t.stride + position % t.kernel - t.padding;
                    if (!t.relu || *pooled > 0)
                        gradient[(row * t.width + column) * t.block + lane] += *pooled_gradient;
                }
    }
}

template <int Block>
void pool_forward_sized(const pool_task& t, const float* images, float* pooled,
                        std::uint8_t* positions) {
    if (t.kernel == 2 && t.padding == 0)
        pool_forward_blocked<Block, 2>(t, images, pooled, positions);
    else
        pool_forward_blocked<Block, 0>(t, images, pooled, positions);
}

template <int Block>
void pool_backward_sized(const pool_task& t, const float* pooled_gradient, const float* pooled,
                         const std::uint8_t* positions, float* gradient) {
    if (t.kernel == 2 && t.padding == 0)
        pool_backward_blocked<Block, 2>(t, pooled_gradient, pooled, positions, gradient);
    else
        pool_backward_blocked<Block, 0>(t, pooled_gradient, pooled, positions, gradient);
}

void pool_forward(const pool_task& t, const float* images, float* pooled, void* positions) {
    auto* bytes = static_cast<std::uint8_t*>(positions);
    if (t.kernel > 16)
        pool_forward_any(t, images, pooled, static_cast<std::int32_t*>(positions));
    else if (t.block == 16)
        pool_forward_sized<16>(t, images, pooled, bytes);
    else if (t.block == 8)
        pool_forward_sized<8>(t, images, pooled, bytes);
    else
        pool_forward_any(t, images, pooled, bytes);
}

void pool_backward(const pool_task& t, const float* pooled_gradient, const float* pooled,
                   const void* positions, float* gradient) {
    const auto* bytes = static_cast<const std::uint8_t*>(positions);
    if (t.kernel > 16)
        pool_backward_any(t, pooled_gradient, pooled, static_cast<const std::int32_t*>(positions),
                          gradient);
    else if (t.block == 16)
        pool_backward_sized<16>(t, pooled_gradient, pooled, bytes, gradient);
    else if (t.block == 8)
        pool_backward_sized<8>(t, pooled_gradient, pooled, bytes, gradient);
    else
        pool_backward_any(t, pooled_gradient, pooled, bytes, gradient);
}

// Exchanges the two halves off the diagonal of every square of 2 Half rows and columns.
template <int Block, int Half>
void exchange_halves(typename vectors<Block>::values* rows) {
    using integers = typename vectors<Block>::integers;
    integers upper = {}, lower = {};
    for (int lane = 0; lane < Block; ++lane) {
        const bool right = (lane & Half) != 0;
        upper[lane] = right ? Block + lane - Half : lane;
        lower[lane] = right ? Block + lane : lane + Half;
    }
    for (int r = 0; r < Block; ++r)
        if ((r & Half) == 0) {
            const auto a = rows[r], b = rows[r + Half];
            rows[r] = __builtin_shuffle(a, b, upper);
            rows[r + Half] = __builtin_shuffle(a, b, lower);
        }
    if constexpr (Half > 1)
        exchange_halves<Block, Half / 2>(rows);
}

// A square of Block by Block floats.
template <int Block>
void transpose_square(const float* x, std::size_t x_row, float* y, std::size_t y_row) {
    using values = typename vectors<Block>::values;
    values rows[Block];
    for (int r = 0; r < Block; ++r)
        rows[r] = *reinterpret_cast<const values*>(x + static_cast<std::size_t>(r) * x_row);
    exchange_halves<Block, Block / 2>(rows);
    for (int r = 0; r < Block; ++r)
        *reinterpret_cast<values*>(y + static_cast<std::size_t>(r) * y_row) = rows[r];
}

// (rows, columns) to (columns, rows). Squares, and what is left over of the one side that they do not divide.
template <int Block>
void transpose_squares(const float* x, float* y, std::size_t rows, std::size_t columns) {
    const std::size_t r_end = rows / Block * Block, c_end = columns / Block * Block;
    for (std::size_t r = 0; r < r_end; r += Block)
        for (std::size_t c = 0; c < c_end; c += Block)
            transpose_square<Block>(x + r * columns + c, columns, y + c * rows + r, rows);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = r < r_end ? c_end : 0; c < columns; ++c)
            y[c * rows + r] = x[r * columns + c];
}

void transpose(const float* x, float* y, std::size_t groups, std::size_t rows, std::size_t columns,
               std::size_t block) {
    for (std::size_t group = 0; group < groups; ++group, x += rows * columns, y += rows * columns)
        if (block == 16)
            transpose_squares<16>(x, y, rows, columns);
        else
            transpose_squares<8>(x, y, rows, columns);
}

void interleave(const float* x, float* y, std::size_t groups, std::size_t block,
                std::size_t pixels) {
    transpose(x, y, groups, block, pixels, block);
}

void separate(const float* x, float* y, std::size_t groups, std::size_t block, std::size_t pixels) {
    transpose(x, y, groups, pixels, block, block);
}

} // namespace

const loops TROUPE_LOOPS{add_scaled, pool_forward, pool_backward, interleave, separate};

} // namespace troupe::cpu
