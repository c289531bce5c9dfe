#include "kernels/cpu/cpu_operations.hpp"

#include "kernels/cpu/additive_loops.hpp"
#include "kernels/cpu/attention_loops.hpp"
#include "kernels/cpu/average_pool_loops.hpp"
#include "kernels/cpu/batch_norm_loops.hpp"
#include "kernels/cpu/bf16_loops.hpp"
#include "kernels/cpu/codec_loops.hpp"
#include "kernels/cpu/convolution_runner.hpp"
#include "kernels/cpu/fastest_loops.hpp"
#include "kernels/cpu/few_channels_loops.hpp"
#include "kernels/cpu/gradient_loops.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/loss_loops.hpp"
#include "kernels/cpu/norm_loops.hpp"
#include "kernels/cpu/pointwise_loops.hpp"
#include "kernels/cpu/product_loops.hpp"
#include "kernels/cpu/recurrent_loops.hpp"
#include "kernels/cpu/response_norm_loops.hpp"
#include "kernels/cpu/sequence_loops.hpp"
#include "kernels/cpu/sparse_loops.hpp"
#include "kernels/cpu/tour_loops.hpp"
#include "kernels/cpu/update_loops.hpp"
#include "kernels/cpu/winograd_loops.hpp"

namespace troupe {

namespace {

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

#define TROUPE_FASTEST(table)                                                                      \
    table##_{cpu::fastest(cpu::table##_avx512, cpu::table##_avx2, cpu::table##_baseline)},

cpu_operations::cpu_operations(memory_pool& pool, bool bf16_dot_products)
    : pool_{pool}, block_{vector_floats()},
      TROUPE_LOOP_TABLES(TROUPE_FASTEST) bf16_loops_{cpu::fastest_bf16_loops()},
      convolutions_{std::make_unique<cpu::convolution_runner>(pool, block_, winograd_loops_,
                                                              few_channels_loops_, loops_,
                                                              bf16_loops_, bf16_dot_products)} {}

#undef TROUPE_FASTEST

cpu_operations::~cpu_operations() = default;

std::unique_ptr<operations> make_cpu_operations(memory_pool& pool, bool bf16_dot_products) {
    return std::make_unique<cpu_operations>(pool, bf16_dot_products);
}

bool cpu_is_faster_in_bf16() noexcept {
    return cpu::bf16_is_faster();
}

} // namespace troupe
