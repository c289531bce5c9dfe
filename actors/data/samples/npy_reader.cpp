#include "actors/data/samples/npy_reader.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "actors/data/files/npy_elements.hpp"

namespace troupe {

namespace {

constexpr std::size_t piece_bytes = 1u << 18;

std::uint64_t little_endian(std::span<const std::uint8_t> bytes) {
    std::uint64_t word = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
        word = word << 8 | bytes[i];
    return word;
}

// One element converted to int32; none if it is out of range.
std::optional<std::int32_t> whole_number(std::span<const std::uint8_t> bytes, std::int32_t lowest) {
    const std::uint64_t word = little_endian(bytes);
    const std::int64_t value = bytes.size() == 4
                                   ? std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(word))
                                   : std::bit_cast<std::int64_t>(word);
    if (value < lowest || value > std::numeric_limits<std::int32_t>::max())
        return std::nullopt;
    return static_cast<std::int32_t>(value);
}

std::optional<float> number(std::span<const std::uint8_t> bytes) {
    const std::uint64_t word = little_endian(bytes);
    const float value = bytes.size() == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(word))
                                          : static_cast<float>(std::bit_cast<double>(word));
    return std::isfinite(value) ? std::optional{value} : std::nullopt;
}

// Reads all elements of `width` bytes, converted one by one.
template <class Value, class Convert>
result<value_array> read_elements(input_file& in, const npy_header& header, Convert convert,
                                  std::string_view wanted) {
    const std::size_t width = size_of(header.type);
    std::vector<Value> values;
    values.reserve(header.elements);
    std::vector<std::uint8_t> piece(piece_bytes);
    while (values.size() < header.elements) {
        const std::uint64_t first = in.offset();
        const std::size_t bytes =
            std::min<std::size_t>(piece_bytes, (header.elements - values.size()) * width);
        if (auto got = in.read(std::span{piece}.first(bytes), "the elements"); !got)
            return got.failure();
        for (std::size_t at = 0; at < bytes; at += width) {
            const auto value = convert(std::span{piece}.subspan(at, width));
            if (!value)
                return in.fail(first + at, "element " + std::to_string(values.size()) + " is " +
                                               std::string{wanted});
            values.push_back(*value);
        }
    }
    return value_array{std::move(values)};
}

result<value_array> read_elements(input_file& in, const npy_header& header, npy_use use) {
    const std::int32_t lowest = use == npy_use::labels ? ignored_label : 0;
    switch (header.type) {
    case npy_type::u1: {
        auto bytes = in.read_claimed(header.elements, "elements");
        return bytes ? result<value_array>{value_array{std::move(*bytes)}} : bytes.failure();
    }
    case npy_type::i4:
    case npy_type::i8:
        return read_elements<std::int32_t>(
            in, header, [lowest](auto bytes) { return whole_number(bytes, lowest); },
            use == npy_use::labels ? "no class: give 0 to 2147483647, or -1 for what the loss "
                                     "leaves out"
                                   : "no token: give 0 to 2147483647");
    default:
        return read_elements<float>(in, header, number,
                                    "not a finite 32-bit number; clean the data");
    }
}

// True if samples of one shape can be read in the other: they are equal but for dimensions of 1, or one of them is flat.
bool reads_as(const tensor_shape& from, const tensor_shape& to) {
    const auto core = [](const tensor_shape& shape) {
        std::vector<std::size_t> dimensions;
        for (const std::size_t d : shape.dimensions())
            if (d != 1)
                dimensions.push_back(d);
        return dimensions;
    };
    const auto a = core(from);
    const auto b = core(to);
    return a == b || (from.elements() == to.elements() && (a.size() <= 1 || b.size() <= 1));
}

struct npy_files {
    std::string inputs;
    std::string labels; // empty: none
    std::string key;    // of both, without "_inputs" and "_labels"
};

result<column> read_inputs(const npy_files& files, const tensor_shape& input,
                           std::size_t& samples) {
    auto array = read_npy(files.inputs, npy_use::inputs);
    if (!array)
        return array.failure();
    if (!reads_as(array->sample_shape, input))
        return error{errc::data, files.inputs + ": byte 0: samples of shape " +
                                     to_string(array->sample_shape) + ", but model.input is " +
                                     to_string(input) + "; transpose or reshape the array"};
    const bool is_tokens = std::holds_alternative<std::vector<std::int32_t>>(array->values);
    samples = array->samples;
    return make_column(std::move(array->values), is_tokens ? data_type::int32 : data_type::float32,
                       input);
}

result<column> read_labels(const npy_files& files, std::size_t samples) {
    auto array = read_npy(files.labels, npy_use::labels);
    if (!array)
        return array.failure();
    if (array->samples != samples)
        return error{errc::data, files.labels + ": byte 0: " + std::to_string(array->samples) +
                                     " labels, but " + files.inputs + " has " +
                                     std::to_string(samples) + " samples"};
    const bool is_numbers = std::holds_alternative<std::vector<float>>(array->values);
    return make_column(std::move(array->values), is_numbers ? data_type::float32 : data_type::int32,
                       array->sample_shape);
}

result<dataset> read_dataset(const npy_files& files, const tensor_shape& input, bool needs_labels) {
    dataset data{files.inputs, files.key + "_inputs", 0, {}, {}};
    auto inputs = read_inputs(files, input, data.samples);
    if (!inputs)
        return inputs.failure().in(data.key);
    data.inputs = std::move(*inputs);
    if (!needs_labels)
        return data;
    if (files.labels.empty())
        return error{errc::data, "data.npy: " + files.key.substr(files.key.rfind('.') + 1) +
                                     "_labels is missing; name the file, or let the sample be its "
                                     "own label by data.target: input"};
    data.inputs_name = std::exchange(data.name, files.labels);
    data.inputs_key = std::exchange(data.key, files.key + "_labels");
    auto labels = read_labels(files, data.samples);
    if (!labels)
        return labels.failure().in(data.key);
    data.labels = std::move(*labels);
    return data;
}

} // namespace

result<npy_array> read_npy(const std::string& name, npy_use use) {
    auto in = open_npy(name);
    if (!in)
        return in.failure();
    auto header = read_npy_header(*in);
    if (!header)
        return header.failure();
    try {
        auto values = read_elements(*in, *header, use);
        if (!values)
            return values.failure();
        if (auto ended = in->expect_end(); !ended)
            return ended.failure();
        return npy_array{header->shape[0], tensor_shape{std::span{header->shape}.subspan(1)},
                         std::move(*values)};
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted,
                     name + ": no memory for " + std::to_string(header->elements) + " elements"};
    }
}

result<data_sets> read_npy_data(proto::NpyData::Reader npy, const tensor_shape& input,
                                bool needs_labels) {
    auto train =
        read_dataset({npy.getTrainInputs().cStr(), npy.getTrainLabels().cStr(), "data.npy.train"},
                     input, needs_labels);
    if (!train)
        return train.failure();
    auto test =
        read_dataset({npy.getTestInputs().cStr(), npy.getTestLabels().cStr(), "data.npy.test"},
                     input, needs_labels);
    if (!test)
        return test.failure();
    return data_sets{std::move(*train), std::move(*test)};
}

} // namespace troupe
