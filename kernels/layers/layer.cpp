#include "kernels/layers/layer.hpp"

#include "kernels/layers/kinds.hpp"

namespace troupe {

result<activation> in_block(compute_context& context, activation from, std::size_t block) {
    if (from.block == block)
        return from;
    auto moved = tensor::allocate(context.memory, data_type::float32, from.values.shape());
    if (!moved)
        return moved.failure();
    if (auto done = context.ops.change_block(from.values, from.block, *moved, block); !done)
        return done.failure();
    return activation{std::move(*moved), block};
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
