// Tensors that one stage sends another with rounded numbers: each float32 tensor is sent as a payload of a number form,
// tokens unchanged.
//
// The sender computes on with its own unrounded numbers, the receiver with the decoded ones, also if they are colocated: so
// no result depends on the placement. A pure value; payloads come from the network.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/codec/number_form.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe {

class crossing_numbers {
  public:
    // `form` is not null. `values`: type and shape of one sample's tensors, in the order in which they are sent.
    crossing_numbers(number_form_ptr form, std::vector<value_form> values)
        : form_{std::move(form)}, values_{std::move(values)} {}

    // Activations between two stages, and the gradients sent back for them.
    static crossing_numbers activations(number_form_ptr form, std::span<const graph_value> values);
    static crossing_numbers gradients(number_form_ptr form, std::span<const graph_value> values);

    // Checks that these tensors can stand for `samples` samples. errc::protocol; errc::numeric for numbers that the form
    // cannot represent.
    result<void> check(std::span<const tensor> sent, std::size_t samples) const;
    // Device work: replaces the tensors that check() has passed by their decoded values.
    result<void> decode(compute_context& context, std::span<tensor> sent,
                        std::size_t samples) const;
    std::uint64_t bytes(std::size_t samples) const;

  private:
    number_form_ptr form_;
    std::vector<value_form> values_;
};

// Device work: moves tensors of another stage to the memory of the device, and decodes them by `as`; null: not encoded.
result<void> receive_tensors(compute_context& context, const crossing_numbers* as,
                             std::span<tensor> sent, std::size_t samples);

} // namespace troupe
