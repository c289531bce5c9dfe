#include "kernels/ops/sequences.hpp"

#include <string>
#include <vector>

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

// The shape of what embedding_forward makes of `indices`.
tensor_shape embedded(const tensor_shape& indices, std::size_t width) {
    std::vector<std::size_t> dimensions{indices.dimensions().begin(), indices.dimensions().end()};
    dimensions.push_back(width);
    return tensor_shape{dimensions};
}

// "sample 3, position 5": where index `i` stands.
std::string place(const tensor_shape& indices, std::size_t i) {
    if (indices.rank() < 2)
        return "row " + std::to_string(i) + " of the batch";
    const std::size_t row = indices.without_first().elements();
    return "position " + std::to_string(i % row) + " of sample " + std::to_string(i / row) +
           " of the batch";
}

} // namespace

error bad_index(const tensor_shape& indices, std::size_t i, std::int32_t index,
                std::size_t vocabulary) {
    return {errc::data, "the index at " + place(indices, i) + " is " + std::to_string(index) +
                            ", but the vocabulary has " + std::to_string(vocabulary) + " entries"};
}

error bad_key_length(std::size_t sample, std::int32_t length, std::size_t keys) {
    return {errc::data, "the length of sample " + std::to_string(sample) + " of the batch is " +
                            std::to_string(length) + ", but samples have 1 to " +
                            std::to_string(keys) + " positions"};
}

namespace {

result<void> check_embedding(std::string_view name, const tensor& indices, const tensor& table,
                             const tensor& output) {
    operand_check check{name};
    check.rank("table", table, 2)
        .require(indices.shape().rank() < limits::tensor_rank_max,
                 "the indices have no room for a dimension more");
    if (!check.ok())
        return check.outcome();
    check.is("indices", indices, indices.shape(), data_type::int32)
        .is("table", table, table.shape())
        .is("output", output, embedded(indices.shape(), table.shape()[1]));
    if (!check.ok())
        return check.outcome();
    if (!indices.is_host()) // their back end looks at them
        return {};
    const auto rows = indices.values<std::int32_t>();
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] < 0 || static_cast<std::size_t>(rows[i]) >= table.shape()[0])
            return bad_index(indices.shape(), i, rows[i], table.shape()[0]);
    return {};
}

template <class Columns>
void check_columns(operand_check& check, std::string_view name, const Columns& c,
                   std::size_t samples, std::size_t positions, std::size_t width) {
    check.rank(name, c.of, 3);
    if (!check.ok())
        return;
    const std::size_t all = c.of.shape()[2];
    check.is(name, c.of, {samples, positions, all})
        .require(c.first <= all && width <= all - c.first,
                 std::string{name} + " have fewer columns than the output");
}

// Checks that forward and backward have in common; `output` gives the shape.
template <class Attention>
operand_check check_attention(std::string_view name, const Attention& a) {
    operand_check check{name};
    check.rank("output", a.output, 3).rank("keys", a.keys.of, 3);
    if (!check.ok())
        return check;
    const auto& shape = a.output.shape();
    const std::size_t keys = a.keys.of.shape()[1];
    const std::size_t heads = a.settings.heads;
    check.is("output", a.output, shape)
        .is("log_sums", a.log_sums, {shape[0], heads, shape[1]})
        .require(heads > 0 && shape[2] % heads == 0, "the heads do not divide the width")
        .require(!a.settings.causal || keys == shape[1],
                 "causal attention has as many queries as keys")
        .require(a.output.elements() > 0 && keys > 0, "an operand has no elements");
    check_columns(check, "queries", a.queries, shape[0], shape[1], shape[2]);
    check_columns(check, "keys", a.keys, shape[0], keys, shape[2]);
    check_columns(check, "values", a.values, shape[0], keys, shape[2]);
    if (a.key_lengths != nullptr)
        check.is("key_lengths", *a.key_lengths, {shape[0]}, data_type::int32);
    return check;
}

result<void> check_lengths(const tensor* key_lengths, std::size_t keys) {
    if (key_lengths == nullptr || !key_lengths->is_host()) // its back end looks at them
        return {};
    const auto lengths = key_lengths->values<std::int32_t>();
    for (std::size_t s = 0; s < lengths.size(); ++s)
        if (lengths[s] < 1 || static_cast<std::size_t>(lengths[s]) > keys)
            return bad_key_length(s, lengths[s], keys);
    return {};
}

} // namespace

result<void> embedding_forward::check() const {
    return check_embedding("embedding_forward", indices, table, output);
}

result<void> embedding_backward::check() const {
    return check_embedding("embedding_backward", indices, table_gradient, output_gradient);
}

result<void> add_to_samples::check() const {
    operand_check check{"add_to_samples"};
    check.require(input.shape().rank() > 0, "the input has no samples");
    if (check.ok())
        check.is("input", input, input.shape())
            .is("addend", addend, input.shape().without_first())
            .is("output", output, input.shape());
    return check.outcome();
}

result<void> sum_of_samples::check() const {
    operand_check check{"sum_of_samples"};
    check.require(input.shape().rank() > 0, "the input has no samples");
    if (check.ok())
        check.is("input", input, input.shape()).is("sum", sum, input.shape().without_first());
    return check.outcome();
}

result<void> sequence_lengths::check() const {
    operand_check check{"sequence_lengths"};
    check.rank("tokens", tokens, 2);
    if (check.ok())
        check.is("tokens", tokens, tokens.shape(), data_type::int32)
            .is("lengths", lengths, {tokens.shape()[0]}, data_type::int32)
            .require(tokens.elements() > 0, "there are no tokens");
    return check.outcome();
}

result<void> softmax_forward::check() const {
    return operand_check{"softmax_forward"}
        .require(input.shape().rank() > 0 && input.elements() > 0, "the input has no elements")
        .is("input", input, input.shape())
        .is("output", output, input.shape())
        .outcome();
}

result<void> softmax_backward::check() const {
    return operand_check{"softmax_backward"}
        .require(output.shape().rank() > 0 && output.elements() > 0, "the output has no elements")
        .is("output", output, output.shape())
        .is("output_gradient", output_gradient, output.shape())
        .is("input_gradient", input_gradient, output.shape())
        .outcome();
}

result<void> attention_forward::check() const {
    const auto check = check_attention("attention_forward", *this);
    return check.ok() ? check_lengths(key_lengths, keys.of.shape()[1]) : check.outcome();
}

result<void> attention_backward::check() const {
    auto check = check_attention("attention_backward", *this);
    if (!check.ok())
        return check.outcome();
    const auto& shape = output.shape();
    const std::size_t key_positions = keys.of.shape()[1];
    check.is("output_gradient", output_gradient, shape);
    check_columns(check, "query_gradient", query_gradient, shape[0], shape[1], shape[2]);
    check_columns(check, "key_gradient", key_gradient, shape[0], key_positions, shape[2]);
    check_columns(check, "value_gradient", value_gradient, shape[0], key_positions, shape[2]);
    return check.ok() ? check_lengths(key_lengths, key_positions) : check.outcome();
}

} // namespace troupe
