#include "actors/peers/rows.hpp"

#include "kernels/ops/ops.hpp"

namespace troupe {

std::size_t elements_in(std::span<const tensor_shape> shapes) noexcept {
    std::size_t elements = 0;
    for (const tensor_shape& shape : shapes)
        elements += shape.elements();
    return elements;
}

result<tensor> flattened(compute_context& context, std::span<const tensor> parts) {
    std::vector<tensor> rows;
    std::size_t elements = 0;
    for (const tensor& t : parts) {
        rows.push_back(t.reshaped({t.elements()}));
        elements += t.elements();
    }
    auto row = tensor::allocate(context.memory, data_type::float32, {elements});
    if (!row)
        return row.failure();
    if (auto moved = context.ops.run(concat{.axis = 0, .inputs = rows, .output = *row}); !moved)
        return moved.failure();
    return row;
}

std::vector<tensor> in_shapes(const tensor& row, std::span<const tensor_shape> shapes) {
    std::vector<tensor> parts;
    std::size_t first = 0;
    for (const tensor_shape& shape : shapes) {
        parts.push_back(row.rows(first, shape.elements()).reshaped(shape));
        first += shape.elements();
    }
    return parts;
}

result<tensor> sum_of(compute_context& context, const tensor& x, float factor, const tensor& y) {
    auto sum = tensor::allocate(context.memory, data_type::float32, x.shape());
    if (!sum)
        return sum.failure();
    if (auto added = context.ops.run(add_scaled{x, factor, y, *sum}); !added)
        return added.failure();
    return sum;
}

} // namespace troupe
