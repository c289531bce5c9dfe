// One rank of an all-reduce of payloads that the stage makes: what both ways to sum them have in common. Payloads go out as
// the stage gives them, the last tensors first, so that most are on their way while the backward pass runs. Tensors without
// a form are summed beside them as a reducer does, in the first slices.
//
// A payload's number counts the tensors that have a form.
#pragma once

#include "actors/collective/compressed_reducer.hpp"
#include "actors/collective/reduction_rounds.hpp"

namespace troupe {

// What is to be summed of one tensor, or of a block of it.
struct payloads_to_sum {
    tensor_shape shape;
    payload_form_ptr form;
    std::vector<tensor> payloads; // of the ranks that have some, in their order

    // Times the factor.
    result<tensor> sum(compute_context& context, float factor) const;
};

// What has come of a rank's payloads, which come from the last to the first.
class payload_arrivals {
  public:
    explicit payload_arrivals(std::size_t count) : payloads_(count), from_{count} {}

    // Payloads first, first + 1, ..., which are those due. errc::protocol.
    result<void> take(std::size_t first, std::span<const tensor> payloads);
    result<void> take_zeros();                          // instead of any
    std::size_t from() const noexcept { return from_; } // what is here begins with this number
    bool has_zeros() const noexcept { return has_zeros_; }
    tensor let_go(std::size_t number) { return std::exchange(payloads_[number], {}); }

  private:
    std::vector<tensor> payloads_;
    std::size_t from_;
    bool has_zeros_ = false;
};

// A chunk that fits nothing: errc::protocol.
error not_due();

class payload_reducer : public compressed_reducer {
  protected:
    // At least one tensor has a form.
    payload_reducer(actor_context& context, compressed_options options);

    void joined() override;
    // A reduction begins; the rank's own payloads from a number on, or zeros, come after it.
    virtual void begin() = 0;
    virtual result<void> give(std::size_t first, std::span<const tensor> payloads) = 0;
    virtual result<void> give_zeros() = 0;
    // A chunk that is none of the tensors without a form; payload `first` of those that the sender counts is the first.
    virtual result<void> arrive_payloads(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                         std::size_t first, std::span<const tensor> payloads) = 0;
    // What can be done now. Called after all of the above, of a reduction under way, while the device does nothing for it.
    virtual void go_on() = 0;

    void step(); // go_on(), where it may be called
    // Numbers of the tensors that have a form.
    const std::vector<std::size_t>& packed() const noexcept { return packed_; }
    void send_payloads(std::uint32_t to, std::uint32_t round, std::size_t first,
                       std::span<const tensor> payloads);
    bool is_rest_done() const { return rounds_->is_done(); } // what has no form
    // With the sums of what has a form; ends the reduction.
    void finish_all(std::vector<tensor> sums);

  private:
    void take(std::size_t first, std::vector<tensor> given) final;
    result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank, const frame& f) final;
    result<void> give_all(std::size_t first, std::vector<tensor> given);

    std::vector<std::size_t> packed_, dense_; // numbers of tensors, with a form and without
    std::optional<reduction_rounds> rounds_;  // of the dense ones
};

} // namespace troupe
