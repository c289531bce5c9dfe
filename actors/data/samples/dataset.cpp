#include "actors/data/samples/dataset.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "actors/data/samples/cifar_reader.hpp"
#include "actors/data/samples/idx_reader.hpp"
#include "actors/data/samples/npy_reader.hpp"
#include "actors/data/samples/synthetic.hpp"
#include "actors/data/samples/text_reader.hpp"
#include "actors/data/samples/translation.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

column make_column(value_array values, data_type type, const tensor_shape& shape) {
    return {std::make_shared<const value_array>(std::move(values)), type, shape, 0,
            shape.elements()};
}

namespace {

constexpr std::size_t samples_max = 0xffffffff; // sample indices are 32-bit

void take_inputs_as_labels(dataset& data) {
    data.labels = data.inputs;
    data.labels_are_inputs = true;
    if (data.inputs_key.empty())
        data.inputs_key = data.key;
    if (!data.inputs_name.empty())
        data.name = data.inputs_name;
    data.key = "data.target";
}

result<data_sets> read_data(proto::Data::Reader data, const tensor_shape& input,
                            std::uint64_t seed) {
    switch (data.which()) {
    case proto::Data::SYNTHETIC:
        return make_synthetic_data(data.getSynthetic(), input, seed);
    case proto::Data::IDX:
        return read_idx_data(data.getIdx(), input);
    case proto::Data::NPY:
        return read_npy_data(data.getNpy(), input, data.getTarget() == proto::DataTarget::LABELS);
    case proto::Data::CIFAR:
        return read_cifar_data(data.getCifar(), input);
    case proto::Data::TEXT:
        return read_text_data(data.getText(), input);
    case proto::Data::TRANSLATION:
        return read_translation_data(data.getTranslation(), input);
    }
    TROUPE_CHECK(false, "the app file was checked by this build");
}

} // namespace

result<data_sets> load_data(proto::Data::Reader data, const tensor_shape& input,
                            std::uint64_t seed) {
    auto sets = read_data(data, input, seed);
    if (!sets && sets.failure().code() == errc::io && data.hasOrigin())
        return error{errc::io, sets.failure().message() + "; data.origin: " +
                                   printable(data.getOrigin().cStr(), limits::reason_bytes_max)};
    if (!sets)
        return sets;
    for (dataset* set : {&sets->train, &sets->test}) {
        if (set->size() > samples_max)
            return error{errc::data, set->key + ": " + set->name + ": " +
                                         std::to_string(set->size()) + " samples; at most " +
                                         std::to_string(samples_max) + " are numbered"};
        if (data.getTarget() == proto::DataTarget::INPUT)
            take_inputs_as_labels(*set);
        if (!data.hasImages())
            continue;
        auto transforms = make_image_transforms(data.getImages(), set->inputs, seed);
        if (!transforms)
            return transforms.failure();
        set->transforms = set == &sets->train ? *transforms : normalisation_of(*transforms);
    }
    return sets;
}

namespace {

// The first value of a column that is too large, and the smallest and largest value except the ignored one.
struct range_check {
    std::optional<std::size_t> sample;
    std::int64_t value = 0;
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max(); // if all are ignored
    std::int64_t largest = 0;
};

template <class Value>
range_check check_range(const column& c, const std::vector<Value>& array, std::size_t samples,
                        const value_form& wanted) {
    range_check found;
    std::size_t end = 0; // end of the elements checked so far: blocks may overlap
    for (std::size_t s = 0; s < samples; ++s) {
        const std::size_t begin = c.first + s * c.stride;
        for (std::size_t i = std::max(begin, end); i < begin + c.block_elements(); ++i) {
            const auto value = static_cast<std::int64_t>(array[i]);
            if (value == wanted.ignored)
                continue;
            found.smallest = std::min(found.smallest, value);
            found.largest = std::max(found.largest, value);
            if (!found.sample && value >= static_cast<std::int64_t>(wanted.values)) {
                found.sample = s;
                found.value = value;
            }
        }
        end = begin + c.block_elements();
    }
    return found;
}

// 1 + the largest value of an int32 column, 0 for other types. `what` is "label" or "token"; `owner` names the layer that
// needs a larger range.
result<std::size_t> check_range(const dataset& data, const std::string& name, const column& c,
                                const value_form& wanted, const std::string& what,
                                const std::string& owner) {
    if (wanted.type != data_type::int32)
        return std::size_t{0};
    const range_check found = std::visit(
        [&](const auto& array) { return check_range(c, array, data.size(), wanted); }, *c.array);
    if (found.smallest > found.largest)
        return error{errc::data, name + ": no " + what + " counts: all are " +
                                     std::to_string(wanted.ignored) +
                                     ", which the loss leaves out; give samples theirs"};
    if (!found.sample)
        return static_cast<std::size_t>(found.largest + 1);
    const bool counts_from_1 =
        found.smallest == 1 && found.largest == static_cast<std::int64_t>(wanted.values);
    return error{errc::data,
                 name + ": sample " + std::to_string(*found.sample) + " has " + what + " " +
                     std::to_string(found.value) + ", but the model has " +
                     std::to_string(wanted.values) + " " + owner + " at least " +
                     std::to_string(found.largest + 1) +
                     (counts_from_1 ? ", or subtract 1 from each if they count from 1" : "")};
}

std::string form_text(data_type type, const tensor_shape& shape) {
    const std::string each = type == data_type::int32 ? "whole number" : "number";
    return shape.rank() == 0 ? "one " + each : each + "s of shape " + to_string(shape);
}

} // namespace

result<void> fit_to_model(dataset& data, const value_form& input, const value_form& labels) {
    const std::string& inputs_key = data.inputs_key.empty() ? data.key : data.inputs_key;
    const std::string& inputs_name = data.inputs_name.empty() ? data.name : data.inputs_name;
    if (data.inputs.type != input.type || data.inputs.shape != input.shape)
        return error{errc::data, inputs_key + ": " + inputs_name + ": a sample is " +
                                     form_text(data.inputs.type, data.inputs.shape) +
                                     ", but the model's first layer takes " +
                                     form_text(input.type, input.shape) +
                                     "; choose another first layer or other data"};
    const bool fits =
        data.labels.type == labels.type && data.labels.block_elements() == labels.shape.elements();
    if (!fits)
        return error{errc::data, data.key + ": " + data.name + ": a sample's label is " +
                                     form_text(data.labels.type, data.labels.shape) +
                                     ", but the loss takes " +
                                     form_text(labels.type, labels.shape) +
                                     "; choose another loss, last layer or data.target"};
    data.labels.shape = labels.shape;
    const auto tokens =
        check_range(data, inputs_name, data.inputs, input, "token", "tokens; give its first layer");
    if (!tokens)
        return tokens.failure().in(inputs_key);
    const auto classes =
        check_range(data, data.name, data.labels, labels, "label", "outputs; give the last layer");
    if (!classes)
        return classes.failure().in(data.key);
    data.classes = *classes;
    return {};
}

} // namespace troupe
