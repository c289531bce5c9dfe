#include "actors/pipeline/shape/crossing_numbers.hpp"

#include <string>

namespace troupe {

crossing_numbers crossing_numbers::activations(number_form_ptr form,
                                               std::span<const graph_value> values) {
    std::vector<value_form> all;
    for (const graph_value& value : values)
        all.push_back(value.info);
    return {std::move(form), std::move(all)};
}

crossing_numbers crossing_numbers::gradients(number_form_ptr form,
                                             std::span<const graph_value> values) {
    std::vector<value_form> trained;
    for (const graph_value& value : values)
        if (value.trained)
            trained.push_back(value.info);
    return {std::move(form), std::move(trained)};
}

result<void> crossing_numbers::check(std::span<const tensor> sent, std::size_t samples) const {
    if (sent.size() != values_.size())
        return error{errc::protocol, std::to_string(sent.size()) + " tensors instead of " +
                                         std::to_string(values_.size())};
    for (std::size_t i = 0; i < sent.size(); ++i) {
        const tensor_shape shape = batch_of(samples, values_[i].shape);
        if (values_[i].type == data_type::float32) {
            if (auto fits = form_->check(shape, sent[i]); !fits)
                return fits;
        } else if (!sent[i] || sent[i].type() != values_[i].type || sent[i].shape() != shape) {
            return error{errc::protocol, std::string{to_string(sent[i].type())} +
                                             to_string(sent[i].shape()) + " instead of " +
                                             std::string{to_string(values_[i].type)} +
                                             to_string(shape)};
        }
    }
    return {};
}

result<void> crossing_numbers::decode(compute_context& context, std::span<tensor> sent,
                                      std::size_t samples) const {
    for (std::size_t i = 0; i < sent.size(); ++i) {
        if (values_[i].type != data_type::float32)
            continue;
        auto values = decoded(context, *form_, batch_of(samples, values_[i].shape), sent[i]);
        if (!values)
            return values.failure().in("what another stage sent");
        sent[i] = std::move(*values);
    }
    return {};
}

std::uint64_t crossing_numbers::bytes(std::size_t samples) const {
    std::uint64_t sum = 0;
    for (const value_form& value : values_)
        sum += value.type == data_type::float32
                   ? form_->payload_bytes(batch_of(samples, value.shape))
                   : samples * bytes_of(value);
    return sum;
}

result<void> receive_tensors(compute_context& context, const crossing_numbers* as,
                             std::span<tensor> sent, std::size_t samples) {
    auto in = copy_to_device(context, sent);
    return in && as != nullptr ? as->decode(context, sent, samples) : in;
}

} // namespace troupe
