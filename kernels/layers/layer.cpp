#include "kernels/layers/layer.hpp"

#include "kernels/layers/kinds.hpp"

namespace troupe {

result<activation> in_block(compute_context& context, activation from, std::size_t block) {
    if (from.block == block)
        return from;
    auto moved = tensor::allocate(context.memory, data_type::float32, from.values.shape());
    if (!moved)
        return moved.failure();
    if (auto done = context.ops.run(change_block{from.values, from.block, *moved, block}); !done)
        return done.failure();
    return activation{std::move(*moved), block};
}

result<layer::gradients> layer::allocate_gradients(compute_context& context,
                                                   const backward_pass& pass) {
    gradients made;
    if (pass.want_input_gradient) {
        auto to_input =
            tensor::allocate(context.memory, data_type::float32, pass.saved.tensors[0].shape());
        if (!to_input)
            return to_input.failure();
        made.input.values = std::move(*to_input);
    }
    for (const tensor& parameter : pass.parameters) {
        auto gradient = tensor::allocate(context.memory, data_type::float32, parameter.shape());
        if (!gradient)
            return gradient.failure();
        made.parameters.push_back(std::move(*gradient));
    }
    return made;
}

std::string_view layer_kind(proto::Layer::Reader description) noexcept {
    switch (description.which()) {
    case proto::Layer::CONV2D:
        return "conv2d";
    case proto::Layer::RELU:
        return "relu";
    case proto::Layer::MAX_POOL:
        return "max_pool";
    case proto::Layer::LINEAR:
        return "linear";
    }
    return "unknown";
}

result<std::shared_ptr<const layer>> make_layer(proto::Layer::Reader description,
                                                const tensor_shape& input_shape) {
    switch (description.which()) {
    case proto::Layer::CONV2D:
        return make_conv2d(description.getConv2d(), input_shape);
    case proto::Layer::RELU:
        return make_relu(input_shape);
    case proto::Layer::MAX_POOL:
        return make_max_pool(description.getMaxPool(), input_shape);
    case proto::Layer::LINEAR:
        return make_linear(description.getLinear(), input_shape);
    }
    return error{errc::usage, "is a kind of layer that this build does not know"};
}

} // namespace troupe
