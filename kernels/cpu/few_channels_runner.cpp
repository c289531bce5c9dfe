#include "kernels/cpu/few_channels_runner.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

few_channels_task task_of(const convolution_shape& s, std::size_t samples, std::size_t block) {
    return {.samples = samples,
            .block = block,
            .in = s.in,
            .out = s.out,
            .height = s.height,
            .width = s.width,
            .out_height = s.out_height(),
            .out_width = s.out_width(),
            .kernel_height = s.kernel_height,
            .kernel_width = s.kernel_width,
            .stride = s.settings.stride,
            .padding = s.settings.padding};
}

} // namespace

bool few_channels_runner::suits(const forward_convolution& o) const noexcept {
    const convolution_shape& s = o.shape;
    return s.in <= few_.channels_max &&
           s.kernel_height * s.kernel_width >= few_.forward_window_min && s.settings.groups == 1 &&
           s.out % block_ == 0;
}

bool few_channels_runner::suits(const backward_convolution& o) const noexcept {
    const convolution_shape& s = o.shape;
    return o.input_gradient == nullptr && s.in <= few_.channels_max && s.settings.groups == 1 &&
           s.out % block_ == 0;
}

void few_channels_runner::run(const forward_convolution& o) {
    const convolution_shape& s = o.shape;
    const std::size_t at_a_time = samples_at_a_time(s);
    const few_channels_task all = task_of(s, at_a_time, block_);
    const std::size_t in_pixels = s.height * s.width, out_pixels = all.out_height * all.out_width;
    const std::size_t output_bytes = at_a_time * s.out * out_pixels * sizeof(float);
    const bool converts = s.settings.output_block != block_, pools = o.pool != nullptr;
    const bool rounds = troupe::rounds(s.settings.products);
    const scratch packed{pool_, few_.packed_floats(all) * sizeof(float)};
    const scratch workspace{pool_, few_.workspace_floats(all) * sizeof(float)};
    const scratch rounded{pool_, rounds ? at_a_time * s.in * in_pixels * sizeof(float) : 0};
    const scratch rounded_weight{pool_, rounds ? o.weight.bytes() : 0};
    const scratch convolved{pool_, pools || converts ? output_bytes : 0};
    const scratch plain{pool_, pools && converts ? output_bytes : 0};
    const float* weight = sample(o.weight, 0);
    if (rounds) {
        bf16_loops_.round(s.settings.products, weight, rounded_weight.floats(),
                          o.weight.elements());
        weight = rounded_weight.floats();
    }
    few_.pack(all, weight, packed.floats());
    for (std::size_t first = 0; first < s.samples; first += at_a_time) {
        const std::size_t samples = std::min(at_a_time, s.samples - first);
        const float* images = sample(o.input, first);
        if (rounds) {
            bf16_loops_.round(s.settings.products, images, rounded.floats(),
                              samples * s.in * in_pixels);
            images = rounded.floats();
        }
        float* result = pools || converts ? convolved.floats() : sample(o.output, first);
        few_.convolve(task_of(s, samples, block_), images, packed.floats(),
                      o.bias != nullptr ? sample(*o.bias, 0) : nullptr, result, workspace.floats());
        if (converts) {
            float* const to = pools ? plain.floats() : sample(o.output, first);
            loops_.separate(result, to, samples * s.out / block_, block_, out_pixels);
            result = to;
        }
        if (pools)
            pool_part(loops_, o, first, samples, result);
    }
}

void few_channels_runner::run(const backward_convolution& o) {
    const convolution_shape& s = o.shape;
    const std::size_t at_a_time = samples_at_a_time(s);
    const few_channels_task all = task_of(s, at_a_time, block_);
    const std::size_t in_pixels = s.height * s.width, out_pixels = all.out_height * all.out_width;
    const std::size_t output_bytes = at_a_time * s.out * out_pixels * sizeof(float);
    const bool converts = s.settings.output_block != block_;
    const bool rounds = troupe::rounds(s.settings.products);
    const std::size_t sums_floats = few_.sums_floats(all);
    const scratch sums{pool_, sums_floats * sizeof(float)};
    const scratch workspace{pool_, few_.workspace_floats(all) * sizeof(float)};
    const scratch rounded{pool_, rounds ? at_a_time * s.in * in_pixels * sizeof(float) : 0};
    const scratch unpooled{pool_, o.pool != nullptr ? output_bytes : 0};
    const scratch gradients{pool_, converts || rounds ? output_bytes : 0};
    std::fill_n(sums.floats(), sums_floats, 0.f);
    for (std::size_t first = 0; first < s.samples; first += at_a_time) {
        const std::size_t samples = std::min(at_a_time, s.samples - first);
        const float* images = sample(o.input, first);
        const float* gradient = sample(o.output_gradient, first);
        if (o.pool != nullptr) {
            unpool_part(loops_, o, first, samples, unpooled.floats());
            gradient = unpooled.floats();
        }
        if (converts) {
            loops_.interleave(gradient, gradients.floats(), samples * s.out / block_, block_,
                              out_pixels);
            gradient = gradients.floats();
        }
        if (rounds) {
            bf16_loops_.round(s.settings.products, images, rounded.floats(),
                              samples * s.in * in_pixels);
            bf16_loops_.round(s.settings.products, gradient, gradients.floats(),
                              samples * s.out * out_pixels);
            images = rounded.floats();
            gradient = gradients.floats();
        }
        few_.add(task_of(s, samples, block_), images, gradient, sums.floats(), workspace.floats());
    }
    few_.unpack(all, sums.floats(), sample(o.weight_gradient, 0),
                o.bias_gradient != nullptr ? sample(*o.bias_gradient, 0) : nullptr);
}

} // namespace troupe::cpu
