// What crosses from one stage to another where its numbers are rounded on their way: each float32 tensor is sent as the
// payload of a form, tokens as they are.
//
// The sender goes on with what it has computed, the receiver computes with what it decodes; stages on one device, too, so
// that no number depends on where they are. A pure value; payloads come from the network.
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
    // `form` is not null. `values`: of one sample, in the order in which they are sent.
    crossing_numbers(number_form_ptr form, std::vector<value_form> values)
        : form_{std::move(form)}, values_{std::move(values)} {}

    // Activations that cross, and the gradients that come back for them.
    static crossing_numbers activations(number_form_ptr form, std::span<const graph_value> values);
    static crossing_numbers gradients(number_form_ptr form, std::span<const graph_value> values);

    // Whether these can be so many samples. errc::protocol; errc::numeric for numbers that the form cannot tell.
    result<void> check(std::span<const tensor> sent, std::size_t samples) const;
    // Device work: the values in the place of what check() took.
    result<void> decode(compute_context& context, std::span<tensor> sent,
                        std::size_t samples) const;
    std::uint64_t bytes(std::size_t samples) const;

  private:
    number_form_ptr form_;
    std::vector<value_form> values_;
};

// Device work: what another stage sent, where the device computes, decoded if it is `as` this; null: it is as it is.
result<void> take_in(compute_context& context, const crossing_numbers* as, std::span<tensor> sent,
                     std::size_t samples);

} // namespace troupe
