#include "kernels/ops/sparse.hpp"

#include <cmath>
#include <limits>

#include "kernels/ops/codec_check.hpp"

namespace troupe {

namespace {

constexpr std::size_t sparse_elements_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t threshold_elements_max = std::numeric_limits<std::int32_t>::max();

operand_check& require_few(operand_check& check, const tensor& t, std::size_t most) {
    return check.is("tensor", t, t.shape())
        .require(t.elements() <= most, "the tensor has more elements than an index can tell apart");
}

} // namespace

float just_above(float threshold) noexcept {
    return std::nextafter(threshold, std::numeric_limits<float>::infinity());
}

std::size_t nth_magnitude::samples() const noexcept {
    return first < input.elements() ? (input.elements() - first - 1) / stride + 1 : 0;
}

result<void> nth_magnitude::check() const {
    return operand_check{"nth_magnitude"}
        .is("input", input, input.shape())
        .require(stride > 0, "the stride is 0")
        .require(stride == 0 || (rank > 0 && rank <= samples()), "there are not so many samples")
        .outcome();
}

result<void> count_at_least::check() const {
    return operand_check{"count_at_least"}
        .is("input", input, input.shape())
        .require(!(magnitude < 0), "a magnitude is not negative")
        .outcome();
}

result<void> encode_top::check() const {
    operand_check check{"encode_top"};
    require_few(check, input, sparse_elements_max);
    return check_elements(check, payload, sparse_element_bytes, input.elements()).outcome();
}

result<void> encode_at_least::check() const {
    operand_check check{"encode_at_least"};
    require_few(check, input, sparse_elements_max)
        .require(!(magnitude < 0), "a magnitude is not negative");
    return check_elements(check, payload, sparse_element_bytes, input.elements()).outcome();
}

result<void> decode_sparse::check() const {
    operand_check check{"decode_sparse"};
    require_few(check, operands.output, sparse_elements_max);
    check_elements(check, operands.payload, sparse_element_bytes, operands.output.elements());
    return check_decode(check, operands, operands.payload.shape());
}

result<void> clear_at::check() const {
    operand_check check{"clear_at"};
    require_few(check, output, sparse_elements_max);
    return check_elements(check, payload, sparse_element_bytes, output.elements()).outcome();
}

result<void> encode_threshold::check() const {
    operand_check check{"encode_threshold"};
    require_few(check, input, threshold_elements_max)
        .require(threshold > 0, "the threshold is not above 0");
    return check_elements(check, payload, threshold_element_bytes, input.elements()).outcome();
}

result<void> decode_threshold::check() const {
    operand_check check{"decode_threshold"};
    require_few(check, operands.output, threshold_elements_max)
        .require(threshold > 0, "the threshold is not above 0");
    check_elements(check, operands.payload, threshold_element_bytes, operands.output.elements());
    return check_decode(check, operands, operands.payload.shape());
}

result<void> momentum_correction::check() const {
    const tensor_shape& shape = gradient.shape();
    return operand_check{"momentum_correction"}
        .is("gradient", gradient, shape)
        .is("velocity", velocity, shape)
        .is("sum", sum, shape)
        .is("new velocity", new_velocity, shape)
        .is("new sum", new_sum, shape)
        .outcome();
}

} // namespace troupe
