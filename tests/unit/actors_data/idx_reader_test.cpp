#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>

#include "actors/data/files/idx_file.hpp"
#include "actors/data/samples/idx_reader.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/data_files.hpp"
#include "tests/support/data_values.hpp"

using namespace troupe;
using namespace troupe::test;
namespace fs = std::filesystem;

BOOST_FIXTURE_TEST_SUITE(idx_reader, data_files)

BOOST_AUTO_TEST_CASE(plain_and_gzip_files_give_the_same_samples) {
    const auto i = plain("images", idx_image_file(3));
    const auto l = gzip("labels.gz", idx_label_file({1, 0, 7}));
    for (const auto& file : {i, gzip("images.gz", idx_image_file(3))}) {
        const auto data = read_idx_dataset({file, l, "data.idx.train"}, {1, 2, 3});
        BOOST_REQUIRE(data.ok());
        BOOST_TEST(data->size() == 3u);
        BOOST_TEST((array_of<std::uint8_t>(data->labels) == std::vector<std::uint8_t>{1, 0, 7}));
        BOOST_TEST(data->inputs.block<std::uint8_t>(1)[0] == 6);
        BOOST_TEST(data->inputs.block<std::uint8_t>(2)[5] == 17);
    }
}

BOOST_AUTO_TEST_CASE(images_may_be_taken_flat_but_not_in_another_size) {
    const auto i = plain("images", idx_image_file(2));
    const auto l = plain("labels", idx_label_file({1, 0}));
    BOOST_TEST(read_idx_dataset({i, l, "data.idx.train"}, {6}).ok());
    BOOST_TEST(read_idx_dataset({i, l, "data.idx.train"}, {2, 3}).ok());
    for (const tensor_shape& wrong :
         {tensor_shape{3, 2}, tensor_shape{1, 3, 2}, tensor_shape{2, 1, 3}, tensor_shape{7}})
        BOOST_TEST(refusal_of(read_idx_dataset({i, l, "data.idx.train"}, wrong)) ==
                   "data.idx.train_images: " + i + ": byte 8: images of 2x3, but model.input is " +
                       to_string(wrong));
}

BOOST_AUTO_TEST_CASE(images_and_labels_must_be_as_many) {
    const auto i = plain("images", idx_image_file(2));
    const auto l = plain("labels", idx_label_file({1, 0, 1}));
    BOOST_TEST(refusal_of(read_idx_dataset({i, l, "data.idx.train"}, {6})) ==
               "data.idx.train_images: " + i + ": byte 4: 2 images, but " + l + " has 3 labels");
}

BOOST_AUTO_TEST_CASE(a_label_file_is_no_image_file) {
    const auto l = plain("labels", idx_label_file({1}));
    BOOST_TEST(refusal_of(read_idx_images(l)) ==
               l + ": byte 0: not an IDX file of images: begins with "
                   "00 00 08 01, expected 00 00 08 03; its elements are unsigned bytes in 1 "
                   "dimension: is it "
                   "another file's place?");
    const auto text = plain("text", "hello, world");
    BOOST_TEST(refusal_of(read_idx_labels(text))
                   .find(": byte 0: not an IDX file of labels: begins with 68 65 6c 6c") !=
               std::string::npos);
    auto floats = idx_image_file(1);
    floats[2] = 0x0d;
    BOOST_TEST(
        refusal_of(read_idx_images(plain("floats", floats))).find("begins with 00 00 0d 03") !=
        std::string::npos);
}

BOOST_AUTO_TEST_CASE(truncation_is_found_at_every_byte) {
    const std::string whole = idx_image_file(2);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto file = plain("cut", whole.substr(0, length));
        const std::string said = refusal_of(read_idx_images(file));
        const std::size_t offset =
            length < 16 ? length : 16; // after the header the length of the file tells at once
        BOOST_TEST(said.find(file + ": byte " + std::to_string(offset) + ": truncated: ") == 0u,
                   said);
    }
    const std::string packed = read(gzip("whole.gz", whole));
    for (std::size_t length = 2; length < packed.size(); ++length)
        BOOST_TEST(!read_idx_images(plain("cut.gz", packed.substr(0, length))).ok(), length);
    const auto shorter = gzip("shorter.gz", whole.substr(0, 20));
    BOOST_TEST(refusal_of(read_idx_images(shorter)) ==
               shorter +
                   ": byte 20: truncated: images ends after 4 of 12 bytes; fetch the file again");
}

BOOST_AUTO_TEST_CASE(data_after_the_end_is_refused) {
    const auto file = plain("long", idx_label_file({1, 2}) + "x");
    BOOST_TEST(refusal_of(read_idx_labels(file)) ==
               file + ": byte 10: more data than the header says");
    BOOST_TEST(refusal_of(read_idx_labels(gzip("long.gz", idx_label_file({1, 2}) + "x")))
                   .find(": byte 10: more data") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(sizes_that_the_file_cannot_hold_take_no_memory) {
    const std::string huge = big_endian_word(0x803) + big_endian_word(0xffffffff) +
                             big_endian_word(0xffffffff) + big_endian_word(0xffffffff);
    BOOST_TEST(refusal_of(read_idx_images(plain("huge", huge)))
                   .find(": byte 4: the header claims more than") != std::string::npos);
    const std::string large = big_endian_word(0x803) + big_endian_word(1u << 20) +
                              big_endian_word(128) + big_endian_word(256); // 32 GiB
    BOOST_TEST(refusal_of(read_idx_images(plain("large", large)))
                   .find(": byte 16: truncated: the header claims 34359738368") !=
               std::string::npos);
    BOOST_TEST(refusal_of(read_idx_images(gzip("large.gz", large)))
                   .find(": byte 16: truncated: the header claims") != std::string::npos);
    BOOST_TEST(refusal_of(read_idx_labels(plain("none", idx_label_file({}))))
                   .find(": byte 4: a size of 0") != std::string::npos);
    BOOST_TEST(
        refusal_of(read_idx_images(plain("flat", big_endian_word(0x803) + big_endian_word(1) +
                                                     big_endian_word(0) + big_endian_word(1))))
            .find(": byte 8: a size of 0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(damaged_gzip_is_refused) {
    std::string bytes = read(gzip("good.gz", idx_image_file(40)));
    bytes[bytes.size() - 6] ^= 1; // in the checksum
    BOOST_TEST(refusal_of(read_idx_images(plain("bad.gz", bytes))).find("damaged gzip data") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(mutated_files_never_crash_the_reader) {
    random_stream random{3};
    for (const std::string& whole : {idx_image_file(5), read(gzip("m.gz", idx_image_file(5)))})
        for (int round = 0; round < 500; ++round) {
            std::string bytes = whole;
            for (int edits = 0; edits < 3; ++edits)
                bytes[random.below(bytes.size())] = static_cast<char>(random.next());
            const auto got = read_idx_images(plain("mutant", bytes));
            if (got.ok())
                BOOST_REQUIRE(got->pixels.size() == got->count * got->rows * got->columns);
        }
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_opened_are_named) {
    BOOST_TEST(refusal_of(read_idx_labels("/nonexistent/labels"), errc::io) ==
               "/nonexistent/labels: no such file");
    BOOST_TEST(refusal_of(read_idx_labels(folder()), errc::io) ==
               folder().string() + ": a folder, where a file is wanted");
}

BOOST_AUTO_TEST_CASE(the_key_that_names_a_wrong_file_is_said_though_both_name_the_same) {
    const auto l = plain("labels", idx_label_file({1}));
    const fs::path none = "/nonexistent/labels";
    BOOST_TEST(refusal_of(read_idx_dataset({l, l, "data.idx.test"}, {6}))
                   .find("data.idx.test_images: " + l + ": byte 0: not an") == 0u);
    BOOST_TEST(refusal_of(read_idx_dataset({l, none, "data.idx.test"}, {6}), errc::io) ==
               "data.idx.test_labels: /nonexistent/labels: no such file");
}

BOOST_AUTO_TEST_CASE(fashion_mnist_loads_where_it_is_installed) {
    const fs::path data = "/usr/share/datasets/fashion-mnist";
    if (!fs::exists(data))
        return;
    const auto test = read_idx_dataset(
        {data / "t10k-images-idx3-ubyte.gz", data / "t10k-labels-idx1-ubyte.gz", "data.idx.test"},
        {1, 28, 28});
    BOOST_REQUIRE(test.ok());
    BOOST_TEST(test->size() == 10000u);
    BOOST_TEST(std::ranges::max(array_of<std::uint8_t>(test->labels)) == 9);
}

BOOST_AUTO_TEST_SUITE_END()
