// What the families of cases share, and where each adds its own.
#pragma once

#include <string>

#include "tests/conformance/operations_cases.hpp"

namespace troupe::test {

using cases = std::vector<std::unique_ptr<operation_case>>;

template <class Case, class... Arguments>
void add(cases& to, Arguments... arguments) {
    to.push_back(std::make_unique<Case>(arguments...));
}

// Memory full of NaN.
tensor poisoned(compute_context& context, const tensor_shape& shape,
                data_type type = data_type::float32);

// The same images in another channel block.
tensor in_block(compute_context& context, const tensor& from, std::size_t from_block,
                std::size_t block);

double count(const tensor_shape& shape);
std::string by(const tensor_shape& shape); // "3x5x7"
std::string suffix_of(precision products); // "", ", bf16", ", f16"

// For operations that round what they have computed themselves: between two neighbours back ends may take either.
constexpr float tolerance_of_steps(precision products) {
    return products == precision::float32 ? 2e-5f : 3e-4f;
}

void add_linear_cases(cases& to);
void add_timed_linear_cases(cases& to, std::size_t batch);
void add_images_cases(cases& to);
void add_timed_images_cases(cases& to, std::size_t batch);
void add_elementwise_cases(cases& to);
void add_timed_elementwise_cases(cases& to, std::size_t batch);
void add_image_norms_cases(cases& to);
void add_timed_image_norms_cases(cases& to, std::size_t batch);
void add_norms_cases(cases& to);
void add_timed_norms_cases(cases& to, std::size_t batch);
void add_losses_cases(cases& to);
void add_timed_losses_cases(cases& to, std::size_t batch);
void add_additive_attention_cases(cases& to);
void add_timed_additive_attention_cases(cases& to, std::size_t batch);
void add_recurrent_cases(cases& to);
void add_timed_recurrent_cases(cases& to, std::size_t batch);
void add_sequences_cases(cases& to);
void add_timed_sequences_cases(cases& to, std::size_t batch);
void add_attention_cases(cases& to);
void add_timed_attention_cases(cases& to);
void add_shapes_cases(cases& to);
void add_timed_shapes_cases(cases& to, std::size_t batch);
void add_codecs_cases(cases& to);
void add_timed_codecs_cases(cases& to, std::size_t batch);
void add_tours_cases(cases& to);
void add_updates_cases(cases& to);
void add_timed_updates_cases(cases& to, std::size_t batch);

} // namespace troupe::test
