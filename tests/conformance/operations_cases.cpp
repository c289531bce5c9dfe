#include "tests/conformance/operations_cases.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

tensor poisoned(compute_context& context, const tensor_shape& shape, data_type type) {
    tensor t = tensor::allocate(context.memory, type, shape).value();
    if (type == data_type::float32)
        std::ranges::fill(t.mutable_values<float>(), std::numeric_limits<float>::quiet_NaN());
    else
        std::fill_n(t.mutable_data(), t.bytes(), std::byte{0xff});
    return t;
}

tensor in_block(compute_context& context, const tensor& from, std::size_t from_block,
                std::size_t block) {
    if (from_block == block)
        return from;
    tensor to = poisoned(context, from.shape());
    TROUPE_CHECK(context.ops.run(change_block{from, from_block, to, block}).ok(),
                 "the shapes agree");
    return to;
}

double count(const tensor_shape& shape) {
    return static_cast<double>(shape.elements());
}

std::string by(const tensor_shape& shape) {
    std::string text;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
        text += (axis == 0 ? "" : "x") + std::to_string(shape[axis]);
    return text;
}

std::string suffix_of(precision products) {
    return products == precision::float32    ? ""
           : products == precision::bfloat16 ? ", bf16"
           : products == precision::float16  ? ", f16"
                                             : ", tf32";
}

cases operation_cases() {
    cases all;
    add_linear_cases(all);
    add_images_cases(all);
    add_elementwise_cases(all);
    add_image_norms_cases(all);
    add_norms_cases(all);
    add_losses_cases(all);
    add_recurrent_cases(all);
    add_sequences_cases(all);
    add_shapes_cases(all);
    add_additive_attention_cases(all);
    add_codecs_cases(all);
    add_updates_cases(all);
    add_tours_cases(all);
    if (const char* wanted = std::getenv("TROUPE_CASES"); wanted != nullptr)
        std::erase_if(all, [wanted = std::string{wanted}](const auto& row) {
            const std::string name = row->name();
            for (std::size_t at = 0; at <= wanted.size();) {
                const std::size_t end = std::min(wanted.find(';', at), wanted.size());
                if (name.starts_with(wanted.substr(at, end - at)))
                    return false;
                at = end + 1;
            }
            return true;
        });
    return all;
}

cases timed_cases(std::size_t batch) {
    cases all;
    add_timed_linear_cases(all, batch);
    add_timed_images_cases(all, batch);
    add_timed_elementwise_cases(all, batch);
    add_timed_image_norms_cases(all, batch);
    add_timed_norms_cases(all, batch);
    add_timed_losses_cases(all, batch);
    add_timed_recurrent_cases(all, batch);
    add_timed_sequences_cases(all, batch);
    add_timed_shapes_cases(all, batch);
    add_timed_additive_attention_cases(all, batch);
    add_timed_codecs_cases(all, batch);
    add_timed_updates_cases(all, batch);
    return all;
}

} // namespace troupe::test
