// Runs those convolutions for which Winograd's algorithm is faster than a direct one (winograd.hpp).
//
// Threads and errors: as convolution.hpp.
#pragma once

#include "kernels/cpu/convolution_operands.hpp"
#include "kernels/cpu/winograd.hpp"

namespace troupe::cpu {

class winograd_runner {
  public:
    winograd_runner(memory_pool& pool, const loops& loops) : pool_{pool}, loops_{loops} {}

    // Depends on machine and shape only, not on the number of samples nor on how images lie in memory: a layer computes
    // the same wherever a model is cut.
    static bool suits(const convolution_shape& shape) noexcept;

    void run(const forward_convolution& operands);
    void run(const backward_convolution& operands);

  private:
    // Images in blocks of 16 channels; `space` is used if `block` says that they are not.
    const float* blocked(const float* images, std::size_t block, std::size_t channels,
                         std::size_t pixels, float* space);
    void unblock(const float* images, float* result, std::size_t channels, std::size_t pixels);

    memory_pool& pool_;
    const loops& loops_;
};

} // namespace troupe::cpu
