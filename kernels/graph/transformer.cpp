#include "kernels/graph/transformer.hpp"

#include <capnp/message.h>

namespace troupe {

namespace {

void set_norm(proto::Layer::Builder layer, proto::TransformerNorm norm) {
    switch (norm) {
    case proto::TransformerNorm::LAYER_NORM:
        layer.initLayerNorm();
        break;
    case proto::TransformerNorm::RMS_NORM:
        layer.initRmsNorm();
        break;
    }
}

void set_activation(proto::Layer::Builder layer, proto::TransformerActivation activation) {
    switch (activation) {
    case proto::TransformerActivation::GELU:
        return layer.setGelu();
    case proto::TransformerActivation::GELU_TANH:
        return layer.setGeluTanh();
    case proto::TransformerActivation::RELU:
        return layer.setRelu();
    case proto::TransformerActivation::SILU:
        return layer.setSilu();
    }
}

bool has_dropout(proto::Transformer::Reader block) {
    return block.getDropout() > 0;
}

} // namespace

std::size_t count_parts(proto::Transformer::Reader block) {
    return has_dropout(block) ? 10 : 8;
}

transformer_parts take_apart(proto::Transformer::Reader block, std::size_t width) {
    const auto message = std::make_shared<capnp::MallocMessageBuilder>();
    auto layers =
        message->initRoot<proto::Residual>().initLayers(static_cast<unsigned>(count_parts(block)));
    transformer_parts parts{message, {}};
    unsigned used = 0;
    const auto next = [&](std::size_t half, std::string_view name) {
        parts.halves[half].push_back({name, layers[used]});
        return layers[used++];
    };
    const auto end = [&](std::size_t half, std::string_view dropout, std::string_view sum) {
        if (has_dropout(block))
            next(half, dropout).initDropout().setProbability(block.getDropout());
        next(half, sum).initResidual();
    };
    set_norm(next(0, "norm1"), block.getNorm());
    auto attention = next(0, "self_attn").initAttention();
    attention.setHeads(block.getHeads());
    attention.setCausal(block.getCausal());
    end(0, "dropout1", "residual1");
    set_norm(next(1, "norm2"), block.getNorm());
    const auto of_input = static_cast<std::uint32_t>(width);
    next(1, "linear1").initLinear().setOut(block.getMlp() > 0 ? block.getMlp() : 4 * of_input);
    set_activation(next(1, "activation"), block.getActivation());
    next(1, "linear2").initLinear().setOut(of_input);
    end(1, "dropout2", "residual2");
    return parts;
}

} // namespace troupe
