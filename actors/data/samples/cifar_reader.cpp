#include "actors/data/samples/cifar_reader.hpp"

#include <filesystem>
#include <new>

#include "actors/data/files/input_file.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t image_bytes = 3072;

struct contents {
    std::vector<std::uint8_t> pixels;
    std::vector<std::uint8_t> labels;
};

// Appends the records of one file.
result<void> read_records(const fs::path& path, std::size_t classes, contents& into) {
    auto file = read_whole(path);
    if (!file)
        return file.failure();
    auto& [in, bytes] = *file;
    const std::size_t label_bytes = classes == 10 ? 1 : 2;
    const std::size_t record_bytes = label_bytes + image_bytes;
    if (bytes.empty())
        return in.fail(0, "the file holds no images");
    for (std::size_t at = 0; at < bytes.size(); at += record_bytes) {
        const std::size_t left = bytes.size() - at;
        if (left < record_bytes)
            return in.fail(at, "truncated: a record of CIFAR-" + std::to_string(classes) +
                                   " ends after " + std::to_string(left) + " of " +
                                   std::to_string(record_bytes) +
                                   " bytes; fetch the file again, or set data.cifar.classes");
        const std::uint8_t label = bytes[at + label_bytes - 1];
        if (label >= classes)
            return in.fail(at + label_bytes - 1,
                           "label " + std::to_string(label) + " in CIFAR-" +
                               std::to_string(classes) +
                               "; fetch the file again, or set data.cifar.classes");
        into.labels.push_back(label);
        const auto image = std::span{bytes}.subspan(at + label_bytes, image_bytes);
        into.pixels.insert(into.pixels.end(), image.begin(), image.end());
    }
    return {};
}

struct cifar_files {
    std::vector<fs::path> files; // not empty
    std::string key;
};

result<dataset> read_dataset(const cifar_files& from, std::size_t classes,
                             const tensor_shape& input) {
    contents all;
    try {
        for (const fs::path& file : from.files)
            if (auto got = read_records(file, classes, all); !got)
                return got.failure().in(from.key);
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted, from.key + ": no memory for the images"};
    }
    dataset data{from.files[0].string(), from.key, all.labels.size(), {}, {}};
    data.inputs = make_column(std::move(all.pixels), data_type::float32, input);
    data.labels = make_column(std::move(all.labels), data_type::int32, {});
    return data;
}

std::vector<fs::path> in_folder(const fs::path& folder, const std::vector<std::string>& names) {
    std::vector<fs::path> files;
    for (const std::string& name : names) {
        const bool packed = !fs::exists(folder / name) && fs::exists(folder / (name + ".gz"));
        files.push_back(folder / (packed ? name + ".gz" : name));
    }
    return files;
}

struct cifar_sets {
    cifar_files train;
    cifar_files test;
};

result<cifar_sets> files_of(proto::CifarData::Reader cifar) {
    const bool listed = cifar.hasTrain() || cifar.hasTest();
    if (cifar.hasFolder() == listed || cifar.hasTrain() != cifar.hasTest())
        return error{errc::data, "data.cifar: give the folder, or both train and test"};
    cifar_sets sets{{{}, "data.cifar.folder"}, {{}, "data.cifar.folder"}};
    if (listed) {
        sets = {{{}, "data.cifar.train"}, {{}, "data.cifar.test"}};
        for (const auto file : cifar.getTrain())
            sets.train.files.emplace_back(file.cStr());
        for (const auto file : cifar.getTest())
            sets.test.files.emplace_back(file.cStr());
        return sets;
    }
    const fs::path folder = cifar.getFolder().cStr();
    if (cifar.getClasses() == 100) {
        sets.train.files = in_folder(folder, {"train.bin"});
        sets.test.files = in_folder(folder, {"test.bin"});
    } else {
        sets.train.files =
            in_folder(folder, {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                               "data_batch_4.bin", "data_batch_5.bin"});
        sets.test.files = in_folder(folder, {"test_batch.bin"});
    }
    return sets;
}

} // namespace

result<data_sets> read_cifar_data(proto::CifarData::Reader cifar, const tensor_shape& input) {
    const std::size_t classes = cifar.getClasses();
    if (classes != 10 && classes != 100)
        return error{errc::data, "data.cifar.classes: there are CIFAR-10 and CIFAR-100, not " +
                                     std::to_string(classes)};
    if (input != tensor_shape{3, 32, 32} && input != tensor_shape{image_bytes})
        return error{errc::data,
                     "data.cifar: images are [3, 32, 32], but model.input is " + to_string(input)};
    const auto files = files_of(cifar);
    if (!files)
        return files.failure();
    auto train = read_dataset(files->train, classes, input);
    if (!train)
        return train.failure();
    auto test = read_dataset(files->test, classes, input);
    if (!test)
        return test.failure();
    return data_sets{std::move(*train), std::move(*test)};
}

} // namespace troupe
