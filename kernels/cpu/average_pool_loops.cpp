// Compiled several times, with TROUPE_AVERAGE_POOL_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/average_pool_loops.hpp"

#include "kernels/cpu/vectors.hpp"
#include "kernels/cpu/windows.hpp"

namespace troupe::cpu {

namespace {

// The part of a window that lies in the image.
struct window {
    std::size_t number; // in the plane, row-major
    std::size_t first;  // its first pixel's place in the plane
    std::size_t rows, columns;
};

template <class Function>
void for_each_window(const average_pool_task& t, Function f) {
    std::size_t number = 0;
    for (std::size_t y = 0; y < t.windows_down; ++y) {
        const range rows = inside(y, t.stride, t.padding, t.kernel_height, t.height);
        for (std::size_t x = 0; x < t.windows_across; ++x, ++number) {
            const range columns = inside(x, t.stride, t.padding, t.kernel_width, t.width);
            const std::size_t row = y * t.stride + rows.begin - t.padding;
            const std::size_t column = x * t.stride + columns.begin - t.padding;
            f(window{number, row * t.width + column, rows.end - rows.begin,
                     columns.end - columns.begin});
        }
    }
}

// The images as so many channels at a time; Lanes divides the block.
template <int Lanes>
void forward_lanes(const average_pool_task& t, const float* images, float* pooled) {
    const float area = static_cast<float>(t.kernel_height * t.kernel_width);
    for (std::size_t plane = 0; plane < t.planes; ++plane) {
        for_each_window(t, [&](const window& w) {
            for (std::size_t lane = 0; lane < t.block; lane += Lanes) {
                typename position<Lanes>::values total = {};
                for (std::size_t r = 0; r < w.rows; ++r)
                    for (std::size_t c = 0; c < w.columns; ++c) {
                        const std::size_t pixel = w.first + r * t.width + c;
                        total += position<Lanes>{pixel * t.block + lane}(images);
                    }
                position<Lanes>{w.number * t.block + lane}.put(pooled, total / area);
            }
        });
        images += t.height * t.width * t.block;
        pooled += t.windows_down * t.windows_across * t.block;
    }
}

template <int Lanes>
void backward_lanes(const average_pool_task& t, const float* pooled_gradient, float* gradient) {
    const float area = static_cast<float>(t.kernel_height * t.kernel_width);
    for (std::size_t plane = 0; plane < t.planes; ++plane) {
        for (std::size_t i = 0; i < t.height * t.width * t.block; ++i)
            gradient[i] = 0;
        for_each_window(t, [&](const window& w) {
            for (std::size_t lane = 0; lane < t.block; lane += Lanes) {
                const auto share =
                    position<Lanes>{w.number * t.block + lane}(pooled_gradient) / area;
                for (std::size_t r = 0; r < w.rows; ++r)
                    for (std::size_t c = 0; c < w.columns; ++c) {
                        const position<Lanes> at{(w.first + r * t.width + c) * t.block + lane};
                        at.put(gradient, at(gradient) + share);
                    }
            }
        });
        gradient += t.height * t.width * t.block;
        pooled_gradient += t.windows_down * t.windows_across * t.block;
    }
}

// True if every image is one window.
bool is_global(const average_pool_task& t) {
    return t.padding == 0 && t.kernel_height == t.height && t.kernel_width == t.width;
}

void forward(average_pool_task t, const float* images, float* pooled) {
    const std::size_t pixels = t.height * t.width;
    if (t.block == 16)
        forward_lanes<16>(t, images, pooled);
    else if (t.block == 8)
        forward_lanes<8>(t, images, pooled);
    else if (t.block == 1 && is_global(t))
        for (std::size_t plane = 0; plane < t.planes; ++plane, images += pixels)
            pooled[plane] =
                sum(pixels, [&](auto at) { return at(images); }) / static_cast<float>(pixels);
    else
        forward_lanes<1>(t, images, pooled);
}

void backward(average_pool_task t, const float* pooled_gradient, float* gradient) {
    const std::size_t pixels = t.height * t.width;
    if (t.block == 16)
        backward_lanes<16>(t, pooled_gradient, gradient);
    else if (t.block == 8)
        backward_lanes<8>(t, pooled_gradient, gradient);
    else if (t.block == 1 && is_global(t))
        for (std::size_t plane = 0; plane < t.planes; ++plane, gradient += pixels) {
            const float share = pooled_gradient[plane] / static_cast<float>(pixels);
            for (std::size_t i = 0; i < pixels; ++i)
                gradient[i] = share;
        }
    else
        backward_lanes<1>(t, pooled_gradient, gradient);
}

} // namespace

extern const average_pool_loops TROUPE_AVERAGE_POOL_LOOPS;
const average_pool_loops TROUPE_AVERAGE_POOL_LOOPS{forward, backward};

} // namespace troupe::cpu
