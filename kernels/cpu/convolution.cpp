#include "kernels/cpu/convolution.hpp"

#include <algorithm>
#include <bit>

namespace troupe::cpu {

namespace {

using dnnl::memory;

memory::dim dim(std::size_t size) {
    return static_cast<memory::dim>(size);
}

memory::desc image_description(std::size_t samples, std::size_t channels, std::size_t height,
                               std::size_t width, std::size_t block) {
    const auto tag = block == 16  ? memory::format_tag::nChw16c
                     : block == 8 ? memory::format_tag::nChw8c
                                  : memory::format_tag::nchw;
    return {{dim(samples), dim(channels), dim(height), dim(width)}, memory::data_type::f32, tag};
}

dnnl::primitive_attr scratch_from_caller() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

std::optional<dnnl::reorder> reordering(const dnnl::engine& engine, const memory::desc& from,
                                        const memory::desc& to) {
    if (from == to)
        return std::nullopt;
    return dnnl::reorder{dnnl::reorder::primitive_desc{engine, from, engine, to}};
}

constexpr auto algorithm = dnnl::algorithm::convolution_direct;

} // namespace

convolution::convolution(const dnnl::engine& engine, const convolution_shape& shape)
    : engine_{engine}, shape_{shape}, input_{image_description(shape.samples, shape.in,
                                                               shape.height, shape.width,
                                                               shape.settings.input_block)},
      output_{image_description(shape.samples, shape.out, shape.out_height(), shape.out_width(),
                                shape.settings.output_block)},
      strides_{dim(shape.settings.stride), dim(shape.settings.stride)},
      padding_{dim(shape.settings.padding), dim(shape.settings.padding)} {
    const memory::dims weight{dim(shape.out), dim(shape.in), dim(shape.kernel_height),
                              dim(shape.kernel_width)};
    plain_weight_ = {weight, memory::data_type::f32, memory::format_tag::oihw};
    any_weight_ = {weight, memory::data_type::f32, memory::format_tag::any};
    bias_ = {{dim(shape.out)}, memory::data_type::f32, memory::format_tag::a};
    description_ = {{dnnl::prop_kind::forward_training, algorithm, input_, any_weight_, bias_,
                     output_, strides_, padding_, padding_},
                    scratch_from_caller(),
                    engine_};
}

const compiled_pass& convolution::forward() {
    if (!forward_)
        forward_ = {dnnl::convolution_forward{description_},
                    description_.src_desc(),
                    description_.dst_desc(),
                    description_.weights_desc(),
                    description_.scratchpad_desc(),
                    plain_weight_,
                    reordering(engine_, plain_weight_, description_.weights_desc())};
    return *forward_;
}

const compiled_pass& convolution::backward_input() {
    if (!backward_input_) {
        const dnnl::convolution_backward_data::primitive_desc d{
            {algorithm, input_, any_weight_, output_, strides_, padding_, padding_},
            scratch_from_caller(),
            engine_,
            description_};
        backward_input_ = {dnnl::convolution_backward_data{d},
                           d.diff_src_desc(),
                           d.diff_dst_desc(),
                           d.weights_desc(),
                           d.scratchpad_desc(),
                           plain_weight_,
                           reordering(engine_, plain_weight_, d.weights_desc())};
    }
    return *backward_input_;
}

const compiled_pass& convolution::backward_weight() {
    if (!backward_weight_) {
        const dnnl::convolution_backward_weights::primitive_desc d{
            {algorithm, input_, any_weight_, bias_, output_, strides_, padding_, padding_},
            scratch_from_caller(),
            engine_,
            description_};
        backward_weight_ = {dnnl::convolution_backward_weights{d},
                            d.src_desc(),
                            d.diff_dst_desc(),
                            d.diff_weights_desc(),
                            d.scratchpad_desc(),
                            plain_weight_,
                            reordering(engine_, d.diff_weights_desc(), plain_weight_)};
    }
    return *backward_weight_;
}

std::size_t samples_at_a_time(const convolution_shape& shape) noexcept {
    constexpr std::size_t cache_floats =
        (1u << 20) / sizeof(float); // half of a common second-level cache
    const std::size_t sample =
        std::max<std::size_t>(1, (shape.input_elements() + shape.output_elements()) /
                                     std::max<std::size_t>(shape.samples, 1));
    // The weight gradients of the parts are added up, which must stay small beside computing them.
    const std::size_t worthwhile = 8 * shape.weight_elements();
    return std::min(shape.samples, std::bit_floor(std::max<std::size_t>(
                                       1, std::max(cache_floats, worthwhile) / sample)));
}

} // namespace troupe::cpu
