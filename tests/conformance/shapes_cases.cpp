#include <string>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

// concat, with split on the way back. Images are in channel block `block` on both sides.
struct concat_case final : operation_case {
    tensor_shape whole;
    std::size_t axis;
    std::vector<std::size_t> sizes; // of the parts along the axis
    std::size_t block;

    concat_case(tensor_shape whole, std::size_t axis, std::vector<std::size_t> sizes,
                std::size_t block = 1)
        : whole{whole}, axis{axis}, sizes{std::move(sizes)}, block{block} {}

    std::string name() const override {
        return "concat to " + by(whole) + " along " + std::to_string(axis) + " from " +
               std::to_string(sizes.size()) + (block > 1 ? ", block " + std::to_string(block) : "");
    }
    std::vector<tensor_shape> input_shapes() const override {
        std::vector<tensor_shape> shapes;
        for (const std::size_t size : sizes) {
            std::vector<std::size_t> shape{whole.dimensions().begin(), whole.dimensions().end()};
            shape[axis] = size;
            shapes.push_back(tensor_shape{shape});
        }
        return shapes;
    }
    tensor_shape output_shape() const override { return whole; }
    double forward_flops() const override { return count(whole); }
    double backward_flops() const override { return count(whole); }
    double forward_bytes() const override { return 8 * count(whole); }
    double backward_bytes() const override { return 8 * count(whole); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            std::vector<tensor> inputs, gradients;
            tensor output, output_gradient;
        };
        auto s = std::make_shared<state>();
        for (const auto& input : inputs) {
            s->inputs.push_back(in_block(context, input, 1, block));
            s->gradients.push_back(poisoned(context, input.shape()));
        }
        s->output = poisoned(context, whole);
        s->output_gradient = in_block(context, output_gradient, 1, block);
        const std::size_t axis = this->axis, block = this->block;
        return {[=, &context] {
                    return context.ops.run(concat{axis, block, s->inputs, s->output});
                },
                [=, &context] {
                    return context.ops.run(split{axis, block, s->output_gradient, s->gradients});
                },
                [=, &context] { return std::vector{in_block(context, s->output, block, 1)}; },
                [=, &context] {
                    std::vector<tensor> plain;
                    for (const auto& gradient : s->gradients)
                        plain.push_back(in_block(context, gradient, block, 1));
                    return plain;
                }};
    }
};

// There and back.
struct transfer_case final : operation_case {
    tensor_shape shape;

    explicit transfer_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "transfer " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return 0; }
    double backward_flops() const override { return count(shape); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor output, gradient;
        };
        auto s = std::make_shared<state>();
        s->output = poisoned(context, shape);
        s->gradient = poisoned(context, shape);
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(transfer{inputs[0], s->output});
                },
                [=, &ops] {
                    return ops.run(transfer{output_gradient, s->gradient});
                },
                [=] { return std::vector{s->output}; }, [=] { return std::vector{s->gradient}; }};
    }
};

} // namespace

void add_shapes_cases(cases& to) {
    using sizes = std::vector<std::size_t>;
    add<concat_case>(to, tensor_shape{3}, 0u, sizes{1, 2});
    add<concat_case>(to, tensor_shape{4, 7, 5}, 1u, sizes{2, 1, 4});
    add<concat_case>(to, tensor_shape{4, 7, 5}, 2u, sizes{5});
    for (const std::size_t axis : {0, 2, 3})
        for (const std::size_t block : {1, 8})
            add<concat_case>(to, tensor_shape{6, 16, 6, 6}, axis, sizes{2, 3, 1}, block);
    add<concat_case>(to, tensor_shape{2, 40, 3, 5}, 1u, sizes{8, 32}, std::size_t{8});
    add<transfer_case>(to, tensor_shape{3, 5});
}

void add_timed_shapes_cases(cases& to, std::size_t batch) {
    add<concat_case>(to, tensor_shape{batch, 64, 28, 28}, 1u, std::vector<std::size_t>{32, 32},
                     std::size_t{16});
    add<concat_case>(to, tensor_shape{8, 256, 960}, 2u, std::vector<std::size_t>{320, 320, 320});
}

} // namespace troupe::test
