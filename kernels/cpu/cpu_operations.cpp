#include "kernels/cpu/cpu_operations.hpp"

#include "kernels/cpu/convolution_runner.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/loss_loops.hpp"
#include "kernels/cpu/norm_loops.hpp"
#include "kernels/cpu/pointwise_loops.hpp"
#include "kernels/cpu/update_loops.hpp"

namespace troupe {

namespace {

bool has_avx512() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return false;
#endif
}

// The table of this machine's instruction set.
template <class Loops>
const Loops& fastest([[maybe_unused]] const Loops& avx512, [[maybe_unused]] const Loops& avx2,
                     const Loops& baseline) noexcept {
#if defined(__x86_64__)
    if (has_avx512())
        return avx512;
    if (__builtin_cpu_supports("avx2"))
        return avx2;
#endif
    return baseline;
}

// The widest vector of floats that oneDNN's convolutions use here.
std::size_t vector_floats() noexcept {
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
        return 8;
    default:
        return 16;
    }
}

} // namespace

cpu_operations::cpu_operations(memory_pool& pool)
    : block_{vector_floats()}, loops_{fastest(cpu::loops_avx512, cpu::loops_avx2,
                                              cpu::loops_baseline)},
      loss_loops_{fastest(cpu::loss_loops_avx512, cpu::loss_loops_avx2, cpu::loss_loops_baseline)},
      norm_loops_{fastest(cpu::norm_loops_avx512, cpu::norm_loops_avx2, cpu::norm_loops_baseline)},
      pointwise_loops_{fastest(cpu::pointwise_loops_avx512, cpu::pointwise_loops_avx2,
                               cpu::pointwise_loops_baseline)},
      update_loops_{
          fastest(cpu::update_loops_avx512, cpu::update_loops_avx2, cpu::update_loops_baseline)},
      convolutions_{
          std::make_unique<cpu::convolution_runner>(pool, loops_, has_avx512() && block_ == 16)} {}

cpu_operations::~cpu_operations() = default;

std::unique_ptr<operations> make_cpu_operations(memory_pool& pool) {
    return std::make_unique<cpu_operations>(pool);
}

} // namespace troupe
