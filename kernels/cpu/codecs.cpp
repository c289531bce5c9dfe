#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/codec_loops.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/update_loops.hpp"
#include "kernels/ops/payload.hpp"

namespace troupe {

using cpu::floats;

namespace {

// The task for elements first .. first + count.
cpu::decode_task task_of(const decode_operands& o, std::size_t first, std::size_t count) {
    return {.factor = o.factor,
            .addend = o.addend != nullptr ? floats(*o.addend) + first : nullptr,
            .output = floats(o.output) + first,
            .count = count};
}

float clip_limit(const quantizer& q, const cpu::codec_loops& loops, const tensor& input) {
    if (q.clip == 0)
        return std::numeric_limits<float>::infinity();
    const auto n = static_cast<double>(input.elements());
    const cpu::moments sums = loops.sums(floats(input), input.elements());
    const double mean = sums.sum / n;
    return static_cast<float>(double{q.clip} *
                              std::sqrt(std::max(0.0, sums.squares / n - mean * mean)));
}

// NaN where it is too large.
float usable(float norm) {
    if (!(norm <= 0x1p100f))
        return std::numeric_limits<float>::quiet_NaN();
    return norm < 0x1p-100f ? 0 : norm;
}

} // namespace

result<void> cpu_operations::compute(const encode_half& op) {
    const cpu::arithmetic_scope scope;
    (op.format == half_format::bf16 ? codec_loops_.to_bf16 : codec_loops_.to_f16)(
        floats(op.input), op.payload.mutable_data(), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const decode_half& op) {
    const cpu::arithmetic_scope scope;
    (op.format == half_format::bf16 ? codec_loops_.from_bf16 : codec_loops_.from_f16)(
        op.operands.payload.data(), task_of(op.operands, 0, op.operands.output.elements()));
    return {};
}

result<void> cpu_operations::compute(const quantize& op) {
    const cpu::arithmetic_scope scope;
    const quantizer& q = op.settings;
    const auto word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const std::size_t elements = op.input.elements(), size = q.bucket_size(elements);
    const std::size_t buckets = q.buckets(elements);
    const float limit = clip_limit(q, codec_loops_, op.input);
    cpu::quantize_task task{.levels = q.levels,
                            .bits = q.bits(),
                            .factor = 0,
                            .limit = 0,
                            .number = 0,
                            .step = {word(op.key.step), word(op.key.step >> 32)},
                            .stream = {word(op.key.stream), word(op.key.stream >> 32)},
                            .nearest = q.nearest};
    std::byte* codes = op.payload.mutable_data() + buckets * sizeof(float);
    for (std::size_t b = 0; b < buckets; ++b) {
        const float* x = floats(op.input) + b * size;
        const std::size_t count = std::min(size, elements - b * size);
        float norm;
        if (q.norm == bucket_norm::largest) {
            norm = codec_loops_.largest(x, count);
            norm = norm > limit ? limit : norm;
        } else
            norm = static_cast<float>(std::sqrt(update_loops_.sum_of_squares(x, count)));
        if (q.nearest)
            norm = static_cast<float>(q.levels) * (norm / static_cast<float>(q.levels));
        norm = usable(norm);
        write_at(op.payload, b * sizeof norm, norm);
        task.factor = norm > 0 ? static_cast<float>(q.levels) / norm : 0;
        task.limit = norm > 0 ? limit : 0; // nothing that is no number becomes a level
        task.number = word(b);
        codec_loops_.quantize(task, x, codes, count);
        codes += (count * q.bits() + 7) / 8;
    }
    return {};
}

result<void> cpu_operations::compute(const dequantize& op) {
    const cpu::arithmetic_scope scope;
    const quantizer& q = op.settings;
    const decode_operands& o = op.operands;
    const std::size_t elements = o.output.elements(), size = q.bucket_size(elements);
    const std::size_t buckets = q.buckets(elements);
    const std::byte* codes = o.payload.data() + buckets * sizeof(float);
    bool valid = true;
    for (std::size_t b = 0; b < buckets; ++b) {
        const std::size_t count = std::min(size, elements - b * size);
        const float step =
            read_at<float>(o.payload, b * sizeof(float)) / static_cast<float>(q.levels);
        valid &=
            codec_loops_.dequantize(q.levels, q.bits(), step, codes, task_of(o, b * size, count));
        codes += (count * q.bits() + 7) / 8;
    }
    return valid ? result<void>{} : wrong_level();
}

result<void> cpu_operations::compute(const encode_signs& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t rows = sign_rows(op.input.shape());
    const std::size_t width = rows == 0 ? 0 : op.input.elements() / rows;
    const std::size_t row_bytes = 2 * sizeof(float) + (width + 7) / 8;
    for (std::size_t r = 0; r < rows; ++r) {
        const cpu::sign_means means = codec_loops_.encode_signs(
            floats(op.input) + r * width, op.payload.mutable_data() + r * row_bytes + 8, width);
        write_at(op.payload, r * row_bytes, means.positive);
        write_at(op.payload, r * row_bytes + 4, means.negative);
    }
    return {};
}

result<void> cpu_operations::compute(const decode_signs& op) {
    const cpu::arithmetic_scope scope;
    const decode_operands& o = op.operands;
    const std::size_t rows = sign_rows(o.output.shape());
    const std::size_t width = rows == 0 ? 0 : o.output.elements() / rows;
    const std::size_t row_bytes = 2 * sizeof(float) + (width + 7) / 8;
    bool valid = true;
    for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t byte = r * row_bytes;
        codec_loops_.decode_signs(
            {read_at<float>(o.payload, byte), read_at<float>(o.payload, byte + 4)},
            o.payload.data() + byte + 8, task_of(o, r * width, width));
        if (width % 8 != 0)
            valid &= read_at<std::uint8_t>(o.payload, byte + row_bytes - 1) >> width % 8 == 0;
    }
    return valid ? result<void>{} : wrong_sign_bits();
}

} // namespace troupe
