// One rank's share of one all-reduce: the numbers, and how far each slice of them has come through its rounds. No actor.
//
// What this rank begins with is never written: peers may still read what was sent of it. A sum that is not the last of its
// elements is a new tensor, the last one lies in the results. A part that lies within one tensor is sent as it is; one that
// does not, or that is of results and sent in 16 bits, is put in a row first.
//
// Threads: none of its own. Memory: numbers are summed in the processor's memory by who calls.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/collective/all_reduce.hpp"
#include "actors/collective/part_numbers.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// Of a message, about: half a megabyte is copied and added in the second cache of today's processors, and takes several
// times as long as what each message costs beside its bytes.
inline constexpr std::size_t message_elements_default = 1u << 16;

// What all reductions of a rank have in common.
struct reduction_plan {
    std::vector<tensor_shape> shapes;
    std::vector<std::size_t> begins; // of each tensor, its first element; and behind the last one
    std::size_t segments = 1;        // of each slice
    std::vector<reduce_transfer> transfers; // of each slice
    std::vector<bool> is_last; // by transfer: what it receives is the sum of all ranks then
    std::vector<index_range> slices;
    std::size_t late =
        0; // of the tensors the first: float32, and in slices of their own the others' are before them
    std::size_t early_slices =
        0; // of the slices the first: those of the other tensors; none has some of both
    part_numbers numbers; // of the early slices

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

    // Tensors first, first + 1, ... of this rank, of the plan's shapes, or rows of its numbers. They come from the last to
    // the first.
    void give(std::size_t first, std::vector<tensor> inputs);
    result<void> give_zeros(); // for all
    std::size_t given_from() const noexcept { return given_from_; }
    bool can_start(std::size_t slice) const; // all that it needs has been given

    // What the slice does next; null when it is done.
    const reduce_transfer* next(std::size_t slice) const;
    bool has_sent(std::size_t slice) const { return slices_[slice].has_sent; }
    result<tensor> part_to_send(std::size_t slice); // a row; empty where nothing is to be sent now
    result<void> take(std::size_t slice, const tensor& received); // what the transfer receives
    void step(std::size_t slice);                                 // to the transfer after it

    // The sum of a tensor whose slices are done, of its shape.
    result<tensor> sum(std::size_t number);
    // When all slices are done: one tensor for each shape. Nobody else writes them; peers may still read them.
    result<std::vector<tensor>> sums() &&;

  private:
    struct slice_state {
        std::size_t next = 0; // of the plan's transfers
        bool has_sent = false;
        // The sum so far of some elements, where it is neither what this rank began with nor a result.
        index_range partial_of;
        tensor partial;
        std::vector<bool> is_done; // by segment: its sum lies in the results
    };

    // Elements that lie one after the other in a tensor of ours and in those of others.
    struct piece {
        std::size_t tensor;
        index_range within;
        std::size_t offset; // in the range that was asked for
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
    std::size_t given_from_;
    std::vector<tensor> inputs_;  // rows
    std::vector<tensor> results_; // rows of float32; made when first written
    std::vector<slice_state> slices_;
};

} // namespace troupe
