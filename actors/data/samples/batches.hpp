// Minibatches: the order of the samples in an epoch, its split into minibatches, and minibatches as tensors.
//
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/data/samples/dataset.hpp"

namespace troupe {

// A permutation of 0 .. samples - 1, the order of this epoch (counted from 0): a seeded Fisher-Yates shuffle.
std::vector<std::uint32_t> epoch_order(std::uint64_t seed, std::uint32_t epoch,
                                       std::size_t samples);
// The order without shuffling: 0, 1, 2, ...
std::vector<std::uint32_t> file_order(std::size_t samples);

// An epoch's samples split into minibatches of `batch` samples; the last one may be shorter.
class batch_plan {
  public:
    batch_plan(std::vector<std::uint32_t> order, std::size_t batch);

    std::size_t batches() const noexcept;
    std::size_t samples() const noexcept { return order_.size(); }
    // Sample indices of minibatch `index` < batches(). Valid as long as the plan.
    std::span<const std::uint32_t> indices(std::size_t index) const noexcept;

  private:
    std::vector<std::uint32_t> order_;
    std::size_t batch_;
};

struct batch {
    tensor input;  // (samples, sample shape...): float32, bytes scaled to 0..1, or int32
    tensor labels; // (samples, label shape...): int32 or float32; may share the input's elements
};

// The samples at `indices` (each < data.size()) as tensors in memory of `memory`, with the transforms of this epoch
// (counted from 0). errc::exhausted if the memory is full.
result<batch> fill_batch(const dataset& data, std::span<const std::uint32_t> indices,
                         std::uint32_t epoch, memory_pool& memory);

} // namespace troupe
