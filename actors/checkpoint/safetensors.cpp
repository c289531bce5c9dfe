#include "actors/checkpoint/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "actors/checkpoint/safetensors_header.hpp"
#include "schemas/base/foreign_file.hpp"
#include "schemas/base/half_number.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

static_assert(std::endian::native == std::endian::little,
              "the elements in a file are little-endian");

namespace {

constexpr std::size_t length_bytes = 8;

error bad_file(std::string sentence) {
    return {errc::data, "not a usable safetensors file: " + std::move(sentence)};
}

std::string named(const std::string& name) {
    return "tensor \"" + printable(name, limits::name_bytes_max) + "\"";
}

// An element type in files.
struct stored_type {
    std::string_view name;
    std::size_t bytes;
    data_type as;                                     // type in memory
    float (*widen)(std::uint16_t) noexcept = nullptr; // for 16-bit types: conversion to float32
};
constexpr stored_type stored_types[] = {{"F32", 4, data_type::float32},
                                        {"U8", 1, data_type::uint8},
                                        {"I32", 4, data_type::int32},
                                        {"F64", 8, data_type::float64},
                                        {"I64", 8, data_type::int64},
                                        {"F16", 2, data_type::float32, from_half},
                                        {"BF16", 2, data_type::float32, from_bfloat}};
constexpr std::size_t count_bytes = 8;

bool is_count(const header_entry& entry) {
    return entry.type == "I64" && entry.shape.empty() &&
           entry.name.ends_with("num_batches_tracked");
}

// The bytes of an entry with elements of this size, if its shape needs exactly the bytes that its offsets give.
result<std::span<const std::byte>> checked_bytes(const header_entry& entry, std::size_t of_element,
                                                 std::span<const std::byte> elements) {
    if (entry.shape.size() > limits::tensor_rank_max)
        return bad_file(named(entry.name) + " has more than " +
                        std::to_string(limits::tensor_rank_max) + " dimensions");
    if (entry.begin > entry.end || entry.end > elements.size())
        return bad_file(named(entry.name) + " lies outside the file");
    // A dimension of 0 empties the tensor however large the others are.
    std::uint64_t bytes = std::ranges::find(entry.shape, 0u) == entry.shape.end() ? of_element : 0;
    for (const std::uint64_t dimension : entry.shape) {
        if (bytes != 0 && dimension > elements.size() / bytes)
            return bad_file(named(entry.name) + " is larger than the file");
        bytes *= dimension;
    }
    if (bytes != entry.end - entry.begin)
        return bad_file(named(entry.name) + " needs " + std::to_string(bytes) + " bytes, but has " +
                        std::to_string(entry.end - entry.begin));
    return elements.subspan(entry.begin, bytes);
}

std::vector<float> widened(std::span<const std::byte> bytes,
                           float (*widen)(std::uint16_t) noexcept) {
    std::vector<float> wide(bytes.size() / sizeof(std::uint16_t));
    for (std::size_t i = 0; i < wide.size(); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
        wide[i] = widen(bits);
    }
    return wide;
}

// Adds the tensor that an entry describes.
result<void> add_tensor(const header_entry& entry, std::span<const std::byte> elements,
                        safetensors_view& view) {
    if (is_count(entry)) {
        auto bytes = checked_bytes(entry, count_bytes, elements);
        return bytes ? result<void>{} : bytes.failure();
    }
    const auto* type = std::ranges::find(stored_types, entry.type, &stored_type::name);
    if (type == std::end(stored_types))
        return bad_file(
            named(entry.name) + " has elements of type " + printable(entry.type, 16) +
            "; F64, F32, F16, BF16, I64, I32 and U8 can be read: convert it first, in PyTorch "
            "by tensor.float()");
    auto bytes = checked_bytes(entry, type->bytes, elements);
    if (!bytes)
        return bytes.failure();
    if (type->widen != nullptr) {
        view.widened.push_back(
            std::make_shared<const std::vector<float>>(widened(*bytes, type->widen)));
        bytes = std::as_bytes(std::span{*view.widened.back()});
    }
    const std::vector<std::size_t> dimensions{entry.shape.begin(), entry.shape.end()};
    view.tensors.push_back({entry.name, type->as, tensor_shape{std::span{dimensions}}, *bytes});
    return {};
}

template <class Number>
bool all_finite(std::span<const std::byte> bytes) noexcept {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
        Number value = 0; // copied, as a file's bytes may be unaligned
        std::memcpy(&value, bytes.data() + at, sizeof value);
        if (!std::isfinite(value))
            return false;
    }
    return true;
}

} // namespace

std::string safetensors_header(std::span<const named_tensor> tensors,
                               const tensor_metadata& metadata,
                               std::span<const named_count> counts) {
    std::string json = header_json(tensors, metadata, counts);
    json.resize((json.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
    const std::uint64_t length = json.size();
    std::string header(length_bytes, '\0');
    std::memcpy(header.data(), &length, length_bytes);
    return header + json;
}

result<safetensors_view> parse_safetensors(std::span<const std::byte> file) {
    if (file.size() < length_bytes)
        return bad_file("shorter than its header");
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), length_bytes);
    // No header is as long as these bytes say.
    if (std::memcmp(file.data(), "PK", 2) == 0)
        return bad_file("a zip archive, which is what torch.save writes; write the weights with "
                        "safetensors.torch.save_file");
    const std::string_view beginning{reinterpret_cast<const char*>(file.data()),
                                     std::min(file.size(), foreign_beginning_bytes)};
    if (const std::string why = why_foreign(beginning);
        length > limits::checkpoint_header_bytes_max && !why.empty())
        return bad_file(why);
    if (length > limits::checkpoint_header_bytes_max)
        return bad_file("a header of more than " +
                        std::to_string(limits::checkpoint_header_bytes_max) + " bytes");
    if (length > file.size() - length_bytes)
        return bad_file("shorter than its header");
    const auto elements = file.subspan(length_bytes + length);
    auto header = parse_header({reinterpret_cast<const char*>(file.data()) + length_bytes, length});
    if (!header)
        return bad_file(header.failure().message());

    safetensors_view view;
    view.metadata = std::move(header->metadata);
    std::ranges::sort(header->entries, {}, [](const header_entry& e) {
        return std::pair{e.begin, e.end};
    });
    std::uint64_t next = 0; // first byte that belongs to no tensor yet
    for (const header_entry& entry : header->entries) {
        if (entry.begin != next)
            return bad_file(named(entry.name) + (entry.begin < next ? " overlaps another"
                                                                    : " leaves a hole before it"));
        if (auto added = add_tensor(entry, elements, view); !added)
            return added.failure();
        next = entry.end;
    }
    if (next != elements.size())
        return bad_file(std::to_string(elements.size() - next) +
                        " bytes at the end belong to no tensor");
    return view;
}

const named_tensor* first_not_finite(std::span<const named_tensor> tensors) noexcept {
    const auto is_finite = [](const named_tensor& t) {
        if (t.type == data_type::float32)
            return all_finite<float>(t.bytes);
        return t.type != data_type::float64 || all_finite<double>(t.bytes);
    };
    const auto found = std::ranges::find_if_not(tensors, is_finite);
    return found == tensors.end() ? nullptr : &*found;
}

const named_tensor* safetensors_file::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(view.tensors, name, &named_tensor::name);
    return found == view.tensors.end() ? nullptr : &*found;
}

result<safetensors_file> adopt_safetensors(std::vector<std::byte> bytes, const std::string& file) {
    auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    auto view = parse_safetensors(*shared);
    if (!view)
        return view.failure().in(file);
    return safetensors_file{std::move(shared), std::move(*view)};
}

} // namespace troupe
