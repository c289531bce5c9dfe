// Gradients of a backward pass under way, for a sum over replicas that begins while it runs: what is ready, which are the
// last layers first, is handed over in buckets; where a codec compresses them, as payloads.
//
// Pure but for the memory of the gradients; on the thread of the device that runs the backward pass. Source: Li et al.,
// PyTorch Distributed, 2020. Its buckets of 25 MB after a first one of 1 MB are to spare collectives; here a sum goes in
// slices of its own, and a bucket costs a message.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/codec/codec.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe {

inline constexpr std::size_t bucket_bytes_min = 1u << 20; // before a codec compresses them

class gradient_buckets {
  public:
    // The gradients of parameters first, first + 1, ..., or their payloads.
    using hand_over = std::function<void(std::size_t first, std::vector<tensor> gradients)>;

    struct options {
        std::shared_ptr<gradient_encoder> encoder; // null: as they are
        std::uint32_t epoch = 0;
        std::vector<bool> as_factors; // of stage_program::backward; empty: none
    };

    // `sum`: of the microbatches before, as stage_program orders gradients; or none.
    gradient_buckets(std::vector<tensor> sum, hand_over give, options how)
        : sum_{std::move(sum)}, give_{std::move(give)}, how_{std::move(how)} {}

    // Of the parameters right before those of the last call, or the last ones. Factors go at once: they are much in little.
    result<void> add(compute_context& context, std::size_t first,
                     std::span<const tensor> gradients);

    // What has not been handed over: the gradients of the first parameters, then these statistics, summed too.
    result<std::vector<tensor>> rest(compute_context& context, std::span<const tensor> statistics);

  private:
    result<std::vector<tensor>> take_bucket(compute_context& context, std::size_t first);
    // Of as_factors those of parameters first, first + 1, ...
    std::vector<bool> as_factors(std::size_t first, std::size_t count) const;

    std::vector<tensor> sum_;
    hand_over give_;
    options how_;
    std::vector<tensor> bucket_;
    std::size_t bytes_ = 0;
};

} // namespace troupe
