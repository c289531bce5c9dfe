#include "actors/data/samples/text_reader.hpp"

#include <new>

#include "actors/data/files/file_names.hpp"
#include "actors/data/files/input_file.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

using text_array = std::shared_ptr<const value_array>;

result<void> append_file(const std::string& path, std::vector<std::uint8_t>& text) {
    auto file = read_whole(path);
    if (!file)
        return file.failure();
    auto& [in, bytes] = *file;
    if (bytes.empty())
        return in.fail(0, "the file is empty");
    if (text.size() + bytes.size() > limits::dataset_bytes_max)
        return in.fail(0, "the text is longer than " + std::to_string(limits::dataset_bytes_max) +
                              " bytes with this file; name fewer");
    if (text.empty())
        text = std::move(bytes);
    else
        text.insert(text.end(), bytes.begin(), bytes.end());
    return {};
}

result<std::vector<std::uint8_t>> read_text(const std::vector<named_file>& files) {
    std::vector<std::uint8_t> text;
    for (const named_file& file : files)
        try {
            if (auto read = append_file(file.path, text); !read)
                return read.failure().in(file.key);
        } catch (const std::bad_alloc&) {
            return error{errc::exhausted, file.key + ": " + file.path + ": no memory for the text"};
        }
    return text;
}

std::string name_of(const std::vector<named_file>& files) {
    const std::size_t others = files.size() - 1;
    return files.front().path + (others == 0   ? ""
                                 : others == 1 ? " and 1 more file"
                                               : " and " + std::to_string(others) + " more files");
}

// Bytes first .. first + count of a text, as windows.
struct text_part {
    std::string name;
    std::string key;
    std::size_t first = 0;
    std::size_t count = 0;
};

result<dataset> windows(const text_array& text, const text_part& of, const tensor_shape& input,
                        std::size_t stride) {
    const std::size_t length = input.elements();
    if (of.count <= length)
        return error{errc::data, of.key + ": " + of.name + ": " + std::to_string(of.count) +
                                     " bytes, but a sample takes " + std::to_string(length + 1) +
                                     "; give more text, or shorten model.input"};
    dataset data{of.name, of.key, (of.count - length - 1) / stride + 1, {}, {}};
    data.inputs = {text, data_type::int32, input, of.first, stride};
    data.labels = data.inputs;
    ++data.labels.first;
    return data;
}

text_array shared(std::vector<std::uint8_t> text) {
    return std::make_shared<const value_array>(std::move(text));
}

} // namespace

result<data_sets> read_text_data(proto::TextData::Reader options, const tensor_shape& input) {
    if (input.rank() != 1)
        return error{
            errc::data,
            "data.text: a sample is a row of bytes, so that model.input is [LENGTH], not " +
                to_string(input)};
    const std::size_t stride =
        options.getStride() == 0 ? input.elements() : std::size_t{options.getStride()};
    const auto files = expand_names(options.getTrain(), "data.text.train");
    if (!files)
        return files.failure();
    auto text = read_text(*files);
    if (!text)
        return text.failure();
    const std::size_t bytes = text->size();
    const text_array train_text = shared(std::move(*text));
    text_part train{name_of(*files), "data.text.train", 0, bytes};
    text_part test{train.name, "data.text.test_share", 0, 0};
    text_array test_text = train_text;
    if (options.hasTest()) {
        const auto test_files = expand_names(options.getTest(), "data.text.test");
        if (!test_files)
            return test_files.failure();
        auto own = read_text(*test_files);
        if (!own)
            return own.failure();
        test = {name_of(*test_files), "data.text.test", 0, own->size()};
        test_text = shared(std::move(*own));
    } else {
        test.count = static_cast<std::size_t>(static_cast<double>(bytes) * options.getTestShare());
        train.count = test.first = bytes - test.count;
    }
    auto train_set = windows(train_text, train, input, stride);
    if (!train_set)
        return train_set.failure();
    auto test_set = windows(test_text, test, input, stride);
    if (!test_set)
        return test_set.failure();
    return data_sets{std::move(*train_set), std::move(*test_set)};
}

} // namespace troupe
