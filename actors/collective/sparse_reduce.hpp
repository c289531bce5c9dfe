// Sparse all-reduce: sums of vectors most of whose numbers are zero, such as gradients of which only the largest are sent.
// Pure.
//
//   recursive doubling  the whole sum so far, with the partner 1, 2, 4, ... ranks away; ranks beyond a power of two fold
//   split all-gather    block i of P blocks straight to rank i, which sums it; then every sum to every rank
//   split, dense        the same, but sums are always sent dense
//   halving doubling    half of P blocks, a quarter, ... with the partner P/2, P/4, ... ranks away, and back; folds, too
//
// A sum becomes dense if it might otherwise take as many bytes: see is_dense_sum. So no part takes more bytes than its dense
// form, and where sums fill up, halving doubling is the dense all-reduce of that name and the split algorithms send as much
// as a ring. The numbers that a rank sends, with P ranks of k numbers each: from the least, where all ranks have the same
// places, to the most, where no two ranks have the same place; as long as nothing becomes dense, P is a power of two and the
// numbers are spread evenly:
//
//                       messages   numbers
//   recursive doubling  log2 P     k log2 P .. k (P - 1)
//   split all-gather    2 (P - 1)  2 k (P - 1) / P .. k (P - 1) / P + k (P - 1)
//   halving doubling    2 log2 P   2 k (P - 1) / P .. k / 2 log2 P + k (P - 1)
//
// With rounded numbers (sparse_values) partial sums are float32. The final sum of a block is rounded by the one rank that
// has computed it, and all others pass on what that rank has sent; so it is rounded once, and that rank keeps the rounding
// errors for the next sum. Recursive doubling has no such rank and is not used then.
//
// Every number is summed in one order, the same for all ranks: they end with the same bits. Source: Renggli et al., SparCML:
// High-Performance Sparse Communication for Machine Learning, 2019; its last phase is rounded, too (Q4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "actors/collective/all_reduce.hpp"
#include "kernels/codec/sparse_values.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// A vector that keeps some of its numbers, the others being zero, or all of them. A value.
struct sparse_vector {
    std::size_t dimension = 0;
    std::vector<std::uint32_t> indices; // of the values, ascending; empty if the vector is dense
    std::vector<float> values;

    // The vector is dense if all numbers are submitted.
    static sparse_vector make(std::size_t dimension, std::vector<std::uint32_t> indices,
                              std::vector<float> values);
    static sparse_vector dense(std::vector<float> values);

    bool is_dense() const noexcept { return values.size() == dimension; }
    // Bytes as it is sent: each number with its index, or if it is dense all numbers alone.
    std::size_t bytes(const sparse_values& how = {}) const noexcept;
    std::vector<float> all() const; // with the zeros
    // The numbers at first .. first + count, as a vector of dimension `count`.
    sparse_vector part(index_range range) const;

    friend bool operator==(const sparse_vector&, const sparse_vector&) = default;
};

// True if the sum of two sparse vectors with so many numbers is kept dense: if it could otherwise take as many bytes.
constexpr bool is_dense_sum(std::size_t numbers, std::size_t more, std::size_t dimension) noexcept {
    return (numbers + more) * (sizeof(std::uint32_t) + sizeof(float)) >= dimension * sizeof(float);
}

// True if a sum of so many numbers is sent and kept dense in this form: if it would otherwise take as many bytes.
inline bool is_dense_in(const sparse_values& how, std::size_t numbers, std::size_t dimension) {
    return how.payload_bytes(numbers) >= how.bytes(dimension);
}

// The sum of two vectors of one dimension.
sparse_vector sum_of(const sparse_vector& a, const sparse_vector& b);

// The concatenation of these vectors.
sparse_vector concatenated(std::span<const sparse_vector> parts);

enum class sparse_algorithm : std::uint8_t {
    recursive_doubling,
    split_all_gather,
    split_dense,
    halving_doubling
};

std::string_view name_of(sparse_algorithm algorithm); // "recursive doubling"

// As list_transfers() and segments_of() of all_reduce.hpp, for segments of the vector.
std::vector<reduce_transfer> list_transfers(sparse_algorithm algorithm, std::uint32_t rank,
                                            std::uint32_t ranks);
std::size_t segments_of(sparse_algorithm algorithm, std::uint32_t ranks);

// True if a transfer sends final sums.
constexpr bool sends_sum(const reduce_transfer& t) noexcept {
    return !t.adds && t.round > 0; // in round 0 ranks that fold send their inputs
}

// The sizes of each rank's vectors.
struct sparse_load {
    std::size_t dimension = 0;
    std::size_t numbers = 0; // that are kept, at places independent of the other ranks'
    std::size_t dense = 0;   // further numbers, all of which are sent
    std::size_t most = 0;    // the maximum of `numbers`, if there may be more at times
    sparse_values values = {};
};

// The fastest algorithm that, wherever the numbers lie, sends no more than the dense all-reduce that would be chosen for as
// many numbers; nullopt if an all-gather is faster still. That takes P - 1 messages and k (P - 1) numbers, the least where P
// is no power of two and few places are the same.
std::optional<sparse_algorithm> choose_sparse(std::uint32_t ranks, const sparse_load& load,
                                              const reduce_costs& costs = measured_costs);

// The bytes that the busiest rank sends if no two ranks have a number at the same place and all are spread evenly; and the
// most, wherever they lie. Blocks differ by one number, and rounded ones have norms of their own: a few bytes a block more
// or less.
std::size_t bytes_sent(sparse_algorithm algorithm, std::uint32_t ranks, const sparse_load& load);
std::size_t bytes_sent_max(sparse_algorithm algorithm, std::uint32_t ranks,
                           const sparse_load& load);

// One rank's share of one sum.
//
// A rank sends a part as soon as it has its numbers; it takes parts in the order of the transfers, each when all that
// next_to_send() lists has been sent. A part is one vector for each of the transfer's segments; one without numbers is sent,
// too, as no rank knows that beforehand. With split algorithms a block's numbers are summed in this order: the owner's,
// those of the rank before it, and so on.
class sparse_reduction {
  public:
    // `rounds`: the rank that computes a segment's final sum must round it, by round_to(), before it is sent on. Not for
    // recursive doubling.
    sparse_reduction(sparse_algorithm algorithm, std::uint32_t rank, std::uint32_t ranks,
                     const sparse_vector& own, bool rounds = false);

    const reduce_transfer* next_to_send() const; // null: not yet, or none is left
    std::vector<sparse_vector> send();           // the part of next_to_send()
    const reduce_transfer* next_to_take() const; // null: none is left
    // The dimension of this segment of the part that next_to_take() receives.
    std::size_t elements_to_take(std::size_t segment) const;
    result<void> accept(std::vector<sparse_vector> received); // errc::protocol
    // The final sum of the segment that this rank computes, from its end until it is rounded; else null.
    const sparse_vector* to_round() const;
    void round_to(sparse_vector rounded);
    bool is_done() const {
        return next_to_take() == nullptr && next_to_send() == nullptr && to_round() == nullptr;
    }
    sparse_vector sum() const; // when it is done

  private:
    void pass_silent();

    bool sends_dense_; // sends final sums dense
    std::vector<reduce_transfer> transfers_;
    std::vector<sparse_vector> segments_;
    std::size_t next_sent_ = 0, next_taken_ = 0; // indices of transfers_
    std::size_t additions_end_ = 0;
    std::optional<std::size_t> unrounded_; // the segment whose final sum this rank must round
};

} // namespace troupe
