#include "actors/data/samples/idx_reader.hpp"

#include "actors/data/files/idx_file.hpp"

namespace troupe {

namespace {

bool fits(const tensor_shape& input, std::size_t rows, std::size_t columns) {
    const std::size_t pixels = rows * columns;
    return input == tensor_shape{1, rows, columns} || input == tensor_shape{rows, columns} ||
           input == tensor_shape{pixels};
}

error at_images(const idx_files& files, const error& why) {
    return why.in(files.key + "_images");
}
error at_labels(const idx_files& files, const error& why) {
    return why.in(files.key + "_labels");
}

result<dataset> make_dataset(const idx_files& files, idx_images images,
                             std::vector<std::uint8_t> labels, const tensor_shape& input) {
    const auto refuse = [&](const std::string& sentence) {
        return at_images(files, {errc::data, files.images.string() + ": byte " + sentence});
    };
    if (images.count != labels.size())
        return refuse("4: " + std::to_string(images.count) + " images, but " +
                      files.labels.string() + " has " + std::to_string(labels.size()) + " labels");
    if (!fits(input, images.rows, images.columns))
        return refuse("8: images of " + std::to_string(images.rows) + "x" +
                      std::to_string(images.columns) + ", but model.input is " + to_string(input));
    dataset data;
    data.name = files.labels.string();
    data.key = files.key + "_labels";
    data.inputs_name = files.images.string();
    data.inputs_key = files.key + "_images";
    data.samples = images.count;
    data.inputs = make_column(std::move(images.pixels), data_type::float32, input);
    data.labels = make_column(std::move(labels), data_type::int32, {});
    return data;
}

} // namespace

result<dataset> read_idx_dataset(const idx_files& files, const tensor_shape& input) {
    auto labels = read_idx_labels(files.labels);
    if (!labels)
        return at_labels(files, labels.failure());
    auto images = read_idx_images(files.images);
    if (!images)
        return at_images(files, images.failure());
    return make_dataset(files, std::move(*images), std::move(*labels), input);
}

result<data_sets> read_idx_data(proto::IdxData::Reader idx, const tensor_shape& input) {
    auto train = read_idx_dataset(
        {idx.getTrainImages().cStr(), idx.getTrainLabels().cStr(), "data.idx.train"}, input);
    if (!train)
        return train.failure();
    auto test = read_idx_dataset(
        {idx.getTestImages().cStr(), idx.getTestLabels().cStr(), "data.idx.test"}, input);
    if (!test)
        return test.failure();
    return data_sets{std::move(*train), std::move(*test)};
}

} // namespace troupe
