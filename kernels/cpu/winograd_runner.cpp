#include "kernels/cpu/winograd_runner.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cpu {

namespace {

// The convolution that gives the gradient of the input.
winograd_task backward_task(const winograd_task& t) noexcept {
    return {t.samples,
            t.block,
            t.out,
            t.in,
            t.height + 2 * t.padding - 2,
            t.width + 2 * t.padding - 2,
            2 - t.padding,
            t.out_all,
            t.in_all};
}

// Channels of one side, cut so that the transformed weights of a slice towards those of the other side stay in a cache; of
// nearly equal size, in whole blocks. No bit depends on them: each sum is within one slice.
struct channel_slices {
    std::size_t channels, block, count;

    channel_slices(std::size_t channels, std::size_t block, std::size_t others) noexcept
        : channels{channels}, block{block} {
        constexpr std::size_t weights_max = 256 * 256;
        const std::size_t blocks_max = std::max<std::size_t>(1, weights_max / (others * block));
        count = (channels / block + blocks_max - 1) / blocks_max;
    }
    std::size_t first(std::size_t slice) const noexcept {
        return channels / block * slice / count * block;
    }
    std::size_t size(std::size_t slice) const noexcept { return first(slice + 1) - first(slice); }
};

winograd_task with_in(winograd_task t, std::size_t in) noexcept {
    t.in_all = std::exchange(t.in, in);
    return t;
}
winograd_task with_out(winograd_task t, std::size_t out) noexcept {
    t.out_all = std::exchange(t.out, out);
    return t;
}

// The most that a slice needs, of `floats(slice's task)`.
template <class Slice, class Floats>
std::size_t most_floats(const channel_slices& slices, Slice task, Floats floats) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < slices.count; ++i)
        most = std::max(most, floats(task(slices.size(i))));
    return most;
}

std::size_t input_pixels(const convolution_shape& shape) noexcept {
    return shape.height * shape.width;
}
std::size_t output_pixels(const convolution_shape& shape) noexcept {
    return shape.out_height() * shape.out_width();
}

// Bytes of the images of some samples, or none where they need not be held.
std::size_t input_bytes(const convolution_shape& shape, std::size_t samples, bool held) noexcept {
    return held ? samples * shape.in * input_pixels(shape) * sizeof(float) : 0;
}
std::size_t output_bytes(const convolution_shape& shape, std::size_t samples, bool held) noexcept {
    return held ? samples * shape.out * output_pixels(shape) * sizeof(float) : 0;
}

std::size_t round_up_to_tiles(std::size_t pixels) noexcept {
    return (pixels + 3) / 4 * 4;
}

} // namespace

winograd_task winograd_runner::task_of(const convolution_shape& s,
                                       std::size_t samples) const noexcept {
    return {samples, block_, s.in, s.out, s.height, s.width, s.settings.padding};
}

bool winograd_runner::suits(const convolution_shape& s) const noexcept {
    if (s.kernel_height != 3 || s.kernel_width != 3 || s.settings.stride != 1 ||
        s.settings.groups != 1 || s.settings.padding > 2 || s.in % block_ != 0 ||
        s.out % block_ != 0)
        return false;
    // Results that do not fill their tiles waste work. Measured beside oneDNN's direct convolutions of 8 to 1024 channels, 4
    // to 112 pixels.
    const std::size_t computed =
        round_up_to_tiles(s.out_height()) * round_up_to_tiles(s.out_width());
    return s.in + s.out >= winograd_.channels_min && computed <= 2 * output_pixels(s);
}

const float* winograd_runner::factors(const float* images, std::size_t block, precision products,
                                      std::size_t channels, std::size_t pixels, float* space) {
    if (block != block_) {
        TROUPE_CHECK(block == 1, "images are row-major or in blocks of channels");
        loops_.interleave(images, space, channels / block_, block_, pixels);
        images = space;
    }
    if (!rounds(products))
        return images;
    bf16_loops_.round(products, images, space, channels * pixels);
    return space;
}

const float* winograd_runner::factors(const tensor& weight, precision products, float* space) {
    if (!rounds(products))
        return sample(weight, 0);
    bf16_loops_.round(products, sample(weight, 0), space, weight.elements());
    return space;
}

void winograd_runner::unblock(const float* images, float* result, std::size_t channels,
                              std::size_t pixels) {
    loops_.separate(images, result, channels / block_, block_, pixels);
}

void winograd_runner::run(const forward_convolution& o) {
    const convolution_shape& s = o.shape;
    const std::size_t at_a_time = samples_at_a_time(s);
    const channel_slices slices{s.out, block_, s.in};
    const auto slice_of = [&](std::size_t out) { return with_out(task_of(s, at_a_time), out); };
    const bool converts_input = s.settings.input_block != block_;
    const bool converts_output = s.settings.output_block != block_;
    const bool rounds = troupe::rounds(s.settings.products);
    const bool pools = o.pool != nullptr;
    const scratch packed{pool_,
                         most_floats(slices, slice_of, winograd_.weight_floats) * sizeof(float)};
    const scratch workspace{pool_, most_floats(slices, slice_of, winograd_.workspace_floats) *
                                       sizeof(float)};
    const scratch input{pool_, input_bytes(s, at_a_time, converts_input || rounds)};
    const scratch convolved{pool_, output_bytes(s, at_a_time, pools || converts_output)};
    const scratch plain{pool_, output_bytes(s, at_a_time, pools && converts_output)};
    const scratch rounded{pool_, rounds ? o.weight.bytes() : 0};
    const float* const weight = factors(o.weight, s.settings.products, rounded.floats());
    for (std::size_t first = 0; first < s.samples; first += at_a_time) {
        const std::size_t samples = std::min(at_a_time, s.samples - first);
        const float* images =
            factors(sample(o.input, first), s.settings.input_block, s.settings.products,
                    samples * s.in, input_pixels(s), input.floats());
        float* result =
            convolved.floats() != nullptr ? convolved.floats() : sample(o.output, first);
        for (std::size_t i = 0; i < slices.count; ++i) {
            const std::size_t channel = slices.first(i);
            const winograd_task task = with_out(task_of(s, samples), slices.size(i));
            if (first == 0 || slices.count > 1)
                winograd_.pack(task, weight + channel * s.in * 9, packed.floats());
            winograd_.convolve(task, images, packed.floats(),
                               o.bias != nullptr ? sample(*o.bias, 0) + channel : nullptr,
                               result + channel * output_pixels(s), workspace.floats());
        }
        const float* unpooled = result;
        if (converts_output) {
            float* to = pools ? plain.floats() : sample(o.output, first);
            unblock(result, to, samples * s.out, output_pixels(s));
            unpooled = to;
        }
        if (pools)
            pool_part(loops_, o, first, samples, unpooled);
    }
}

void winograd_runner::run(const backward_convolution& o) {
    const convolution_shape& s = o.shape;
    const std::size_t at_a_time = samples_at_a_time(s);
    // If so, the sums of a slice are done before its weights are packed, which take their place.
    const bool in_one_part = at_a_time >= s.samples;
    const channel_slices slices{s.in, block_, s.out};
    const auto slice_of = [&](std::size_t in) { return with_in(task_of(s, at_a_time), in); };
    const bool converts_input = s.settings.input_block != block_;
    const bool converts_output = s.settings.output_block != block_;
    const bool rounds = troupe::rounds(s.settings.products);
    const bool wants_input_gradient = o.input_gradient != nullptr;
    const std::size_t weight_floats = most_floats(slices, slice_of, winograd_.weight_floats);
    const scratch sums{pool_, weight_floats * sizeof(float)};
    const scratch apart{pool_,
                        wants_input_gradient && !in_one_part ? weight_floats * sizeof(float) : 0};
    float* const packed = in_one_part ? sums.floats() : apart.floats();
    const scratch rounded{pool_, wants_input_gradient && rounds ? o.weight.bytes() : 0};
    const scratch workspace{pool_,
                            most_floats(slices, slice_of, [&](const winograd_task& t) {
                                return std::max(winograd_.workspace_floats(t),
                                                winograd_.workspace_floats(backward_task(t)));
                            }) * sizeof(float)};
    const scratch input{pool_, input_bytes(s, at_a_time, converts_input || rounds)};
    const scratch unpooled{pool_, output_bytes(s, at_a_time, o.pool != nullptr)};
    const scratch output{pool_, output_bytes(s, at_a_time, converts_output || rounds)};
    const scratch no_bias{pool_, s.out * sizeof(float)}; // also where later slices add it again
    float* const bias = o.bias_gradient != nullptr ? sample(*o.bias_gradient, 0) : no_bias.floats();
    std::fill_n(no_bias.floats(), s.out, 0.f);
    std::fill_n(bias, s.out, 0.f);
    const float* const weight =
        wants_input_gradient ? factors(o.weight, s.settings.products, rounded.floats()) : nullptr;
    const float *gradient = nullptr, *images = nullptr; // of a part, as the loops take them
    const auto prepare = [&](std::size_t first, std::size_t samples) {
        gradient = sample(o.output_gradient, first);
        if (o.pool != nullptr) {
            unpool_part(loops_, o, first, samples, unpooled.floats());
            gradient = unpooled.floats();
        }
        gradient = factors(gradient, s.settings.output_block, s.settings.products, samples * s.out,
                           output_pixels(s), output.floats());
        images = factors(sample(o.input, first), s.settings.input_block, s.settings.products,
                         samples * s.in, input_pixels(s), input.floats());
    };
    for (std::size_t i = 0; i < slices.count; ++i) {
        const std::size_t channel = slices.first(i), before = channel * input_pixels(s);
        for (std::size_t first = 0; first < s.samples; first += at_a_time) {
            const std::size_t samples = std::min(at_a_time, s.samples - first);
            const winograd_task task = with_in(task_of(s, samples), slices.size(i));
            if (i == 0 || !in_one_part)
                prepare(first, samples);
            if (first == 0)
                std::fill_n(sums.floats(), winograd_.weight_floats(task), 0.f);
            winograd_.add_weight_gradient(task, images + before, gradient, sums.floats(),
                                          i == 0 ? bias : no_bias.floats(), workspace.floats());
            if (first + samples == s.samples)
                winograd_.unpack_weight_gradient(task, sums.floats(),
                                                 sample(o.weight_gradient, 0) + channel * 9);
            if (!wants_input_gradient)
                continue;
            if (first == 0)
                winograd_.pack_backward(task, weight + channel * 9, packed);
            // A slice's images are not needed any more after its sums: their place takes its gradient where it must be
            // converted.
            float* const to = sample(*o.input_gradient, first) + before;
            float* const result = converts_input ? input.floats() + before : to;
            winograd_.convolve(backward_task(task), gradient, packed, nullptr, result,
                               workspace.floats());
            for (std::size_t n = 0; n < samples && converts_input; ++n)
                unblock(result + n * s.in * input_pixels(s), to + n * s.in * input_pixels(s),
                        task.in, input_pixels(s));
        }
    }
}

} // namespace troupe::cpu
