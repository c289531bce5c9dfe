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
                               std::size_t width, std::size_t block, memory::data_type type) {
    const auto tag = block == 16  ? memory::format_tag::nChw16c
                     : block == 8 ? memory::format_tag::nChw8c
                                  : memory::format_tag::nchw;
    return {{dim(samples), dim(channels), dim(height), dim(width)}, type, tag};
}

dnnl::primitive_attr scratch_from_caller() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

memory::desc any_format(const memory::desc& description) {
    return {description.dims(), description.data_type(), memory::format_tag::any};
}

// The higher the faster: none at all, plain loops, matrix products of unrolled images, direct convolutions.
template <class Primitive>
int speed_of(const Primitive& description) {
    if (!description)
        return -1;
    const std::string_view name{description.impl_info_str()};
    if (name.starts_with("jit") || name.starts_with("brg"))
        return 2;
    return name.find("gemm") != name.npos ? 1 : 0; // "x64:gemm:jit"
}

constexpr auto algorithm = dnnl::algorithm::convolution_direct;
constexpr bool may_be_empty = true; // where oneDNN has no implementation

} // namespace

convolution::convolution(const dnnl::engine& engine, const convolution_shape& shape,
                         bool dot_products)
    : engine_{engine}, shape_{shape},
      dot_products_{dot_products}, strides_{dim(shape.settings.stride), dim(shape.settings.stride)},
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
    if (shape.bias)
        bias_ = {{dim(shape.out)}, memory::data_type::f32, memory::format_tag::a};
    floats_ = of_type(memory::data_type::f32);
    bf16_ = of_type(memory::data_type::bf16);
}

convolution::descriptions convolution::of_type(memory::data_type type) const {
    const convolution_shape& s = shape_;
    return {image_description(s.samples, s.in, s.height, s.width, s.settings.input_block, type),
            image_description(s.samples, s.out, s.out_height(), s.out_width(),
                              s.settings.output_block, type),
            {weight_.dims(), type, memory::format_tag::any}};
}

// The primitive for the images as they are given or, where oneDNN has no fast one for these, for those that it likes:
// converting them costs less. Depends on the shape only. `bf16`: with the type of factors where dot products are wanted.
template <class Describe>
auto convolution::fastest(const descriptions& bf16, Describe describe) const {
    const auto fastest_of = [&](const descriptions& given) {
        auto as_given = describe(given);
        const int speed = speed_of(as_given);
        if (speed == 2)
            return as_given;
        auto as_liked = describe({any_format(given.input), any_format(given.output), given.weight});
        return speed_of(as_liked) > speed ? as_liked : as_given;
    };
    if (dot_products_)
        if (auto found = fastest_of(bf16); speed_of(found) == 2)
            return found;
    return fastest_of(floats_);
}

dnnl::convolution_forward::primitive_desc
convolution::describe_forward(const descriptions& d) const {
    return {{dnnl::prop_kind::forward_training, algorithm, d.input, d.weight, bias_, d.output,
             strides_, padding_, padding_},
            scratch_from_caller(),
            engine_,
            may_be_empty};
}

operand_format convolution::read(const memory::desc& given, const memory::desc& wanted) const {
    const precision rounds_to = wanted.data_type() == memory::data_type::bf16
                                    ? precision::float32
                                    : shape_.settings.products;
    if (given == wanted)
        return {given, wanted, {}, rounds_to};
    return {given, wanted,
            dnnl::reorder{dnnl::reorder::primitive_desc{engine_, given, engine_, wanted}},
            rounds_to};
}

operand_format convolution::written(const memory::desc& given, const memory::desc& wanted) const {
    if (given == wanted)
        return {given, wanted, {}, precision::float32};
    return {given, wanted,
            dnnl::reorder{dnnl::reorder::primitive_desc{engine_, wanted, engine_, given}},
            precision::float32};
}

const compiled_pass& convolution::forward() {
    if (!forward_) {
        const auto d = fastest({bf16_.input, floats_.output, bf16_.weight},
                               [&](const descriptions& d) { return describe_forward(d); });
        forward_ = {dnnl::convolution_forward{d}, read(floats_.input, d.src_desc()),
                    written(floats_.output, d.dst_desc()), read(weight_, d.weights_desc()),
                    d.scratchpad_desc()};
    }
    return *forward_;
}

const compiled_pass& convolution::backward_input() {
    if (!backward_input_) {
        const auto hint = describe_forward(floats_);
        const auto d =
            fastest({floats_.input, bf16_.output, bf16_.weight}, [&](const descriptions& d) {
                return dnnl::convolution_backward_data::primitive_desc{
                    {algorithm, d.input, d.weight, d.output, strides_, padding_, padding_},
                    scratch_from_caller(),
                    engine_,
                    hint,
                    may_be_empty};
            });
        backward_input_ = {dnnl::convolution_backward_data{d},
                           written(floats_.input, d.diff_src_desc()),
                           read(floats_.output, d.diff_dst_desc()), read(weight_, d.weights_desc()),
                           d.scratchpad_desc()};
    }
    return *backward_input_;
}

const compiled_pass& convolution::backward_weight() {
    if (!backward_weight_) {
        const auto hint = describe_forward(floats_);
        const auto d =
            fastest({bf16_.input, bf16_.output, floats_.weight}, [&](const descriptions& d) {
                return dnnl::convolution_backward_weights::primitive_desc{
                    {algorithm, d.input, d.weight, bias_, d.output, strides_, padding_, padding_},
                    scratch_from_caller(),
                    engine_,
                    hint,
                    may_be_empty};
            });
        backward_weight_ = {dnnl::convolution_backward_weights{d},
                            read(floats_.input, d.src_desc()),
                            read(floats_.output, d.diff_dst_desc()),
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
