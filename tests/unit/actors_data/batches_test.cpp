#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "actors/data/samples/batches.hpp"
#include "tests/support/data_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;
using tokens = std::vector<std::int32_t>;

dataset images_of(bytes pixels, const tensor_shape& shape, tokens labels) {
    dataset data{"test", "data.test", labels.size(), {}, {}};
    data.inputs = make_column(std::move(pixels), data_type::float32, shape);
    data.labels = make_column(std::move(labels), data_type::int32, {});
    return data;
}

batch filled(const dataset& data, const std::vector<std::uint32_t>& indices) {
    static memory_pool memory{1 << 20};
    return fill_batch(data, indices, 0, memory).value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(batches)

BOOST_AUTO_TEST_CASE(an_epochs_order_is_a_permutation_that_seed_and_epoch_decide) {
    const auto order = epoch_order(1, 0, 1000);
    auto sorted = order;
    std::ranges::sort(sorted);
    BOOST_TEST(sorted == file_order(1000), boost::test_tools::per_element());
    BOOST_TEST((order == epoch_order(1, 0, 1000)));
    BOOST_TEST((order != epoch_order(1, 1, 1000)));
    BOOST_TEST((order != epoch_order(2, 0, 1000)));
    BOOST_TEST((order != file_order(1000)));
    BOOST_TEST(epoch_order(1, 0, 0).empty());
    BOOST_TEST(epoch_order(1, 0, 1).size() == 1u);
}

BOOST_AUTO_TEST_CASE(every_first_sample_is_about_equally_likely) {
    std::vector<int> firsts(10);
    for (std::uint32_t epoch = 0; epoch < 10000; ++epoch)
        ++firsts[epoch_order(5, epoch, 10)[0]];
    for (const int n : firsts)
        BOOST_TEST((n > 850 && n < 1150), n); // 5 standard deviations
}

BOOST_AUTO_TEST_CASE(the_last_batch_of_an_epoch_may_be_short) {
    const batch_plan plan{file_order(10), 4};
    BOOST_REQUIRE(plan.batches() == 3u);
    BOOST_TEST(plan.indices(0).size() == 4u);
    BOOST_TEST(plan.indices(1)[0] == 4u);
    BOOST_TEST(plan.indices(2).size() == 2u);
    BOOST_TEST(plan.indices(2)[1] == 9u);
    BOOST_TEST((batch_plan{file_order(8), 4}.batches()) == 2u);
    BOOST_TEST((batch_plan{file_order(3), 100}.indices(0).size()) == 3u);
}

BOOST_AUTO_TEST_CASE(a_batch_holds_its_samples_scaled_to_one_and_their_labels) {
    const batch b = filled(images_of({0, 255, 51, 102, 1, 2}, {1, 2}, {3, 8, 0}), {1, 0});
    BOOST_TEST((b.input.shape() == tensor_shape{2, 1, 2}));
    const auto values = b.input.values<float>();
    BOOST_TEST(values[0] == 0.2f, boost::test_tools::tolerance(1e-6f));
    BOOST_TEST(values[2] == 0.0f);
    BOOST_TEST(values[3] == 1.0f);
    BOOST_TEST((b.labels.shape() == tensor_shape{2}));
    BOOST_TEST((values_of<std::int32_t>(b.labels) == tokens{8, 3}));
}

BOOST_AUTO_TEST_CASE(numbers_tokens_and_labels_of_any_shape_pass_as_they_are) {
    dataset data{"test", "data.test", 2, {}, {}};
    data.inputs = make_column(tokens{5, 6, 7, 8, 9, 10}, data_type::int32, {3});
    data.labels = make_column(floats{0.5f, -1e9f, 3.0f, 4.0f}, data_type::float32, {1, 2});
    const batch b = filled(data, {1, 0, 1});
    BOOST_TEST((b.input.shape() == tensor_shape{3, 3}));
    BOOST_TEST((values_of<std::int32_t>(b.input) == tokens{8, 9, 10, 5, 6, 7, 8, 9, 10}));
    BOOST_TEST((b.labels.shape() == tensor_shape{3, 1, 2}));
    BOOST_TEST((values_of<float>(b.labels) == floats{3.0f, 4.0f, 0.5f, -1e9f, 3.0f, 4.0f}));
}

BOOST_AUTO_TEST_CASE(windows_of_a_text_share_its_bytes) {
    const auto text = std::make_shared<const value_array>(bytes{10, 11, 12, 13, 14, 15, 250});
    dataset data{"text", "data.text", 3, {}, {}};
    data.inputs = {text, data_type::int32, {2}, 0, 2};
    data.labels = {text, data_type::int32, {2}, 1, 2};
    const batch b = filled(data, {0, 2});
    BOOST_TEST((values_of<std::int32_t>(b.input) == tokens{10, 11, 14, 15}));
    BOOST_TEST((values_of<std::int32_t>(b.labels) == tokens{11, 12, 15, 250}));
}

BOOST_AUTO_TEST_CASE(an_input_that_is_its_own_label_is_there_once) {
    dataset data = images_of({0, 255, 51, 102}, {1, 2}, {0, 0});
    data.labels = data.inputs;
    data.labels.shape = {2};
    data.labels_are_inputs = true;
    const batch b = filled(data, {0, 1});
    BOOST_TEST((b.labels.shape() == tensor_shape{2, 2}));
    BOOST_TEST(b.labels.data() == b.input.data());
}

BOOST_AUTO_TEST_CASE(a_full_pool_is_an_error) {
    const dataset data = images_of(bytes(1000), {1000}, {0});
    memory_pool memory{1024};
    const std::uint32_t indices[] = {0};
    const auto b = fill_batch(data, indices, 0, memory);
    BOOST_REQUIRE(!b.ok());
    BOOST_TEST((b.failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_SUITE_END()
