#include "kernels/ops/sparse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/codec_loops.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/sparse_loops.hpp"
#include "kernels/ops/payload.hpp"

namespace troupe {

using cpu::floats;

namespace {

std::int32_t magnitude_bits(float x) {
    return static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x) & 0x7fffffff);
}

// The number of elements with at least this magnitude; 0 is no bound.
std::size_t count_of(const cpu::sparse_loops& loops, const tensor& x, std::int32_t least) {
    return least > 0 ? loops.count(floats(x), x.elements(), least) : x.elements();
}

// The rank-th largest, counted from 1, of some magnitudes, which are put into another order.
std::int32_t nth(std::int32_t* magnitudes, std::size_t count, std::size_t rank) {
    std::int32_t* const at = magnitudes + (rank - 1);
    std::nth_element(magnitudes, at, magnitudes + count, std::greater{});
    return *at;
}

// The magnitudes of every stride-th element from the first on.
std::size_t sample(const tensor& x, std::size_t first, std::size_t stride, std::int32_t* to) {
    std::size_t count = 0;
    for (std::size_t i = first; i < x.elements(); i += stride)
        to[count++] = magnitude_bits(floats(x)[i]);
    return count;
}

// A magnitude that at least `wanted` elements are likely to have, and few more.
std::int32_t likely_bound(memory_pool& pool, const tensor& x, std::size_t wanted) {
    constexpr std::size_t samples_wanted = 4096;
    const std::size_t stride = std::max<std::size_t>(1, x.elements() / samples_wanted) | 1;
    const cpu::scratch memory{pool, (x.elements() / stride + 1) * sizeof(std::int32_t)};
    auto* const samples = reinterpret_cast<std::int32_t*>(memory.floats());
    const std::size_t count = sample(x, 0, stride, samples);
    const double expected = static_cast<double>(wanted) * static_cast<double>(count) /
                            static_cast<double>(x.elements());
    const auto rank = static_cast<std::size_t>(expected + 4 * std::sqrt(expected) + 8);
    return rank < count ? nth(samples, count, rank) : 0;
}

void write_values(const tensor& input, std::size_t count, tensor& payload) {
    const float* const x = floats(input);
    for (std::size_t i = 0; i < count; ++i)
        write_at(payload, 4 * (count + i), x[read_at<std::uint32_t>(payload, 4 * i)]);
}

void copy_addend(const decode_operands& o) {
    if (o.addend == nullptr)
        std::fill_n(floats(o.output), o.output.elements(), 0.f);
    else if (floats(*o.addend) != floats(o.output))
        std::copy_n(floats(*o.addend), o.output.elements(), floats(o.output));
}

} // namespace

result<void> cpu_operations::compute(const nth_magnitude& op) {
    return cpu::guarded([&] {
        const cpu::scratch memory{pool_, op.samples() * sizeof(std::int32_t)};
        auto* const samples = reinterpret_cast<std::int32_t*>(memory.floats());
        const std::size_t count = sample(op.input, op.first, op.stride, samples);
        op.magnitude =
            std::bit_cast<float>(static_cast<std::uint32_t>(nth(samples, count, op.rank)));
    });
}

result<void> cpu_operations::compute(const count_at_least& op) {
    op.count = count_of(sparse_loops_, op.input, magnitude_bits(op.magnitude));
    return {};
}

// Few candidates are found by a bound that a sample gives; the result does not depend on it.
result<void> cpu_operations::compute(const encode_top& op) {
    const std::size_t wanted = op.payload.bytes() / sparse_element_bytes;
    if (wanted == 0)
        return {};
    return cpu::guarded([&] {
        std::int32_t least = likely_bound(pool_, op.input, wanted);
        std::size_t count = count_of(sparse_loops_, op.input, least);
        if (count < wanted) {
            least = 0;
            count = op.input.elements();
        }
        const cpu::scratch memory{pool_, 2 * count * sizeof(std::int32_t)};
        auto* const indices = reinterpret_cast<std::uint32_t*>(memory.floats());
        auto* const magnitudes = reinterpret_cast<std::int32_t*>(memory.floats()) + count;
        sparse_loops_.find(floats(op.input), op.input.elements(), least, indices, count);
        const auto magnitude_at = [&](std::size_t i) {
            return magnitude_bits(floats(op.input)[indices[i]]);
        };
        for (std::size_t i = 0; i < count; ++i)
            magnitudes[i] = magnitude_at(i);
        const std::int32_t last = nth(magnitudes, count, wanted);
        // The number of elements of the last magnitude that are still to be taken: all before it are larger or equal.
        auto equals = static_cast<std::size_t>(
            std::count(magnitudes, magnitudes + static_cast<std::ptrdiff_t>(wanted), last));
        std::size_t taken = 0;
        for (std::size_t i = 0; i < count && taken < wanted; ++i) {
            const std::int32_t magnitude = magnitude_at(i);
            if (magnitude < last || (magnitude == last && equals == 0))
                continue;
            equals -= magnitude == last ? 1 : 0;
            write_at(op.payload, 4 * taken++, indices[i]);
        }
        write_values(op.input, wanted, op.payload);
    });
}

result<void> cpu_operations::compute(const encode_at_least& op) {
    const std::size_t wanted = op.payload.bytes() / sparse_element_bytes;
    const std::size_t found =
        sparse_loops_.find(floats(op.input), op.input.elements(), magnitude_bits(op.magnitude),
                           op.payload.mutable_data(), wanted);
    if (found < wanted)
        return too_few_large(found);
    write_values(op.input, wanted, op.payload);
    return {};
}

result<void> cpu_operations::compute(const decode_sparse& op) {
    const cpu::arithmetic_scope scope;
    const decode_operands& o = op.operands;
    const std::size_t count = o.payload.bytes() / sparse_element_bytes;
    if (!sparse_loops_.ascend(o.payload.data(), count, ~std::uint32_t{0}, o.output.elements()))
        return wrong_index();
    copy_addend(o);
    float* const output = floats(o.output);
    for (std::size_t i = 0; i < count; ++i)
        output[read_at<std::uint32_t>(o.payload, 4 * i)] +=
            o.factor * read_at<float>(o.payload, 4 * (count + i));
    return {};
}

result<void> cpu_operations::compute(const clear_at& op) {
    const std::size_t count = op.payload.bytes() / sparse_element_bytes;
    if (!sparse_loops_.ascend(op.payload.data(), count, ~std::uint32_t{0}, op.output.elements()))
        return wrong_index();
    float* const output = floats(op.output);
    for (std::size_t i = 0; i < count; ++i)
        output[read_at<std::uint32_t>(op.payload, 4 * i)] = 0;
    return {};
}

result<void> cpu_operations::compute(const encode_threshold& op) {
    const std::int32_t least = magnitude_bits(just_above(op.threshold));
    const std::size_t count = count_of(sparse_loops_, op.input, least);
    if (count * threshold_element_bytes != op.payload.bytes())
        return wrong_count_above(count);
    sparse_loops_.find(floats(op.input), op.input.elements(), least, op.payload.mutable_data(),
                       count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto index = read_at<std::uint32_t>(op.payload, 4 * i);
        const auto bits = std::bit_cast<std::uint32_t>(floats(op.input)[index]);
        write_at(op.payload, 4 * i, index | (bits & 0x80000000));
    }
    return {};
}

result<void> cpu_operations::compute(const decode_threshold& op) {
    const cpu::arithmetic_scope scope;
    const decode_operands& o = op.operands;
    const std::size_t count = o.payload.bytes() / threshold_element_bytes;
    if (!sparse_loops_.ascend(o.payload.data(), count, 0x7fffffff, o.output.elements()))
        return wrong_index();
    copy_addend(o);
    float* const output = floats(o.output);
    const float step = o.factor * op.threshold;
    for (std::size_t i = 0; i < count; ++i) {
        const auto code = read_at<std::uint32_t>(o.payload, 4 * i);
        output[code & 0x7fffffff] += (code & 0x80000000) != 0 ? -step : step;
    }
    return {};
}

result<void> cpu_operations::compute(const momentum_correction& op) {
    const cpu::arithmetic_scope scope;
    codec_loops_.momentum(op.momentum, op.scale, floats(op.gradient), floats(op.velocity),
                          floats(op.sum), floats(op.new_velocity), floats(op.new_sum),
                          op.gradient.elements());
    return {};
}

} // namespace troupe
