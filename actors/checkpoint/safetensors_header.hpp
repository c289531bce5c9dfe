// The JSON of a safetensors file. Internal to safetensors.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "actors/checkpoint/safetensors.hpp"

namespace troupe {

// One tensor as the JSON gives it: of the right structure, its values unchecked.
struct header_entry {
    std::string name;
    std::string type; // "F32"
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

struct parsed_header {
    std::vector<header_entry> entries;
    tensor_metadata metadata;
};

// Refuses everything but the format's structure: other keys, other kinds, repeated names, deeper nesting. The error's
// message has no file name yet.
result<parsed_header> parse_header(std::string_view json);

std::string header_json(std::span<const named_tensor> tensors, const tensor_metadata& metadata,
                        std::span<const named_count> counts);

} // namespace troupe
