// The back end for NVIDIA GPUs: cuBLASLt for matrix products, own kernels for the rest, one operation per file of ops/.
//
// Operations return when they are in the stream (execution.hpp); wait() waits for them. Those that give a number to the host
// (losses, norms) wait by themselves. Images are row-major here.
//
// Results are the same every time: sums are taken in a fixed order, and nothing adds floats atomically.
#pragma once

#include <string>

#include "kernels/cuda/execution.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

class cuda_operations final : public operations {
  public:
    // Must outlive it.
    explicit cuda_operations(cuda::execution& run) : run_{run} {}

    std::string_view name() const noexcept override { return "cuda"; }
    std::size_t channel_block(std::size_t) const noexcept override { return 1; }
    result<void> wait() override { return run_.wait(); }

  private:
    // start() is in the file of the operation; what goes wrong there is told with the operation's name.
#define TROUPE_DECLARE(name)                                                                       \
    result<void> compute(const name& op) override {                                                \
        auto done = start(op);                                                                     \
        return done ? done : result<void>{done.failure().in(#name)};                               \
    }                                                                                              \
    result<void> start(const name& op);
    TROUPE_OPERATIONS(TROUPE_DECLARE)
#undef TROUPE_DECLARE

    cuda::execution& run_;
};

} // namespace troupe
