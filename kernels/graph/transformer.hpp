// A block of a transformer as the layers that it stands for, in the order of GPT-2: Radford et al. 2019.
//
// Pure functions; thread-safe.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "schemas/app.capnp.h"

namespace troupe {

// A layer with the name that PyTorch's TransformerEncoderLayer gives it.
struct transformer_part {
    std::string_view name; // "self_attn"
    proto::Layer::Reader layer;
};

struct transformer_parts {
    std::shared_ptr<const void> message; // holds the layers' settings
    // Attention, then the linear layers: each half is a sequence of layers and, last, the sum with the half's input.
    std::array<std::vector<transformer_part>, 2> halves;
};
transformer_parts take_apart(proto::Transformer::Reader block, std::size_t width);

// The number of layers that it is.
std::size_t count_parts(proto::Transformer::Reader block);

} // namespace troupe
