// The base of both reducers of payloads that the stage makes (gatherer.hpp, block_reducer.hpp). Payloads are sent as soon as
// the stage submits them, those of the last tensors first, so that most are sent while the backward pass runs. Tensors
// without a form are summed as in a reducer, in the first slices.
//
// The number of a payload counts the tensors that have a form.
#pragma once

#include "actors/collective/compressed_reducer.hpp"
#include "actors/collective/reduction_rounds.hpp"

namespace troupe {

// The operands of the sum of one tensor, or of a block of it.
struct payloads_to_sum {
    tensor_shape shape;
    payload_form_ptr form;
    std::vector<tensor> payloads; // of the ranks that have some, in the order of ranks

    // The sum, multiplied by `factor`.
    result<tensor> sum(compute_context& context, float factor) const;
};

// The payloads of a rank that have arrived; they arrive from the last to the first.
class payload_arrivals {
  public:
    explicit payload_arrivals(std::size_t count) : payloads_(count), from_{count} {}

    // Takes payloads first, first + 1, ... errc::protocol if they are not due.
    result<void> accept(std::size_t first, std::span<const tensor> payloads);
    result<void> take_zeros();                          // instead of any payloads
    std::size_t from() const noexcept { return from_; } // number of the first payload that is there
    bool has_zeros() const noexcept { return has_zeros_; }
    tensor let_go(std::size_t number) { return std::exchange(payloads_[number], {}); }

  private:
    std::vector<tensor> payloads_;
    std::size_t from_;
    bool has_zeros_ = false;
};

// The error for a chunk that is not due: errc::protocol.
error not_due();

class payload_reducer : public compressed_reducer {
  protected:
    // At least one tensor has a form.
    payload_reducer(actor_context& context, compressed_options options);

    void joined() override;
    // A reduction begins; calls of submit_payloads() with the rank's own payloads, or one of submit_zeros(), follow.
    virtual void begin() = 0;
    virtual result<void> submit_payloads(std::size_t first, std::span<const tensor> payloads) = 0;
    virtual result<void> submit_zeros() = 0;
    // Takes a chunk of payloads; `first` is the number of its first payload, as the sender counts them.
    virtual result<void> arrive_payloads(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                         std::size_t first, std::span<const tensor> payloads) = 0;
    // Does what can be done now. Called after each of the above, while a reduction is under way and the device is idle for
    // this actor.
    virtual void go_on() = 0;

    void step(); // calls go_on() if it may be called
    // The numbers of the tensors that have a form.
    const std::vector<std::size_t>& packed() const noexcept { return packed_; }
    void send_payloads(std::uint32_t to, std::uint32_t round, std::size_t first,
                       std::span<const tensor> payloads);
    bool is_rest_done() const { return rounds_->is_done(); } // tensors without a form
    // Ends the reduction; `sums` are those of the tensors that have a form.
    void finish_all(std::vector<tensor> sums);

  private:
    void accept(std::size_t first, std::vector<tensor> submitted) final;
    result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank, const frame& f) final;
    result<void> submit_all(std::size_t first, std::vector<tensor> submitted);

    std::vector<std::size_t> packed_, dense_; // numbers of the tensors with a form and without
    std::optional<reduction_rounds> rounds_;  // of the dense tensors
};

} // namespace troupe
