#include "kernels/cpu/winograd_runner.hpp"

#include <algorithm>

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
            2 - t.padding};
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
    // Results that do not fill their tiles waste work. Measured beside oneDNN's direct convolutions of 8 to 512 channels, 4
    // to 112 pixels.
    const std::size_t computed =
        round_up_to_tiles(s.out_height()) * round_up_to_tiles(s.out_width());
    return s.in + s.out >= winograd_.channels_min && s.in * s.out <= winograd_.weights_max &&
           computed <= 2 * output_pixels(s);
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
    const winograd_task all = task_of(s, at_a_time);
    const bool converts_input = s.settings.input_block != block_;
    const bool converts_output = s.settings.output_block != block_;
    const bool rounds = troupe::rounds(s.settings.products);
    const bool pools = o.pool != nullptr;
    const scratch packed{pool_, winograd_.weight_floats(all) * sizeof(float)};
    const scratch workspace{pool_, winograd_.workspace_floats(all) * sizeof(float)};
    const scratch input{pool_, input_bytes(s, at_a_time, converts_input || rounds)};
    const scratch convolved{pool_, output_bytes(s, at_a_time, pools || converts_output)};
    const scratch plain{pool_, output_bytes(s, at_a_time, pools && converts_output)};
    const scratch rounded{pool_, rounds ? o.weight.bytes() : 0};
    winograd_.pack(all, factors(o.weight, s.settings.products, rounded.floats()), packed.floats());
    for (std::size_t first = 0; first < s.samples; first += at_a_time) {
        const std::size_t samples = std::min(at_a_time, s.samples - first);
        const float* images =
            factors(sample(o.input, first), s.settings.input_block, s.settings.products,
                    samples * s.in, input_pixels(s), input.floats());
        float* result =
            convolved.floats() != nullptr ? convolved.floats() : sample(o.output, first);
        winograd_.convolve(task_of(s, samples), images, packed.floats(),
                           o.bias != nullptr ? sample(*o.bias, 0) : nullptr, result,
                           workspace.floats());
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
    const winograd_task all = task_of(s, at_a_time);
    const winograd_task all_back = backward_task(all);
    const bool converts_input = s.settings.input_block != block_;
    const bool converts_output = s.settings.output_block != block_;
    const bool rounds = troupe::rounds(s.settings.products);
    const bool wants_input_gradient = o.input_gradient != nullptr;
    const std::size_t weight_floats = winograd_.weight_floats(all);
    const scratch packed{pool_, wants_input_gradient ? weight_floats * sizeof(float) : 0};
    const scratch rounded{pool_, wants_input_gradient && rounds ? o.weight.bytes() : 0};
    const scratch sums{pool_, weight_floats * sizeof(float)};
    const scratch workspace{
        pool_, std::max(winograd_.workspace_floats(all), winograd_.workspace_floats(all_back)) *
                   sizeof(float)};
    const scratch input{pool_, input_bytes(s, at_a_time, converts_input || rounds)};
    const scratch unpooled{pool_, output_bytes(s, at_a_time, o.pool != nullptr)};
    const scratch output{pool_, output_bytes(s, at_a_time, converts_output || rounds)};
    const scratch no_bias{pool_, o.bias_gradient == nullptr ? s.out * sizeof(float) : 0};
    float* const bias = o.bias_gradient != nullptr ? sample(*o.bias_gradient, 0) : no_bias.floats();
    std::fill_n(sums.floats(), weight_floats, 0.f);
    std::fill_n(bias, s.out, 0.f);
    if (wants_input_gradient)
        winograd_.pack_backward(all, factors(o.weight, s.settings.products, rounded.floats()),
                                packed.floats());
    for (std::size_t first = 0; first < s.samples; first += at_a_time) {
        const std::size_t samples = std::min(at_a_time, s.samples - first);
        const winograd_task part = task_of(s, samples);
        const float* gradient = sample(o.output_gradient, first);
        if (o.pool != nullptr) {
            unpool_part(loops_, o, first, samples, unpooled.floats());
            gradient = unpooled.floats();
        }
        gradient = factors(gradient, s.settings.output_block, s.settings.products, samples * s.out,
                           output_pixels(s), output.floats());
        const float* images =
            factors(sample(o.input, first), s.settings.input_block, s.settings.products,
                    samples * s.in, input_pixels(s), input.floats());
        winograd_.add_weight_gradient(part, images, gradient, sums.floats(), bias,
                                      workspace.floats());
        if (!wants_input_gradient)
            continue;
        // The images are not needed any more: their place takes the gradient where it must be converted.
        float* result = converts_input ? input.floats() : sample(*o.input_gradient, first);
        winograd_.convolve(backward_task(part), gradient, packed.floats(), nullptr, result,
                           workspace.floats());
        if (converts_input)
            unblock(result, sample(*o.input_gradient, first), samples * s.in, input_pixels(s));
    }
    winograd_.unpack_weight_gradient(all, sums.floats(), sample(o.weight_gradient, 0));
}

} // namespace troupe::cpu
