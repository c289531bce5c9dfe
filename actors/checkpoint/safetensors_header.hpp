// The JSON of a safetensors file. Internal to safetensors.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "actors/checkpoint/safetensors.hpp"

namespace troupe {

// One tensor's entry in the JSON; the structure is checked, the values are not.
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

// Refuses everything outside the format's structure: unknown keys, wrong types, repeated names, deeper nesting. The error's
// message does not have the file's name yet.
result<parsed_header> parse_header(std::string_view text);

std::string header_json(std::span<const named_tensor> tensors, const tensor_metadata& metadata,
                        std::span<const named_count> counts);

} // namespace troupe
