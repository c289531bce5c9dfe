// Compiled several times, with TROUPE_BATCH_NORM_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/batch_norm_loops.hpp"

#include "kernels/cpu/vectors.hpp"

namespace troupe::cpu {

namespace {

// Walks over the values of some channels of one sample: `width` channels at a time, each in a lane of `values`. A function
// is called with positions relative to the first of these values, over which sums are taken.

// A channel of row-major images.
struct row_walk {
    static constexpr int width = 1;
    using values = float;
    std::size_t pixels;

    template <class Function>
    void for_each(Function f) const {
        for_each_position(pixels, f);
    }
    template <class Function>
    auto sum(Function f) const {
        return cpu::sum(pixels, f);
    }
};

// A block of channels.
template <int Block>
struct block_walk {
    static constexpr int width = Block;
    using values = typename position<Block>::values;
    std::size_t pixels;

    template <class Function>
    void for_each(Function f) const {
        for (std::size_t p = 0; p < pixels; ++p)
            f(position<Block>{p * Block});
    }
    template <class Function>
    auto sum(Function f) const {
        decltype(f(position<Block>{0})) sums[4] = {};
        std::size_t p = 0;
        for (; p + 4 <= pixels; p += 4)
            for (std::size_t s = 0; s < 4; ++s)
                sums[s] += f(position<Block>{(p + s) * Block});
        for (; p < pixels; ++p)
            sums[0] += f(position<Block>{p * Block});
        sums[0] += sums[1];
        sums[2] += sums[3];
        sums[0] += sums[2];
        return sums[0];
    }
};

// A channel of a block that is no vector's.
struct lane_walk {
    static constexpr int width = 1;
    using values = float;
    std::size_t pixels;
    std::size_t block;

    template <class Function>
    void for_each(Function f) const {
        for (std::size_t p = 0; p < pixels; ++p)
            f(position<1>{p * block});
    }
    template <class Function>
    auto sum(Function f) const {
        decltype(f(position<1>{0})) total = {};
        for (std::size_t p = 0; p < pixels; ++p)
            total += f(position<1>{p * block});
        return total;
    }
};

// One number per channel of a walk, in double.
template <int Width>
struct numbers {
    double of[Width] = {};

    template <class Values>
    static numbers from(Values values) {
        float floats[Width];
        position<Width>{0}.put(floats, values);
        numbers n;
        for (int c = 0; c < Width; ++c)
            n.of[c] = static_cast<double>(floats[c]);
        return n;
    }
    void put(float* x) const {
        for (int c = 0; c < Width; ++c)
            x[c] = static_cast<float>(of[c]);
    }
    // The numbers as a walk's values.
    auto rounded() const {
        float floats[Width];
        put(floats);
        return position<Width>{0}(floats);
    }
};

// The offset of a sample's first value of channel c.
template <class Task>
std::size_t offset(const Task& t, std::size_t sample, std::size_t c) {
    return (sample * t.channels + c / t.block * t.block) * t.pixels + c % t.block;
}

// y = (x - mean) * scale + bias for the channels from c on.
template <class Walk, class Task>
void apply(const Task& t, const Walk& walk, std::size_t c, typename Walk::values mean,
           typename Walk::values scale) {
    const auto bias = position<Walk::width>{c}(t.bias);
    for (std::size_t s = 0; s < t.samples; ++s) {
        const float* x = t.x + offset(t, s, c);
        float* y = t.y + offset(t, s, c);
        walk.for_each([&](auto at) { at.put(y, (at(x) - mean) * scale + bias); });
    }
}

// Mean and squared deviations of each sample, which is in the cache, one after another joined to those of all before (Chan,
// Golub and LeVeque 1979).
template <class Walk>
void forward(const batch_norm_task& t, const Walk& walk) {
    constexpr int width = Walk::width;
    const double pixels = static_cast<double>(t.pixels);
    for (std::size_t c = 0; c < t.channels; c += width) {
        numbers<width> mean, squares;
        double n = 0;
        for (std::size_t s = 0; s < t.samples; ++s) {
            const float* x = t.x + offset(t, s, c);
            const auto m = walk.sum([&](auto at) { return at(x); }) / static_cast<float>(t.pixels);
            const auto d = walk.sum([&](auto at) {
                const auto deviation = at(x) - m;
                return deviation * deviation;
            });
            const auto next_mean = numbers<width>::from(m);
            const auto next_squares = numbers<width>::from(d);
            const double share = pixels / (n + pixels);
            for (int l = 0; l < width; ++l) {
                const double step = next_mean.of[l] - mean.of[l];
                mean.of[l] += step * share;
                squares.of[l] += next_squares.of[l] + step * step * n * share;
            }
            n += pixels;
        }
        numbers<width> variance, r;
        for (int l = 0; l < width; ++l) {
            variance.of[l] = squares.of[l] / (n - 1);
            r.of[l] = 1 / __builtin_sqrt(squares.of[l] / n + static_cast<double>(t.epsilon));
        }
        mean.put(t.mean + c);
        variance.put(t.variance + c);
        r.put(t.inverse_deviation + c);
        apply(t, walk, c, mean.rounded(), r.rounded() * position<width>{c}(t.weight));
    }
}

template <class Walk>
void inference(const batch_norm_inference_task& t, const Walk& walk) {
    constexpr int width = Walk::width;
    for (std::size_t c = 0; c < t.channels; c += width) {
        numbers<width> scale;
        for (int l = 0; l < width; ++l)
            scale.of[l] = static_cast<double>(t.weight[c + l]) /
                          __builtin_sqrt(static_cast<double>(t.variance[c + l]) +
                                         static_cast<double>(t.epsilon));
        apply(t, walk, c, position<width>{c}(t.mean), scale.rounded());
    }
}

template <class Walk>
void backward(const batch_norm_back_task& t, const Walk& walk) {
    constexpr int width = Walk::width;
    using values = typename Walk::values;
    const double n = static_cast<double>(t.samples * t.pixels);
    for (std::size_t c = 0; c < t.channels; c += width) {
        const position<width> channels{c};
        const values mean = channels(t.mean), r = channels(t.inverse_deviation);
        numbers<width> dy_sum, dyx_sum;
        for (std::size_t s = 0; s < t.samples; ++s) {
            const float* x = t.x + offset(t, s, c);
            const float* dy = t.dy + offset(t, s, c);
            const two<values> sums = walk.sum([&](auto at) {
                const auto g = at(dy);
                return two<typename decltype(at)::values>{g, g * ((at(x) - mean) * r)};
            });
            const auto first = numbers<width>::from(sums.first);
            const auto second = numbers<width>::from(sums.second);
            for (int l = 0; l < width; ++l) {
                dy_sum.of[l] += first.of[l];
                dyx_sum.of[l] += second.of[l];
            }
        }
        dy_sum.put(t.dbias + c);
        dyx_sum.put(t.dweight + c);
        if (t.dx == nullptr)
            continue;
        for (int l = 0; l < width; ++l) {
            dy_sum.of[l] /= n;
            dyx_sum.of[l] /= n;
        }
        const values dy_mean = dy_sum.rounded(), dyx_mean = dyx_sum.rounded();
        const values scale = r * channels(t.weight);
        for (std::size_t s = 0; s < t.samples; ++s) {
            const float* x = t.x + offset(t, s, c);
            const float* dy = t.dy + offset(t, s, c);
            float* dx = t.dx + offset(t, s, c);
            walk.for_each([&](auto at) {
                at.put(dx, scale * (at(dy) - dy_mean - (at(x) - mean) * r * dyx_mean));
            });
        }
    }
}

// Calls f with the walk for a task's images. Where there is one pixel, row-major images are in blocks, too.
template <class Task, class Function>
void with_walk(Task t, Function f) {
    if (t.pixels == 1 && t.block == 1 && t.channels % 16 == 0)
        t.block = 16;
    if (t.block == 16)
        f(t, block_walk<16>{t.pixels});
    else if (t.block == 8)
        f(t, block_walk<8>{t.pixels});
    else if (t.block == 1)
        f(t, row_walk{t.pixels});
    else
        f(t, lane_walk{t.pixels, t.block});
}

void forward_any(batch_norm_task task) {
    with_walk(task, [](const auto& t, const auto& walk) { forward(t, walk); });
}
void inference_any(batch_norm_inference_task task) {
    with_walk(task, [](const auto& t, const auto& walk) { inference(t, walk); });
}
void backward_any(batch_norm_back_task task) {
    with_walk(task, [](const auto& t, const auto& walk) { backward(t, walk); });
}

} // namespace

extern const batch_norm_loops TROUPE_BATCH_NORM_LOOPS;
const batch_norm_loops TROUPE_BATCH_NORM_LOOPS{forward_any, inference_any, backward_any};

} // namespace troupe::cpu
