// One rank's share of one all-reduce: its numbers, and the progress of each slice through the rounds. No actor.
//
// The inputs of this rank are never written: other ranks may still read parts that were sent. A partial sum is a new tensor,
// a final sum lies in the results, where those of others may be received without a copy. A part within one tensor is sent
// without a copy; a part of several tensors, or of results that are sent in 16 bits, is copied to a row first.
//
// Threads: none of its own. Memory: numbers are summed in host memory, on the caller's thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/collective/all_reduce.hpp"
#include "actors/collective/part_numbers.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// Elements of a message, about: half a megabyte is copied and added within the second-level cache of today's processors, and
// that takes several times as long as a message costs apart from its bytes.
inline constexpr std::size_t message_elements_default = 1u << 16;

// The plan that all reductions of a rank share.
struct reduction_plan {
    std::vector<tensor_shape> shapes;
    std::vector<std::size_t> begins; // the first element of each tensor; then the end of the last
    std::size_t segments = 1;        // in each slice
    std::vector<reduce_transfer> transfers; // of each slice
    std::vector<bool> is_last; // by transfer: after it the received elements are final sums
    std::vector<index_range> slices;
    // The number of late tensors, which are the first ones: float32, in slices of their own, behind those of the others.
    std::size_t late = 0;
    // The number of early slices, which are the first ones: those of the other tensors; no slice has elements of both.
    std::size_t early_slices = 0;
    part_numbers numbers; // in the early slices

    static reduction_plan make(std::vector<tensor_shape> shapes,
                               proto::AllReduceAlgorithm algorithm, std::uint32_t rank,
                               const rank_nodes& ranks,
                               std::size_t message_elements = message_elements_default,
                               std::size_t late = 0, part_numbers numbers = {});

    part_numbers numbers_of(std::size_t slice) const {
        return slice < early_slices ? numbers : part_numbers{};
    }
    part_numbers numbers_of_tensor(std::size_t number) const {
        return number < late ? part_numbers{} : numbers;
    }
    // The elements of these segments of a slice; none where there are more segments than elements.
    index_range elements_of(std::size_t slice, index_range segments) const;
    std::size_t elements() const noexcept { return begins.back(); }
    // The tensors that have some of these elements, by number.
    index_range tensors_of(index_range elements) const;
};

class reduction {
  public:
    // Sums are multiplied with `scale`. The plan and the pool must outlive it.
    reduction(const reduction_plan& plan, memory_pool& memory, float scale);

    // Takes tensors first, first + 1, ... of this rank, with the plan's shapes, or as rows of its numbers. Calls go from the
    // last tensors to the first.
    void submit(std::size_t first, std::vector<tensor> inputs);
    result<void> submit_zeros(); // for all tensors
    std::size_t submitted_from() const noexcept { return submitted_from_; }
    bool can_start(std::size_t slice) const; // its tensors have been submitted

    // The next transfer of the slice; null when it is done.
    const reduce_transfer* next(std::size_t slice) const;
    bool has_sent(std::size_t slice) const { return slices_[slice].has_sent; }
    // Where the results have what the transfer brings: final sums of one tensor, in the form in which they are sent. Empty
    // for others. What lies there already when it is accepted is not copied.
    result<tensor> place_of(std::size_t slice, const reduce_transfer& t);
    result<tensor> part_to_send(std::size_t slice); // a row; empty if the transfer sends nothing
    result<void> accept(std::size_t slice, const tensor& received); // the transfer's row
    void step(std::size_t slice);                                   // to the following transfer

    // The sum of a tensor whose slices are done, in its shape.
    result<tensor> sum(std::size_t number);
    // One tensor for each shape, when all slices are done. Nobody else writes them; other ranks may still read them.
    result<std::vector<tensor>> sums() &&;

  private:
    struct slice_state {
        std::size_t next = 0; // index of the next one of the plan's transfers
        bool has_sent = false;
        // The partial sum of some elements, where it is neither an input of this rank nor a result.
        index_range partial_of;
        tensor partial;
        std::vector<bool> is_done; // by segment: its sum lies in the results
    };

    // The elements of a range that lie in one tensor.
    struct piece {
        std::size_t tensor;
        index_range within;
        std::size_t offset; // of the piece in the range
    };
    std::vector<piece> pieces_of(index_range elements) const;
    const std::byte* begin_of(std::size_t slice, index_range elements, const piece& p) const;
    result<float*> result_of(const piece& p);
    result<void> add_partial(std::size_t slice, index_range elements, const tensor& received);
    result<tensor> row_of(std::size_t slice, std::size_t elements, std::span<const piece> pieces,
                          bool are_results) const;

    const reduction_plan& plan_;
    memory_pool& memory_;
    float scale_;
    std::size_t submitted_from_;
    std::vector<tensor> inputs_;  // rows
    std::vector<tensor> results_; // rows of float32; made when first written
    std::vector<slice_state> slices_;
};

} // namespace troupe
