// Runs those convolutions for which Winograd's algorithm is faster than a direct one (winograd_loops.hpp).
//
// Threads and errors: as convolution.hpp.
#pragma once

#include "kernels/cpu/bf16_loops.hpp"
#include "kernels/cpu/convolution_operands.hpp"
#include "kernels/cpu/winograd_loops.hpp"

namespace troupe::cpu {

class winograd_runner {
  public:
    // Images lie in blocks of `block` channels, which the loops take, or row-major.
    winograd_runner(memory_pool& pool, std::size_t block, const winograd_loops& winograd,
                    const loops& loops, const bf16_loops& bf16_loops)
        : pool_{pool}, block_{block}, winograd_{winograd}, loops_{loops}, bf16_loops_{bf16_loops} {}

    // Depends on machine and shape only, not on the number of samples nor on how images lie in memory: a layer computes
    // the same wherever a model is cut.
    bool suits(const convolution_shape& shape) const noexcept;

    void run(const forward_convolution& operands);
    void run(const backward_convolution& operands);

  private:
    // Images in blocks of channels and as `products` takes them; `space` is used if they are not so.
    const float* factors(const float* images, std::size_t block, precision products,
                         std::size_t channels, std::size_t pixels, float* space);
    const float* factors(const tensor& weight, precision products, float* space);
    void unblock(const float* images, float* result, std::size_t channels, std::size_t pixels);

    winograd_task task_of(const convolution_shape& shape, std::size_t samples) const noexcept;

    memory_pool& pool_;
    const std::size_t block_;
    const winograd_loops& winograd_;
    const loops& loops_;
    const bf16_loops& bf16_loops_;
};

} // namespace troupe::cpu
