#include "actors/data/samples/npy_reader.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "actors/data/files/npy_elements.hpp"

namespace troupe {

namespace {

constexpr std::size_t sample_elements = 1u << 15;

// Reads all elements as whole numbers of the array's type, which must be from `lowest` on; `wanted` says what they are else.
template <class Value>
result<value_array> read_whole_numbers(npy_elements& from, std::int64_t lowest,
                                       std::string_view wanted) {
    std::vector<Value> values;
    values.reserve(from.header().elements);
    std::vector<std::int64_t> piece;
    while (from.done() < from.header().elements) {
        piece.resize(
            std::min<std::uint64_t>(sample_elements, from.header().elements - from.done()));
        if (auto got = from.read(std::span{piece}); !got)
            return got.failure();
        for (std::size_t i = 0; i < piece.size(); ++i) {
            if (piece[i] < lowest || piece[i] > std::numeric_limits<Value>::max())
                return from.fail(wanted, piece.size() - 1 - i);
            values.push_back(static_cast<Value>(piece[i]));
        }
    }
    return value_array{std::move(values)};
}

result<value_array> read_numbers(npy_elements& from) {
    std::vector<float> values(from.header().elements);
    if (auto got = from.read(std::span{values}); !got)
        return got.failure();
    return value_array{std::move(values)};
}

result<value_array> read_elements(npy_elements& from, npy_use use) {
    const npy_type type = from.header().type;
    if (type == npy_type::u1)
        return read_whole_numbers<std::uint8_t>(from, 0, {});
    if (!from.is_whole() || (type == npy_type::b1 && use == npy_use::inputs))
        return read_numbers(from);
    return use == npy_use::labels
               ? read_whole_numbers<std::int32_t>(from, ignored_label,
                                                  "is no class: give 0 to 2147483647, or -1 for "
                                                  "what the loss leaves out")
               : read_whole_numbers<std::int32_t>(from, 0,
                                                  "is no token: give 0 to 2147483647; of "
                                                  "measurements make array.astype('<f4')");
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
    auto elements = npy_elements::open(name);
    if (!elements)
        return elements.failure();
    const npy_header& header = elements->header();
    try {
        auto values = read_elements(*elements, use);
        if (!values)
            return values.failure();
        if (auto ended = elements->expect_end(); !ended)
            return ended.failure();
        return npy_array{header.shape[0], tensor_shape{std::span{header.shape}.subspan(1)},
                         std::move(*values)};
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted,
                     name + ": no memory for " + std::to_string(header.elements) + " elements"};
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
