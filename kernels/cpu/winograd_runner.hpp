// Runs those convolutions for which Winograd's algorithm is faster than a direct one (winograd.hpp).
//
// Threads and errors: as convolution.hpp.
#pragma once

#include "kernels/cpu/bf16_loops.hpp"
#include "kernels/cpu/convolution_operands.hpp"
#include "kernels/cpu/winograd.hpp"

namespace troupe::cpu {

class winograd_runner {
  public:
    // Unless `enabled`, nothing suits: the machine must have AVX-512, and images lie in blocks of 16 channels or row-major.
    winograd_runner(memory_pool& pool, const loops& loops, const bf16_loops& bf16_loops,
                    bool enabled)
        : pool_{pool}, loops_{loops}, bf16_loops_{bf16_loops}, enabled_{enabled} {}

    // Depends on machine and shape only, not on the number of samples nor on how images lie in memory: a layer computes
    // the same wherever a model is cut.
    bool suits(const convolution_shape& shape) const noexcept;

    void run(const forward_convolution& operands);
    void run(const backward_convolution& operands);

  private:
    // Images in blocks of 16 channels and as `products` takes them; `space` is used if they are not so.
    const float* factors(const float* images, std::size_t block, precision products,
                         std::size_t channels, std::size_t pixels, float* space);
    const float* factors(const tensor& weight, precision products, float* space);
    void unblock(const float* images, float* result, std::size_t channels, std::size_t pixels);

    memory_pool& pool_;
    const loops& loops_;
    const bf16_loops& bf16_loops_;
    const bool enabled_;
};

} // namespace troupe::cpu
