// Buckets of gradients of a running backward pass, for a sum over replicas that begins while it runs: gradients that are
// ready, the last layers' first, are handed over in buckets; where a codec compresses them, as payloads.
//
// Pure except for the gradients' memory. Threads: that of the device that runs the backward pass. Source: Li et al.,
// PyTorch Distributed, 2020. Its buckets of 25 MB after a first one of 1 MB reduce the number of collectives; here a sum is
// cut into slices that do not depend on the buckets, and a bucket costs one message.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/codec/codec.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe {

inline constexpr std::size_t bucket_bytes_min = 1u << 20; // before compression

class gradient_buckets {
  public:
    // Receives the gradients of parameters first, first + 1, ..., or their payloads.
    using hand_over = std::function<void(std::size_t first, std::vector<tensor> gradients)>;

    struct options {
        std::shared_ptr<gradient_encoder> encoder; // null: gradients are not compressed
        std::uint32_t epoch = 0;
        std::vector<bool> as_factors; // by parameter, as in stage_program::backward; empty: none
    };

    // `sum`: sums over the minibatch's earlier microbatches, in the order of stage_program's gradients; empty: none.
    gradient_buckets(std::vector<tensor> sum, hand_over give, options how)
        : sum_{std::move(sum)}, give_{std::move(give)}, how_{std::move(how)} {}

    // Takes the gradients of parameters first, first + 1, ..., which end right before those of the previous call, or with
    // the last parameter. Factors are handed over at once: few bytes stand for large gradients.
    result<void> add(compute_context& context, std::size_t first,
                     std::span<const tensor> gradients);

    // The tensors that have not been handed over: gradients of the first parameters, then `statistics`, also summed over
    // microbatches.
    result<std::vector<tensor>> rest(compute_context& context, std::span<const tensor> statistics);

  private:
    result<std::vector<tensor>> take_bucket(compute_context& context, std::size_t first);
    // The entries of as_factors for parameters first, first + 1, ...
    std::vector<bool> as_factors(std::size_t first, std::size_t count) const;

    std::vector<tensor> sum_;
    hand_over give_;
    options how_;
    std::vector<tensor> bucket_;
    std::size_t bytes_ = 0;
};

} // namespace troupe
