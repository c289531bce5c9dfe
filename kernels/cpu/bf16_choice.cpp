#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <vector>

#include "kernels/cpu/bf16_loops.hpp"

namespace troupe::cpu {

#if defined(__x86_64__)

namespace {

// The shortest of some runs of a product that stays in the cache and takes about 20 us.
std::chrono::steady_clock::duration time_of(const bf16_loops& loops) {
    constexpr std::size_t rows = 56, columns = 64, depth = 256;
    struct alignas(64) line {
        std::byte bytes[64];
    };
    const std::vector<float> a(rows * depth, 1), b(depth * columns, 1);
    std::vector<float> c(rows * columns);
    const matrix_product product{.m = rows,
                                 .n = columns,
                                 .k = depth,
                                 .a = {a.data(), depth},
                                 .b = {b.data(), columns},
                                 .c = c.data(),
                                 .c_stride = columns};
    std::vector<line> workspace(loops.workspace_bytes(product) / sizeof(line) + 1);
    auto shortest = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 8; ++i) {
        const auto start = std::chrono::steady_clock::now();
        loops.multiply(product, workspace.data());
        shortest = std::min(shortest, std::chrono::steady_clock::now() - start);
    }
    return shortest;
}

const bf16_loops& choose() {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return bf16_loops_baseline;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return bf16_loops_avx2;
    if (!__builtin_cpu_supports("avx512bf16"))
        return bf16_loops_avx512;
    return time_of(bf16_loops_avx512bf16) < time_of(bf16_loops_avx512) ? bf16_loops_avx512bf16
                                                                       : bf16_loops_avx512;
}

} // namespace

const bf16_loops& fastest_bf16_loops() {
    static const bf16_loops& fastest = choose();
    return fastest;
}

bool bf16_pays() {
    return &fastest_bf16_loops() == &bf16_loops_avx512bf16;
}

#else

const bf16_loops& fastest_bf16_loops() {
    return bf16_loops_baseline;
}

bool bf16_pays() {
    return false;
}

#endif

} // namespace troupe::cpu
