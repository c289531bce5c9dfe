#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <thread>

#include <capnp/message.h>

#include "actors/data/samples/batches.hpp"
#include "tests/support/data_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;

image_transforms plain(std::size_t channels) {
    return {floats(channels, 0.0f), floats(channels, 1.0f), 0, false, 1};
}

// Images of these pixels, 255 for 1.
dataset images_of(bytes pixels, const tensor_shape& shape, image_transforms transforms) {
    const std::size_t count = pixels.size() / shape.elements();
    dataset data{"test", "data.test", count, {}, {}};
    data.inputs = make_column(std::move(pixels), data_type::float32, shape);
    data.labels = make_column(bytes(count), data_type::int32, {});
    data.transforms = std::move(transforms);
    return data;
}

floats filled(const dataset& data, std::vector<std::uint32_t> indices, std::uint32_t epoch) {
    memory_pool memory{1 << 24};
    return values_of<float>(fill_batch(data, indices, epoch, memory)->input);
}

// One image of 4 x 5 different pixels, none of them black.
bytes pixels_4x5() {
    bytes pixels(20);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(10 * (i + 1));
    return pixels;
}

// Where a pixel comes from in the original, if the image is that, shifted by (right, down) and mirrored or not.
bool is_moved(const floats& image, int right, int down, bool mirrored) {
    const bytes original = pixels_4x5();
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 5; ++x) {
            const int row = y + down;
            const int at = (mirrored ? 4 - x : x) + right;
            const bool inside = row >= 0 && row < 4 && at >= 0 && at < 5;
            const float expected =
                inside ? static_cast<float>(original[static_cast<std::size_t>(row * 5 + at)]) *
                             (1.0f / 255.0f)
                       : 0.0f;
            if (image[static_cast<std::size_t>(y * 5 + x)] != expected)
                return false;
        }
    return true;
}

result<data_sets> load(const char* what) {
    capnp::MallocMessageBuilder message;
    auto data = message.initRoot<proto::Data>();
    auto options = data.initSynthetic();
    options.setTrainSamples(20);
    options.setTestSamples(10);
    auto images = data.initImages();
    const std::string_view wanted{what};
    if (wanted == "tokens")
        options.setVocabulary(10);
    if (wanted == "two means") {
        auto mean = images.initMean(2);
        mean.set(0, 0.5f);
        mean.set(1, 0.25f);
    } else {
        images.initMean(1).set(0, 0.5f);
    }
    images.initDeviation(1).set(0, 0.25f);
    images.setCropPadding(wanted == "no image" ? 1 : 2);
    images.setFlip(true);
    return load_data(data.asReader(),
                     wanted == "no image" ? tensor_shape{48} : tensor_shape{3, 4, 4}, 1);
}

} // namespace

BOOST_AUTO_TEST_SUITE(images)

BOOST_AUTO_TEST_CASE(every_channel_is_normalised) {
    auto t = plain(2);
    t.mean = {0.5f, 0.2f};
    t.deviation = {0.25f, 0.5f};
    const auto values = filled(images_of({0, 255, 51, 102}, {2, 1, 2}, t), {0}, 0);
    BOOST_REQUIRE(values.size() == 4u);
    for (const auto& [got, expected] :
         {std::pair{values[0], -2.0f}, {values[1], 2.0f}, {values[3], 0.4f}})
        BOOST_TEST(got == expected, boost::test_tools::tolerance(1e-6f));
    BOOST_TEST(std::abs(values[2]) < 1e-6f);
}

BOOST_AUTO_TEST_CASE(without_settings_nothing_changes) {
    dataset with = images_of(pixels_4x5(), {1, 4, 5}, plain(1));
    const auto transformed = filled(with, {0}, 3);
    with.transforms.reset();
    BOOST_TEST((transformed == filled(with, {0}, 3)));
}

BOOST_AUTO_TEST_CASE(images_are_shifted_as_far_as_the_padding_and_mirrored_evenly) {
    auto t = plain(1);
    t.shift_max = 1;
    t.mirror = true;
    const dataset data = images_of(pixels_4x5(), {1, 4, 5}, t);
    std::vector<int> seen(18);
    for (std::uint32_t epoch = 0; epoch < 1800; ++epoch) {
        const auto image = filled(data, {0}, epoch);
        int found = -1;
        for (int kind = 0; kind < 18; ++kind)
            if (is_moved(image, kind % 3 - 1, kind / 3 % 3 - 1, kind >= 9)) {
                BOOST_REQUIRE(found == -1);
                found = kind;
            }
        BOOST_REQUIRE(found >= 0);
        ++seen[static_cast<std::size_t>(found)];
    }
    for (const int count : seen)
        BOOST_TEST((count > 55 && count < 150), count); // 100, standard deviation below 10
}

BOOST_AUTO_TEST_CASE(seed_epoch_and_sample_decide_and_nothing_else) {
    auto t = plain(3);
    t.shift_max = 3;
    t.mirror = true;
    bytes pixels(16 * 3 * 8 * 8);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
    dataset data = images_of(pixels, {3, 8, 8}, t);
    std::vector<std::uint32_t> all(16);
    for (std::uint32_t i = 0; i < 16; ++i)
        all[i] = i;
    const auto whole = filled(data, all, 5);
    std::vector<std::thread> threads;
    std::vector<floats> parts(16);
    for (std::uint32_t i = 0; i < 16; ++i)
        threads.emplace_back([&, i] { parts[i] = filled(data, {i}, 5); });
    for (auto& thread : threads)
        thread.join();
    floats joined;
    for (const auto& part : parts)
        joined.insert(joined.end(), part.begin(), part.end());
    BOOST_TEST((joined == whole));
    BOOST_TEST((filled(data, all, 6) != whole));
    data.transforms->seed = 2;
    BOOST_TEST((filled(data, all, 5) != whole));
}

BOOST_AUTO_TEST_CASE(an_image_that_is_its_own_label_is_transformed_once) {
    auto t = plain(1);
    t.mirror = true;
    dataset data = images_of(pixels_4x5(), {1, 4, 5}, t);
    data.labels = data.inputs;
    data.labels_are_inputs = true;
    memory_pool memory{1 << 20};
    const std::uint32_t indices[] = {0};
    const auto b = fill_batch(data, indices, 1, memory);
    BOOST_REQUIRE(b.ok());
    BOOST_TEST(b->labels.data() == b->input.data());
}

BOOST_AUTO_TEST_CASE(test_images_are_normalised_alone) {
    const auto sets = load("images");
    BOOST_REQUIRE(sets.ok());
    BOOST_TEST((sets->train.transforms->mean == floats{0.5f, 0.5f, 0.5f}));
    BOOST_TEST(sets->train.transforms->shift_max == 2u);
    BOOST_TEST(sets->train.transforms->mirror);
    BOOST_TEST((sets->test.transforms->deviation == floats{0.25f, 0.25f, 0.25f}));
    BOOST_TEST(sets->test.transforms->shift_max == 0u);
    BOOST_TEST(!sets->test.transforms->mirror);
    BOOST_TEST((filled(sets->test, {3}, 0) == filled(sets->test, {3}, 1)));
}

BOOST_AUTO_TEST_CASE(settings_that_do_not_fit_the_samples_are_refused) {
    BOOST_TEST(load("two means").failure().message() ==
               "data.images.mean: 2 values for images of [3, 4, 4]; give 1 or 3");
    BOOST_TEST(load("tokens").failure().message() ==
               "data.images: the samples are tokens, not images");
    BOOST_TEST(load("no image").failure().message() ==
               "data.images: crop_padding and flip need images, but model.input is [48]; make it "
               "[channels, height, width]");
}

BOOST_AUTO_TEST_SUITE_END()
