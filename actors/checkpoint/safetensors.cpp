#include "actors/checkpoint/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "actors/checkpoint/safetensors_header.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

static_assert(std::endian::native == std::endian::little,
              "the elements in a file are little-endian");

namespace {

constexpr std::size_t length_bytes = 8;

error bad(std::string sentence) {
    return {errc::data, "not a usable safetensors file: " + std::move(sentence)};
}

std::string named(const std::string& name) {
    std::string shown = "tensor \"" + name.substr(0, limits::name_bytes_max) + "\"";
    std::ranges::replace_if(
        shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    return shown;
}

std::optional<data_type> type_named(std::string_view name) {
    if (name == "F32")
        return data_type::float32;
    if (name == "U8")
        return data_type::uint8;
    if (name == "I32")
        return data_type::int32;
    return std::nullopt;
}

// The tensor that an entry describes, if its shape needs exactly the bytes that its offsets give.
result<named_tensor> checked_tensor(const header_entry& entry,
                                    std::span<const std::byte> elements) {
    const auto type = type_named(entry.type);
    if (!type)
        return bad(named(entry.name) + " has an element type other than F32, I32 and U8");
    if (entry.shape.size() > limits::tensor_rank_max)
        return bad(named(entry.name) + " has more than " + std::to_string(limits::tensor_rank_max) +
                   " dimensions");
    if (entry.begin > entry.end || entry.end > elements.size())
        return bad(named(entry.name) + " lies outside the file");
    // A dimension of 0 empties the tensor however large the others are.
    std::uint64_t bytes =
        std::ranges::find(entry.shape, 0u) == entry.shape.end() ? size_of(*type) : 0;
    for (const std::uint64_t dimension : entry.shape) {
        if (bytes != 0 && dimension > elements.size() / bytes)
            return bad(named(entry.name) + " is larger than the file");
        bytes *= dimension;
    }
    if (bytes != entry.end - entry.begin)
        return bad(named(entry.name) + " needs " + std::to_string(bytes) + " bytes, but has " +
                   std::to_string(entry.end - entry.begin));
    const std::vector<std::size_t> dimensions{entry.shape.begin(), entry.shape.end()};
    return named_tensor{entry.name, *type, tensor_shape{std::span{dimensions}},
                        elements.subspan(entry.begin, bytes)};
}

} // namespace

std::string safetensors_header(std::span<const named_tensor> tensors,
                               const tensor_metadata& metadata) {
    std::string json = header_json(tensors, metadata);
    json.resize((json.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
    const std::uint64_t length = json.size();
    std::string header(length_bytes, '\0');
    std::memcpy(header.data(), &length, length_bytes);
    return header + json;
}

result<safetensors_view> parse_safetensors(std::span<const std::byte> file) {
    if (file.size() < length_bytes)
        return bad("shorter than its header");
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), length_bytes);
    if (length > limits::checkpoint_header_bytes_max)
        return bad("a header of more than " + std::to_string(limits::checkpoint_header_bytes_max) +
                   " bytes");
    if (length > file.size() - length_bytes)
        return bad("shorter than its header");
    const auto elements = file.subspan(length_bytes + length);
    auto header = parse_header({reinterpret_cast<const char*>(file.data()) + length_bytes, length});
    if (!header)
        return bad(header.failure().message());

    safetensors_view view;
    view.metadata = std::move(header->metadata);
    std::ranges::sort(header->entries, {}, [](const header_entry& e) {
        return std::pair{e.begin, e.end};
    });
    std::uint64_t next = 0; // first byte that belongs to no tensor yet
    for (const header_entry& entry : header->entries) {
        if (entry.begin != next)
            return bad(named(entry.name) +
                       (entry.begin < next ? " overlaps another" : " leaves a hole before it"));
        auto tensor = checked_tensor(entry, elements);
        if (!tensor)
            return tensor.failure();
        next = entry.end;
        view.tensors.push_back(std::move(*tensor));
    }
    if (next != elements.size())
        return bad(std::to_string(elements.size() - next) +
                   " bytes at the end belong to no tensor");
    return view;
}

const named_tensor* safetensors_file::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(view.tensors, name, &named_tensor::name);
    return found == view.tensors.end() ? nullptr : &*found;
}

result<safetensors_file> adopt_safetensors(std::vector<std::byte> bytes) {
    auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    auto view = parse_safetensors(*shared);
    if (!view)
        return view.failure();
    return safetensors_file{std::move(shared), std::move(*view)};
}

} // namespace troupe
