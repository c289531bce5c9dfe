#include "kernels/cpu/instruction_set.hpp"

#include <algorithm>

#include <dnnl.hpp>

#include "kernels/cpu/bf16_loops.hpp"

namespace troupe::cpu {

namespace {

#if defined(__x86_64__)

instruction_set of_machine() noexcept {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return instruction_set::baseline;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return instruction_set::avx2;
    return __builtin_cpu_supports("avx512bf16") ? instruction_set::avx512_bf16
                                                : instruction_set::avx512;
}

instruction_set of_onednn() noexcept {
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
        return instruction_set::baseline;
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
        return instruction_set::avx2;
    case dnnl::cpu_isa::avx512_core:
    case dnnl::cpu_isa::avx512_core_vnni:
        return instruction_set::avx512;
    default:
        return instruction_set::avx512_bf16;
    }
}

#else

instruction_set of_machine() noexcept {
    return instruction_set::baseline;
}

instruction_set of_onednn() noexcept {
    return instruction_set::baseline;
}

#endif

std::string name_of(unsigned number) {
    switch (static_cast<dnnl::cpu_isa>(number)) {
    case dnnl::cpu_isa::sse41:
        return "SSE41";
    case dnnl::cpu_isa::avx:
        return "AVX";
    case dnnl::cpu_isa::avx2:
        return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
        return "AVX2_VNNI";
    case dnnl::cpu_isa::avx512_core:
        return "AVX512_CORE";
    case dnnl::cpu_isa::avx512_core_vnni:
        return "AVX512_CORE_VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
        return "AVX512_CORE_BF16";
    case dnnl::cpu_isa::avx512_core_amx:
        return "AVX512_CORE_AMX";
    default:
        return "set " + std::to_string(number) + " of oneDNN";
    }
}

} // namespace

instruction_set widest_instruction_set() noexcept {
    return std::min(of_machine(), of_onednn());
}

std::string name_of_instruction_set(unsigned number, bool bf16_dot_products) {
    return name_of(number) + (bf16_dot_products ? " with dot products of bf16" : "");
}

std::string name_of_instruction_set() {
    return name_of_instruction_set(static_cast<unsigned>(dnnl::get_effective_cpu_isa()),
                                   bf16_is_faster());
}

} // namespace troupe::cpu
