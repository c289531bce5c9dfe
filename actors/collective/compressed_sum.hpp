// The choice of a compressed sum: how ranks sum gradients that a codec compresses, or that linear layers give as sufficient
// factors. Pure; all ranks, and the plan, make the same choice.
//
//   sparse         payloads of indices and values are summed by the rounds of sparse_reduce.hpp
//   low rank       factors of a codec with low_rank() are summed by two dense all-reduces
//   16 bits        bf16 and f16, with more than two ranks or where the algorithm is named, are summed by a dense all-reduce
//                  that also rounds every sum; an all-gather among four ranks takes as many bytes as float32 sums
//   blocks         payloads that can be cut go block by block to the ranks that own the blocks, which sum them, encode the
//                  sums again and send them to all (block_layout.hpp); where that is faster than all-gather, or where
//                  all-gather would send more than no codec
//   all-gather     every other payload goes to all ranks, and so does a sparse one where that is faster
//
// With blocks and all-gather, tensors that are not compressed are summed by a dense all-reduce.
//
// The size of a payload of `threshold` is not known beforehand; it counts with the maximum. In blocks its sums take a word
// for each threshold that they count, or all their numbers where that is less: with P ranks at most 1 / P more than in an
// all-gather, and at most as much as in a dense all-reduce, except where blocks cannot be equally large.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/collective/sparse_reduce.hpp"
#include "kernels/codec/codec.hpp"

namespace troupe {

// The tensors of a sparse all-reduce in two rows: those whose payloads are sparse, and the others.
struct sparse_layout {
    std::vector<bool> is_sparse; // by tensor
    sparse_load load;            // of a rank; dimension and numbers are of the sparse row

    // The first `averages` tensors are not compressed.
    static sparse_layout of(const codec& how, std::span<const tensor_shape> shapes,
                            std::size_t averages);
};

// The tensors that a codec with low_rank() sums: Q of each tensor that has factors; then P of each tensor, or the tensor.
struct low_rank_layout {
    std::vector<tensor_shape> shapes;
    std::size_t rights = 0;                           // number of Q
    std::vector<std::optional<std::size_t>> right_of; // by tensor: the number of its Q

    // The first `averages` tensors are not compressed.
    static low_rank_layout of(const low_rank_factors& how, std::span<const tensor_shape> shapes,
                              std::size_t averages);
    std::size_t elements_of_step() const; // of the larger of the two sums
};

// The tensors that ranks have to sum.
struct compressed_gradients {
    std::vector<tensor_shape> shapes; // the stage's averages, then its parameters
    std::size_t averages = 0;         // number of averages, which are not compressed
    codec_ptr codec;                  // for parameters; null: none
    bool sends_factors = false; // of linear layers, where they are smaller (sufficient_factors.hpp)
    std::vector<std::size_t> factor_rows; // by parameter (parameter_info)
    std::size_t samples_max = 1;          // in a rank's minibatch
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO; // wanted for 16 bits
};

struct compressed_sum {
    std::optional<sparse_algorithm> sparse;
    std::optional<proto::AllReduceAlgorithm> low_rank;
    std::optional<proto::AllReduceAlgorithm> half; // in 16 bits
    bool in_blocks = false;                        // none of these: all-gather
    payload_forms forms; // by tensor: the form in which the stage submits it
    // The most bytes that the busiest rank sends for a sum; of a sparse sum bytes_sent() of sparse_reduce.hpp.
    std::uint64_t bytes = 0;

    std::string name() const;     // "all-gather", "sparse all-reduce by recursive doubling"
    std::size_t gathered() const; // number of tensors that have a form
};

// nullopt where no tensor is compressed: there is no codec, and no factors are smaller.
std::optional<compressed_sum> choose_compressed_sum(const compressed_gradients& gradients,
                                                    const rank_nodes& ranks);

} // namespace troupe
