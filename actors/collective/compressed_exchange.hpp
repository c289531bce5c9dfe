// How ranks sum gradients that a codec compresses: by its payloads. Pure; all ranks, and the plan, choose the same.
//
//   sparse         payloads of indices and values are summed on their way, by the rounds of sparse_reduce.hpp
//   factors        of codecs with factors(), summed by two dense all-reduces
//   all-gather     any other payload goes to all, and so does a sparse one where that is faster; what is not compressed is
//                  summed by a dense all-reduce beside it
//
// Payloads of `threshold` are gathered: with one step for all numbers they take 4 bytes each, as sums they would take 8, and
// how many there are is not known beforehand.
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

// What is summed of a codec with factors(): Q of each tensor that has some; then of each tensor P, or itself.
struct factor_layout {
    std::vector<tensor_shape> shapes;
    std::size_t rights = 0;                           // how many Q
    std::vector<std::optional<std::size_t>> right_of; // by tensor: which is its Q

    // The first `averages` are sent as they are.
    static factor_layout of(const factor_codec& how, std::span<const tensor_shape> shapes,
                            std::size_t averages);
    std::size_t elements_of_step() const; // of the two sums the larger
};

// How each tensor is sent in an all-gather, or a sparse all-reduce.
payload_forms forms_of(const codec_ptr& how, std::size_t tensors, std::size_t averages);

// That the busiest rank sends to gather what has a form and to sum what has none: at most.
std::uint64_t bytes_to_gather(const payload_forms& forms, std::span<const tensor_shape> shapes,
                              const rank_nodes& ranks);

struct compressed_exchange {
    std::optional<sparse_algorithm> sparse;
    std::optional<proto::AllReduceAlgorithm> factors; // with neither: all-gather
    // That the busiest rank sends for a sum: at most; of a sparse one as sparse_reduce.hpp says.
    std::uint64_t bytes = 0;

    std::string name() const; // "all-gather", "sparse all-reduce by recursive doubling"
};

// For ranks that each sum tensors of these shapes.
compressed_exchange choose_exchange(const codec_ptr& how, std::span<const tensor_shape> shapes,
                                    std::size_t averages, const rank_nodes& ranks);

} // namespace troupe
