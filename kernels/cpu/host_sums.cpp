#include "kernels/cpu/host_sums.hpp"

#include <algorithm>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/codec_loops.hpp"
#include "kernels/cpu/fastest_loops.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/update_loops.hpp"

namespace troupe {

namespace {

constexpr std::size_t cached = 4096; // elements that are scaled while they are in the nearest cache

const cpu::codec_loops& fastest_codec_loops() {
    static const cpu::codec_loops& loops =
        cpu::fastest(cpu::codec_loops_avx512, cpu::codec_loops_avx2, cpu::codec_loops_baseline);
    return loops;
}

} // namespace

void add_on_host(const float* x, const float* y, float factor, float* sum, std::size_t count) {
    static const cpu::loops& loops =
        cpu::fastest(cpu::loops_avx512, cpu::loops_avx2, cpu::loops_baseline);
    const cpu::arithmetic_scope scope;
    if (factor == 1)
        return loops.add_scaled(x, 1, y, sum, count);
    for (std::size_t first = 0; first < count; first += cached) {
        const std::size_t some = std::min(cached, count - first);
        loops.add_scaled(x + first, 1, y + first, sum + first, some);
        scale_on_host(sum + first, factor, sum + first, some);
    }
}

void scale_on_host(const float* x, float factor, float* scaled, std::size_t count) {
    static const cpu::update_loops& loops =
        cpu::fastest(cpu::update_loops_avx512, cpu::update_loops_avx2, cpu::update_loops_baseline);
    const cpu::arithmetic_scope scope;
    loops.scale(x, factor, scaled, count);
}

void encode_half_on_host(half_format format, const float* x, std::byte* halves, std::size_t count) {
    const cpu::arithmetic_scope scope;
    const cpu::codec_loops& loops = fastest_codec_loops();
    (format == half_format::bf16 ? loops.to_bf16 : loops.to_f16)(x, halves, count);
}

void decode_half_on_host(half_format format, const std::byte* halves, const float* addend,
                         float* output, std::size_t count) {
    const cpu::arithmetic_scope scope;
    const cpu::codec_loops& loops = fastest_codec_loops();
    (format == half_format::bf16 ? loops.from_bf16 : loops.from_f16)(halves,
                                                                     {1, addend, output, count});
}

} // namespace troupe
