// One rank's numbers in one sparse all-reduce of gradients: the codec's payloads in, what is sent to whom out, the sums at
// the end. No actor.
//
// Tensors lie in two rows, those whose payloads are sparse and the others (sparse_layout), which take the same rounds side
// by side. A part that is sent is two tensors for each of its segments: of the other tensors' row, then of the sparse one's.
// Either is float32 with all of the segment's numbers, or a sparse payload (kernels/ops/sparse.hpp) with indices within the
// segment. Of a codec with rounded values, finished sums of the sparse row are in its form (sparse_values.hpp): a payload,
// or, where that would be no less, all of the segment's numbers without their places; the one is never as long as the other.
//
// Error feedback of the rank that rounds a segment's sum s: at the places that it sends a = s + e, e' = a - D(q), elsewhere
// e stays. So the sum of what all take, and the last e of all ranks, is the sum of what all gave.
//
// Threads: one at a time. Memory: vectors beside the pool, for each row up to what its numbers take twice; of rounded values
// a number for each of the segment that this rank sums, from sum to sum, which no checkpoint has.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "actors/collective/compressed_exchange.hpp"
#include "actors/collective/sparse_reduce.hpp"
#include "kernels/device/device.hpp"

namespace troupe {

using sparse_part = std::vector<tensor>;

// What all sums of a rank have in common.
struct sparse_plan {
    sparse_algorithm algorithm = sparse_algorithm::recursive_doubling;
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
    std::vector<tensor_shape> shapes;
    sparse_layout layout;
    std::vector<reduce_transfer> transfers;

    static sparse_plan make(sparse_algorithm algorithm, std::uint32_t rank, std::uint32_t ranks,
                            std::vector<tensor_shape> shapes, sparse_layout layout);
    // Whether a part could be what this transfer takes, by its tensors' types and sizes. errc::protocol.
    result<void> check(const reduce_transfer& t, std::span<const tensor> part) const;
    // How numbers of a row are written, of a sum that nothing is added to any more or of another.
    sparse_values form_of(std::size_t row, bool is_sum) const;
};

class sparse_sum {
  public:
    // `payloads` of the plan's shapes, those of tensors that are not sparse float32; or none for zeros. `lost`: what this
    // rank's rounding has lost in the sums before, nothing at first. The plan and that must outlive it.
    static result<sparse_sum> begin(compute_context& context, const sparse_plan& plan,
                                    std::vector<tensor> payloads, std::vector<float>& lost);

    struct outgoing {
        std::uint32_t to;
        std::uint32_t round;
        sparse_part part;
    };
    // What can be sent now and has not been yet.
    result<std::vector<outgoing>> send(compute_context& context);
    // What the next transfer takes, as it has passed the plan's check. errc::protocol for what no rank sends.
    result<void> take(compute_context& context, std::span<const tensor> part);
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
