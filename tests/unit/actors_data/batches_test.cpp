#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

#include <capnp/message.h>

#include "actors/data/batches.hpp"
#include "actors/data/synthetic.hpp"

using namespace troupe;

namespace {

result<data_sets> synthetic(std::uint32_t train, std::uint32_t test, std::uint32_t classes,
                            const tensor_shape& shape, std::uint64_t seed = 1) {
    capnp::MallocMessageBuilder message;
    auto data = message.initRoot<proto::Data>();
    auto options = data.initSynthetic();
    options.setTrainSamples(train);
    options.setTestSamples(test);
    options.setClasses(classes);
    return load_data(data.asReader(), shape, seed);
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
    const dataset data{"test", {1, 2}, 9, {0, 255, 51, 102, 1, 2}, {3, 8, 0}};
    memory_pool memory{1 << 20};
    const std::uint32_t indices[] = {1, 0};
    const auto b = fill_batch(data, indices, memory);
    BOOST_REQUIRE(b.ok());
    BOOST_TEST((b->input.shape() == tensor_shape{2, 1, 2}));
    const auto values = b->input.values<float>();
    BOOST_TEST(values[0] == 0.2f, boost::test_tools::tolerance(1e-6f));
    BOOST_TEST(values[2] == 0.0f);
    BOOST_TEST(values[3] == 1.0f);
    BOOST_TEST((b->labels.shape() == tensor_shape{2}));
    BOOST_TEST(b->labels.values<std::int32_t>()[0] == 8);
    BOOST_TEST(b->labels.values<std::int32_t>()[1] == 3);
}

BOOST_AUTO_TEST_CASE(a_full_pool_is_an_error) {
    const dataset data{"test", {1000}, 1, std::vector<std::uint8_t>(1000), {0}};
    memory_pool memory{1024};
    const std::uint32_t indices[] = {0};
    const auto b = fill_batch(data, indices, memory);
    BOOST_REQUIRE(!b.ok());
    BOOST_TEST((b.failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(synthetic_data_repeats_with_its_seed_and_shares_prototypes) {
    const auto a = synthetic(100, 40, 10, {1, 8, 8});
    const auto b = synthetic(100, 40, 10, {1, 8, 8});
    const auto c = synthetic(100, 40, 10, {1, 8, 8}, 2);
    BOOST_REQUIRE((a.ok() && b.ok() && c.ok()));
    BOOST_TEST((a->train.samples == b->train.samples));
    BOOST_TEST((a->train.samples != c->train.samples));
    BOOST_TEST(a->train.size() == 100u);
    BOOST_TEST(a->test.size() == 40u);
    BOOST_TEST(a->train.classes == 10u);
    BOOST_TEST(
        !std::equal(a->test.samples.begin(), a->test.samples.end(), a->train.samples.begin()));
}

// The mean of a class's training samples is closest to the class's test samples.
BOOST_AUTO_TEST_CASE(synthetic_labels_can_be_learned) {
    const auto sets = synthetic(200, 50, 5, {64});
    BOOST_REQUIRE(sets.ok());
    std::vector<std::vector<double>> means(5, std::vector<double>(64));
    for (std::size_t i = 0; i < sets->train.size(); ++i)
        for (std::size_t k = 0; k < 64; ++k)
            means[static_cast<std::size_t>(sets->train.labels[i])][k] +=
                sets->train.sample(i)[k] / 40.0;
    std::size_t right = 0;
    for (std::size_t i = 0; i < sets->test.size(); ++i) {
        std::vector<double> distances;
        for (const auto& mean : means)
            distances.push_back(std::inner_product(
                mean.begin(), mean.end(), sets->test.sample(i).begin(), 0.0, std::plus{},
                [](double x, double y) { return (x - y) * (x - y); }));
        right += std::ranges::min_element(distances) - distances.begin() == sets->test.labels[i];
    }
    BOOST_TEST(right == 50u);
}

BOOST_AUTO_TEST_CASE(synthetic_data_larger_than_any_memory_is_refused) {
    const auto huge = synthetic(100'000'000, 1, 2, {1'000'000, 1'000'000, 1'000'000, 1'000'000});
    BOOST_REQUIRE(!huge.ok());
    BOOST_TEST(huge.failure().message().find("data.synthetic: the samples would take more than") ==
               0u);
}

BOOST_AUTO_TEST_CASE(labels_that_the_model_has_no_output_for_are_found) {
    const dataset data{"labels.gz", {1}, 8, {0, 0, 0}, {3, 7, 7}};
    BOOST_TEST(check_labels(data, 8).ok());
    BOOST_TEST(check_labels(data, 7).failure().message() ==
               "labels.gz: sample 1 has label 7, but the model has 7 outputs; give the last layer "
               "at least 8");
}

BOOST_AUTO_TEST_SUITE_END()
