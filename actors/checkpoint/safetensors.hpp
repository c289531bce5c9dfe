// safetensors files: named tensors without code, readable by every framework.
//
// Format: 8 bytes N, little-endian; N bytes of JSON, {"NAME": {"dtype": "F32", "shape": [2, 3],
// "data_offsets": [begin, end]}, "__metadata__": {"KEY": "VALUE"}}, padded with spaces; then the
// elements, little-endian, row-major, packed: offsets count from after the JSON, and every byte
// belongs to exactly one tensor. Source: https://github.com/huggingface/safetensors, README
// "Format".
//
// The reader trusts nothing: header size, JSON structure, names, types, shapes against offsets, overlaps and holes are
// checked before anything is used. It reads files that PyTorch writes: F16 and BF16 are widened exactly to float32, and the
// counts of PyTorch's batch norms, I64 scalars whose names end with "num_batches_tracked", are skipped, as nothing here
// depends on them. Types without a data_type are refused.
// Errors: errc::data, without the name of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor/tensor.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// A tensor as bytes. Its maker determines how long `bytes` is valid.
struct named_tensor {
    std::string name;
    data_type type = data_type::float32;
    tensor_shape shape;
    std::span<const std::byte> bytes; // shape.elements() * size_of(type), row-major
};

// The first tensor with a number that is not finite; nullptr if there is none.
const named_tensor* first_not_finite(std::span<const named_tensor> tensors) noexcept;

using tensor_metadata = std::map<std::string, std::string>;

// An I64 scalar stored with the tensors; PyTorch expects one for each of its batch norms.
struct named_count {
    std::string name; // "layers.1.num_batches_tracked"
    std::int64_t value = 0;
};

// The bytes before the elements: length and JSON, padded to a multiple of 8 bytes. The values of `counts` follow, then the
// elements of `tensors`, in order. Names must be unique and not "__metadata__".
std::string safetensors_header(std::span<const named_tensor> tensors,
                               const tensor_metadata& metadata,
                               std::span<const named_count> counts = {});

// The tensors of a file in memory, in the order of their elements. They point into `file` or, for 16-bit numbers, into
// `widened`.
struct safetensors_view {
    std::vector<named_tensor> tensors;
    tensor_metadata metadata;
    std::vector<std::shared_ptr<const std::vector<float>>> widened;
};
result<safetensors_view> parse_safetensors(std::span<const std::byte> file);

// A whole file in memory with its tensors. Immutable; copies share the bytes.
struct safetensors_file {
    std::shared_ptr<const std::vector<std::byte>> bytes;
    safetensors_view view;

    const named_tensor* find(std::string_view name) const noexcept; // nullptr if there is none
};
// Parses a file's bytes and takes ownership of them. `file`: its path, which errors begin with.
result<safetensors_file> adopt_safetensors(std::vector<std::byte> bytes, const std::string& file);

} // namespace troupe
