// How ranks sum gradients that a codec compresses, or that linear layers give as sufficient factors. Pure; all ranks, and
// the plan, choose by this.
//
//   sparse         payloads of indices and values are summed on their way, by the rounds of sparse_reduce.hpp
//   low rank       of codecs with low_rank(), summed by two dense all-reduces
//   16 bits        bf16 and f16, with more than two ranks or where the algorithm is named: by a dense all-reduce that rounds
//                  every sum, too; gathered by four ranks they are as many bytes as float32 sums
//   blocks         payloads that can be cut go block by block to the ranks that own these, which sum them, encode the sums
//                  again and send them to all (block_layout.hpp); where that is faster than all-gather, or where that would
//                  send more than no codec
//   all-gather     any other payload goes to all, and so does a sparse one where that is faster
//
// Beside blocks and all-gather, what is not compressed is summed by a dense all-reduce.
//
// How many numbers a payload of `threshold` has is not known beforehand, and it counts with the most. In blocks its sums
// take a word for each threshold that they count, or all their numbers where that is less: with P ranks at most 1 / P more
// than gathered, and at most as much as a dense all-reduce, but for what cannot be shared evenly.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/collective/sparse_reduce.hpp"
#include "kernels/codec/codec.hpp"

namespace troupe {

// Tensors in two rows, those whose payloads are sparse and the others: what is summed by a sparse all-reduce.
struct sparse_layout {
    std::vector<bool> is_sparse; // by tensor
    sparse_load load;            // of a rank; dimension and numbers are of the sparse row

    // The first `averages` are sent as they are.
    static sparse_layout of(const codec& how, std::span<const tensor_shape> shapes,
                            std::size_t averages);
};

// What is summed of a codec with low_rank(): Q of each tensor that has some; then of each tensor P, or itself.
struct low_rank_layout {
    std::vector<tensor_shape> shapes;
    std::size_t rights = 0;                           // how many Q
    std::vector<std::optional<std::size_t>> right_of; // by tensor: which is its Q

    // The first `averages` are sent as they are.
    static low_rank_layout of(const low_rank_factors& how, std::span<const tensor_shape> shapes,
                              std::size_t averages);
    std::size_t elements_of_step() const; // of the two sums the larger
};

// What ranks have to sum.
struct compressed_gradients {
    std::vector<tensor_shape> shapes; // the stage's averages, then its parameters
    std::size_t averages = 0;         // sent as they are
    codec_ptr codec;                  // of parameters; null: none
    bool sends_factors = false; // of linear layers, where they are less (sufficient_factors.hpp)
    std::vector<std::size_t> factor_rows; // by parameter (parameter_info)
    std::size_t samples_max = 1;          // of a rank's minibatch
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO; // wanted for 16 bits
};

struct compressed_exchange {
    std::optional<sparse_algorithm> sparse;
    std::optional<proto::AllReduceAlgorithm> low_rank;
    std::optional<proto::AllReduceAlgorithm> half; // in 16 bits
    bool in_blocks = false;                        // with none of these: all-gather
    payload_forms forms;                           // by tensor, how the stage gives it
    std::uint64_t bytes =
        0; // that the busiest rank sends for a sum: at most; of a sparse one as sparse_reduce.hpp says

    std::string name() const;     // "all-gather", "sparse all-reduce by recursive doubling"
    std::size_t gathered() const; // how many tensors have a form
};

// Nothing where all is summed as it is: no codec, and factors would be more.
std::optional<compressed_exchange> choose_exchange(const compressed_gradients& gradients,
                                                   const rank_nodes& ranks);

} // namespace troupe
