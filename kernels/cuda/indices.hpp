// Indices of elements in kernels: 32 bits wide where the sizes allow it, and divided by a multiplication.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>

namespace troupe::cuda {

// Calls launch(Index{}) with an unsigned type that holds sums of two of the sizes: what a kernel counts with.
template <class Launch>
cudaError_t with_index(std::initializer_list<std::size_t> sizes, const Launch& launch) {
    return std::ranges::max(sizes) < std::size_t{1} << 31 ? launch(std::uint32_t{})
                                                          : launch(std::size_t{});
}

template <class Index>
struct division {
    Index quotient, remainder;
};

// Division by a number that is known at the launch.
template <class Index>
class divisor {
  public:
    explicit divisor(std::size_t by) : by_{by} {}
    __device__ Index quotient(Index n) const { return n / by_; }
    __device__ division<Index> divide(Index n) const { return {n / by_, n % by_}; }

  private:
    Index by_;
};

// Division of numbers below 2^31 by one from 1 to 2^31: a multiplication and a shift in place of some twenty instructions.
// Granlund and Montgomery, "Division by invariant integers using multiplication", 1994.
template <>
class divisor<std::uint32_t> {
  public:
    explicit divisor(std::size_t by)
        : by_{static_cast<std::uint32_t>(by)}, shift_{static_cast<std::uint32_t>(
                                                   std::bit_width(by_ - 1))},
          multiplier_{static_cast<std::uint32_t>(
              (std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift_) - by_) / by_ + 1)} {}
    __device__ std::uint32_t quotient(std::uint32_t n) const {
        return (__umulhi(n, multiplier_) + n) >> shift_;
    }
    __device__ division<std::uint32_t> divide(std::uint32_t n) const {
        const std::uint32_t q = quotient(n);
        return {q, n - q * by_};
    }

  private:
    std::uint32_t by_, shift_, multiplier_;
};

} // namespace troupe::cuda
