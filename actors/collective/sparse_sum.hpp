// One rank's numbers in one sparse all-reduce of gradients: it begins with the codec's payloads, makes parts to send, takes
// parts of other ranks, and ends with the sums. No actor.
//
// Tensors lie in two rows, those whose payloads are sparse and the others (sparse_layout), which take the same rounds side
// by side. A part has two tensors for each of its segments: one of the other tensors' row, then one of the sparse row. Each
// is float32 with all of the segment's numbers, or a sparse payload (kernels/ops/sparse.hpp) with indices within the
// segment. With a codec that rounds values, final sums of the sparse row are in its form (sparse_values.hpp): a payload, or,
// where that would not be smaller, all of the segment's numbers without indices; the two never have the same length.
//
// Error feedback at the rank that rounds a segment's sum s: at the places that it sends a = s + e, e' = a - D(q), elsewhere
// e stays. So the results of all reductions, plus the last e of all ranks, are the sum of all inputs.
//
// Threads: one at a time. Memory: vectors outside the pool, for each row up to twice the bytes of its numbers; with rounded
// values one number for each of the segment that this rank rounds, kept from sum to sum, and in no checkpoint.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "actors/collective/compressed_sum.hpp"
#include "actors/collective/sparse_reduce.hpp"
#include "kernels/device/device.hpp"

namespace troupe {

using sparse_part = std::vector<tensor>;

// The plan that all sums of a rank share.
struct sparse_plan {
    sparse_algorithm algorithm = sparse_algorithm::recursive_doubling;
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
    std::vector<tensor_shape> shapes;
    sparse_layout layout;
    std::vector<reduce_transfer> transfers;

    static sparse_plan make(sparse_algorithm algorithm, std::uint32_t rank, std::uint32_t ranks,
                            std::vector<tensor_shape> shapes, sparse_layout layout);
    // Checks that a part fits this transfer, by its tensors' types and sizes. errc::protocol.
    result<void> check(const reduce_transfer& t, std::span<const tensor> part) const;
    // The form in which numbers of a row are sent; `is_sum`: those of a final sum.
    sparse_values form_of(std::size_t row, bool is_sum) const;
};

class sparse_sum {
  public:
    // `payloads`: of tensors with the plan's shapes, float32 where they are not sparse; empty for zeros. `lost`: the errors
    // of this rank's rounding in earlier sums, empty at first. It and the plan must outlive the object.
    static result<sparse_sum> begin(compute_context& context, const sparse_plan& plan,
                                    std::vector<tensor> payloads, std::vector<float>& lost);

    struct outgoing {
        std::uint32_t to;
        std::uint32_t round;
        sparse_part part;
    };
    // The parts that can be sent now and have not been yet.
    result<std::vector<outgoing>> send(compute_context& context);
    // Takes the part of the next transfer, which has passed the plan's check. errc::protocol for numbers that no rank sends.
    result<void> accept(compute_context& context, std::span<const tensor> part);
    bool is_done() const { return rows_[0].is_done() && rows_[1].is_done(); }
    // When it is done: one tensor for each shape, multiplied with `factor`.
    result<std::vector<tensor>> sums(compute_context& context, float factor) const;

  private:
    sparse_sum(const sparse_plan& plan, std::span<const tensor> payloads, std::vector<float>& lost);

    result<void> round(compute_context& context);

    const sparse_plan& plan_;
    std::vector<float>& lost_;
    std::array<sparse_reduction, 2> rows_; // dense, sparse
};

} // namespace troupe
