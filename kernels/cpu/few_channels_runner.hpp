// Runs convolutions that begin a network: few channels, and back no gradient of the input (few_channels_loops.hpp).
//
// Threads and errors: as convolution.hpp.
#pragma once

#include "kernels/cpu/bf16_loops.hpp"
#include "kernels/cpu/convolution_operands.hpp"
#include "kernels/cpu/few_channels_loops.hpp"

namespace troupe::cpu {

class few_channels_runner {
  public:
    // Gradients of outputs lie in blocks of `block` channels, which the loops take, or row-major.
    few_channels_runner(memory_pool& pool, std::size_t block, const few_channels_loops& few,
                        const loops& loops, const bf16_loops& bf16_loops)
        : pool_{pool}, block_{block}, few_{few}, loops_{loops}, bf16_loops_{bf16_loops} {}

    // Depends on machine and shape, as winograd_runner's does, and back on whether the input has a gradient.
    bool suits(const forward_convolution& operands) const noexcept;
    bool suits(const backward_convolution& operands) const noexcept;
    void run(const forward_convolution& operands);
    void run(const backward_convolution& operands);

  private:
    memory_pool& pool_;
    const std::size_t block_;
    const few_channels_loops& few_;
    const loops& loops_;
    const bf16_loops& bf16_loops_;
};

} // namespace troupe::cpu
