#include "kernels/cpu/convolution.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

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

memory::desc any_format(const memory::desc& description) {
    return {description.dims(), memory::data_type::f32, memory::format_tag::any};
}

// The higher the faster: plain loops, matrix products of unrolled images, direct convolutions.
int speed_of(const char* implementation) {
    const std::string_view name{implementation};
    if (name.starts_with("jit") || name.starts_with("brg"))
        return 2;
    return name.starts_with("gemm") ? 1 : 0;
}

// The primitive for the images as they are given or, where oneDNN has no fast one for these, for those that it likes:
// converting them costs less. Depends on the shape only.
template <class Describe>
auto fastest(const memory::desc& input, const memory::desc& output, Describe describe) {
    auto as_given = describe(input, output);
    const int speed = speed_of(as_given.impl_info_str());
    if (speed == 2)
        return as_given;
    auto as_liked = describe(any_format(input), any_format(output));
    return speed_of(as_liked.impl_info_str()) > speed ? as_liked : as_given;
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
    const std::size_t groups = shape.settings.groups;
    const memory::dims weight{dim(shape.out / groups), dim(shape.in / groups),
                              dim(shape.kernel_height), dim(shape.kernel_width)};
    if (groups == 1) {
        weight_ = {weight, memory::data_type::f32, memory::format_tag::oihw};
    } else {
        memory::dims grouped{dim(groups)};
        grouped.insert(grouped.end(), weight.begin(), weight.end());
        weight_ = {grouped, memory::data_type::f32, memory::format_tag::goihw};
    }
    any_weight_ = any_format(weight_);
    if (shape.bias)
        bias_ = {{dim(shape.out)}, memory::data_type::f32, memory::format_tag::a};
}

dnnl::convolution_forward::primitive_desc convolution::describe(const memory::desc& input,
                                                                const memory::desc& output) const {
    return {{dnnl::prop_kind::forward_training, algorithm, input, any_weight_, bias_, output,
             strides_, padding_, padding_},
            scratch_from_caller(),
            engine_};
}

operand_format convolution::read(const memory::desc& given, const memory::desc& wanted) const {
    if (given == wanted)
        return {given, wanted, {}};
    return {given, wanted,
            dnnl::reorder{dnnl::reorder::primitive_desc{engine_, given, engine_, wanted}}};
}

operand_format convolution::written(const memory::desc& given, const memory::desc& wanted) const {
    if (given == wanted)
        return {given, wanted, {}};
    return {given, wanted,
            dnnl::reorder{dnnl::reorder::primitive_desc{engine_, wanted, engine_, given}}};
}

const compiled_pass& convolution::forward() {
    if (!forward_) {
        const auto d = fastest(input_, output_, [&](const auto& input, const auto& output) {
            return describe(input, output);
        });
        forward_ = {dnnl::convolution_forward{d}, read(input_, d.src_desc()),
                    written(output_, d.dst_desc()), read(weight_, d.weights_desc()),
                    d.scratchpad_desc()};
    }
    return *forward_;
}

const compiled_pass& convolution::backward_input() {
    if (!backward_input_) {
        const auto d = fastest(input_, output_, [&](const auto& input, const auto& output) {
            return dnnl::convolution_backward_data::primitive_desc{
                {algorithm, input, any_weight_, output, strides_, padding_, padding_},
                scratch_from_caller(),
                engine_,
                describe(input, output)};
        });
        backward_input_ = {dnnl::convolution_backward_data{d}, written(input_, d.diff_src_desc()),
                           read(output_, d.diff_dst_desc()), read(weight_, d.weights_desc()),
                           d.scratchpad_desc()};
    }
    return *backward_input_;
}

const compiled_pass& convolution::backward_weight() {
    if (!backward_weight_) {
        const auto d = fastest(input_, output_, [&](const auto& input, const auto& output) {
            return dnnl::convolution_backward_weights::primitive_desc{
                {algorithm, input, any_weight_, bias_, output, strides_, padding_, padding_},
                scratch_from_caller(),
                engine_,
                describe(input, output)};
        });
        backward_weight_ = {dnnl::convolution_backward_weights{d}, read(input_, d.src_desc()),
                            read(output_, d.diff_dst_desc()),
                            written(weight_, d.diff_weights_desc()), d.scratchpad_desc()};
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
