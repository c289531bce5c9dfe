#include "kernels/graph/child_layers.hpp"

#include <algorithm>

#include "schemas/base/limits.hpp"

namespace troupe {

std::vector<child_layers> children_of(proto::Layer::Reader layer) {
    switch (layer.which()) {
    case proto::Layer::RESIDUAL: {
        const auto block = layer.getResidual();
        return {{block.getLayers(), "layers", "residual.layers"},
                {block.getShortcut(), "shortcut", "residual.shortcut"}};
    }
    case proto::Layer::CONCAT: {
        std::vector<child_layers> children;
        const auto branches = layer.getConcat().getBranches();
        for (unsigned b = 0; b < std::min<std::size_t>(branches.size(), limits::layers_max); ++b) {
            const std::string number = std::to_string(b);
            children.push_back({branches[b].getLayers(), "branches." + number + ".layers",
                                "concat.branches[" + number + "].layers"});
        }
        return children;
    }
    case proto::Layer::ENCODER_DECODER: {
        const auto block = layer.getEncoderDecoder();
        return {{block.getEncoder(), "encoder", "encoder_decoder.encoder"},
                {block.getDecoder(), "decoder", "encoder_decoder.decoder"}};
    }
    case proto::Layer::REPEAT:
        return {{layer.getRepeat().getLayers(), "", "repeat.layers"}};
    case proto::Layer::RECOMPUTE:
        return {{layer.getRecompute().getLayers(), "layers", "recompute.layers"}};
    default:
        return {};
    }
}

} // namespace troupe
