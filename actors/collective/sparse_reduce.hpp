// Sparse all-reduce: sums of vectors of which most numbers are zero, as gradients of which only the largest are sent. Pure.
//
//   recursive doubling  all that a rank has, with the partner 1, 2, 4, ... ranks away; ranks beyond a power of two fold
//   split all-gather    block i of P of them straight to rank i, which sums it; then every sum to every rank
//   split, dense        the same, but the sums are sent dense, whatever is in them
//   halving doubling    half of P blocks, a quarter, ... with the partner P/2, P/4, ... ranks away, and back; folds, too
//
// A vector becomes dense where the sum of two might take as much as that: see is_dense_sum. So no part takes more bytes than
// with all of its numbers, and where sums fill up, halving doubling is the dense all-reduce of that name and the split ones
// send what a ring does. With P ranks of k numbers each, and what a rank sends at most where no two have a number at the
// same place, and at least where all have the same ones, in numbers, as long as nothing becomes dense, P is a power of two
// and the numbers lie evenly:
//
//                       messages   numbers
//   recursive doubling  log2 P     k log2 P .. k (P - 1)
//   split all-gather    2 (P - 1)  2 k (P - 1) / P .. k (P - 1) / P + k (P - 1)
//   halving doubling    2 log2 P   2 k (P - 1) / P .. k / 2 log2 P + k (P - 1)
//
// Numbers that are rounded (sparse_values): sums on their way are float32. When nothing more is added to a block, the one
// rank that has summed it rounds it, and all others pass on what it has sent; so it is rounded once, and that rank keeps
// what is lost for the next sum. Recursive doubling has no such rank and is not used then.
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

// So many numbers, most of which are zero and not kept, or all of them. A value.
struct sparse_vector {
    std::size_t dimension = 0;
    std::vector<std::uint32_t> indices; // of the values, ascending; none where it is dense
    std::vector<float> values;

    // With all numbers kept it is dense.
    static sparse_vector make(std::size_t dimension, std::vector<std::uint32_t> indices,
                              std::vector<float> values);
    static sparse_vector dense(std::vector<float> values);

    bool is_dense() const noexcept { return values.size() == dimension; }
    // As it is sent: each number with its index, unless all are there.
    std::size_t bytes(const sparse_values& how = {}) const noexcept;
    std::vector<float> all() const; // with the zeros
    // The numbers at first .. first + count, in a vector of that dimension.
    sparse_vector part(index_range range) const;

    friend bool operator==(const sparse_vector&, const sparse_vector&) = default;
};

// Whether the sum of two sparse vectors with so many numbers is kept dense: where it could take as many bytes as that.
constexpr bool is_dense_sum(std::size_t numbers, std::size_t more, std::size_t dimension) noexcept {
    return (numbers + more) * (sizeof(std::uint32_t) + sizeof(float)) >= dimension * sizeof(float);
}

// Whether a sum of so many numbers is sent dense in this form, and kept so: where it takes as many bytes as that.
inline bool is_dense_in(const sparse_values& how, std::size_t numbers, std::size_t dimension) {
    return how.payload_bytes(numbers) >= how.bytes(dimension);
}

// Of two vectors of one dimension.
sparse_vector sum_of(const sparse_vector& a, const sparse_vector& b);

// One after the other.
sparse_vector in_a_row(std::span<const sparse_vector> parts);

enum class sparse_algorithm : std::uint8_t {
    recursive_doubling,
    split_all_gather,
    split_dense,
    halving_doubling
};

std::string_view name_of(sparse_algorithm algorithm); // "recursive doubling"

// As list_transfers and segments_of, by segments of the vector.
std::vector<reduce_transfer> list_transfers(sparse_algorithm algorithm, std::uint32_t rank,
                                            std::uint32_t ranks);
std::size_t segments_of(sparse_algorithm algorithm, std::uint32_t ranks);

// Whether a transfer sends sums that nothing is added to any more.
constexpr bool sends_sum(const reduce_transfer& t) noexcept {
    return !t.adds && t.round > 0; // in round 0 ranks that fold give away what they have
}

// What each rank has to sum.
struct sparse_load {
    std::size_t dimension = 0;
    std::size_t numbers = 0; // of these, at places that have nothing to do with each other's
    std::size_t dense = 0;   // numbers beside them, all of which are sent
    std::size_t most = 0;    // of numbers, if at times there are more
    sparse_values values = {};
};

// The fastest of those that cannot send more than the dense all-reduce of as many numbers that would be chosen, wherever the
// numbers lie; none: that each rank sends what it has to all others, who sum it, is faster still. That takes P - 1 messages
// and k (P - 1) numbers, the least where P is no power of two and few places are the same.
std::optional<sparse_algorithm> choose_sparse(std::uint32_t ranks, const sparse_load& load,
                                              const reduce_costs& costs = measured_costs);

// What the busiest rank sends where no two have a number at the same place and all lie evenly; and, wherever they lie, at
// most. Blocks differ by a number, and rounded ones have norms of their own: a few bytes a block more or less.
std::size_t bytes_sent(sparse_algorithm algorithm, std::uint32_t ranks, const sparse_load& load);
std::size_t bytes_sent_max(sparse_algorithm algorithm, std::uint32_t ranks,
                           const sparse_load& load);

// One rank's share of one sum.
//
// A rank sends as soon as it has what it sends; what it takes it takes in the order of the transfers, each of them when all
// that next_to_send() lists has been sent. A part is one vector for each of the transfer's segments; one without numbers is
// sent, too: nobody knows beforehand. With split algorithms a block's numbers are summed in the order of its owner's rank,
// the rank before it, and so on.
class sparse_reduction {
  public:
    // `rounds`: who sums a segment for all gives it back rounded, before it is sent on. Not for recursive doubling.
    sparse_reduction(sparse_algorithm algorithm, std::uint32_t rank, std::uint32_t ranks,
                     const sparse_vector& own, bool rounds = false);

    const reduce_transfer* next_to_send() const; // null: not yet, or none is left
    std::vector<sparse_vector> send();           // its part
    const reduce_transfer* next_to_take() const; // null: none is left
    std::size_t
    elements_to_take(std::size_t segment) const; // of this one of its part, zeros and all
    result<void> take(std::vector<sparse_vector> received); // errc::protocol
    // The segment that this rank has summed for all, as long as it is to be rounded; else null.
    const sparse_vector* to_round() const;
    void round_to(sparse_vector rounded);
    bool is_done() const {
        return next_to_take() == nullptr && next_to_send() == nullptr && to_round() == nullptr;
    }
    sparse_vector sum() const; // when it is done

  private:
    void pass_silent();

    bool sends_dense_; // sums
    std::vector<reduce_transfer> transfers_;
    std::vector<sparse_vector> segments_;
    std::size_t next_sent_ = 0, next_taken_ = 0; // of transfers_
    std::size_t additions_end_ = 0;
    std::optional<std::size_t> unrounded_; // the segment that this rank sums for all
};

} // namespace troupe
