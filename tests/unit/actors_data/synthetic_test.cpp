#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

#include <capnp/message.h>

#include "actors/data/samples/synthetic.hpp"
#include "tests/support/data_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using tokens = std::vector<std::int32_t>;

struct wanted {
    std::uint32_t train = 0;
    std::uint32_t test = 0;
    std::uint32_t classes = 0;
    tensor_shape shape;
    std::uint64_t seed = 1;
    std::uint32_t vocabulary = 0;
    bool next_token = false;
    std::uint32_t source_length = 0;
    proto::DataTarget target = proto::DataTarget::LABELS;
};

result<data_sets> synthetic(const wanted& w) {
    capnp::MallocMessageBuilder message;
    auto data = message.initRoot<proto::Data>();
    data.setTarget(w.target);
    auto options = data.initSynthetic();
    options.setTrainSamples(w.train);
    options.setTestSamples(w.test);
    options.setClasses(w.classes);
    options.setVocabulary(w.vocabulary);
    options.setNextToken(w.next_token);
    options.setSourceLength(w.source_length);
    return load_data(data.asReader(), w.shape, w.seed);
}

} // namespace

BOOST_AUTO_TEST_SUITE(synthetic_data)

BOOST_AUTO_TEST_CASE(synthetic_data_repeats_with_its_seed_and_shares_prototypes) {
    const auto a = synthetic({100, 40, 10, {1, 8, 8}});
    const auto b = synthetic({100, 40, 10, {1, 8, 8}});
    const auto c = synthetic({100, 40, 10, {1, 8, 8}, 2});
    BOOST_REQUIRE((a.ok() && b.ok() && c.ok()));
    BOOST_TEST((*a->train.inputs.array == *b->train.inputs.array));
    BOOST_TEST((*a->train.inputs.array != *c->train.inputs.array));
    BOOST_TEST(a->train.size() == 100u);
    BOOST_TEST(a->test.size() == 40u);
    BOOST_TEST((values_of<std::uint8_t>(a->test.inputs, 0) !=
                values_of<std::uint8_t>(a->train.inputs, 0)));
}

// The mean of a class's training samples is closest to the class's test samples.
BOOST_AUTO_TEST_CASE(synthetic_labels_can_be_learned) {
    const auto sets = synthetic({200, 50, 5, {64}});
    BOOST_REQUIRE(sets.ok());
    std::vector<std::vector<double>> means(5, std::vector<double>(64));
    for (std::size_t i = 0; i < sets->train.size(); ++i)
        for (std::size_t k = 0; k < 64; ++k)
            means[i % 5][k] += sets->train.inputs.block<std::uint8_t>(i)[k] / 40.0;
    std::size_t right = 0;
    for (std::size_t i = 0; i < sets->test.size(); ++i) {
        std::vector<double> distances;
        for (const auto& mean : means)
            distances.push_back(std::inner_product(
                mean.begin(), mean.end(), sets->test.inputs.block<std::uint8_t>(i).begin(), 0.0,
                std::plus{}, [](double x, double y) { return (x - y) * (x - y); }));
        right += std::ranges::min_element(distances) - distances.begin() ==
                 sets->test.labels.block<std::int32_t>(i)[0];
    }
    BOOST_TEST(right == 50u);
}

BOOST_AUTO_TEST_CASE(synthetic_data_larger_than_any_memory_is_refused) {
    const auto huge = synthetic({100'000'000, 1, 2, {1'000'000, 1'000'000, 1'000'000, 1'000'000}});
    BOOST_REQUIRE(!huge.ok());
    BOOST_TEST(huge.failure().message().find("data.synthetic: the samples would take more than") ==
               0u);
}

BOOST_AUTO_TEST_CASE(tokens_of_a_class_are_about_half_its_prototypes) {
    const auto sets = synthetic({40, 10, 2, {500}, 3, 100});
    BOOST_REQUIRE(sets.ok());
    BOOST_TEST((sets->train.inputs.type == data_type::int32));
    const auto a = values_of<std::int32_t>(sets->train.inputs, 0);
    const auto same_class = values_of<std::int32_t>(sets->test.inputs, 2);
    const auto other_class = values_of<std::int32_t>(sets->test.inputs, 3);
    BOOST_TEST((std::ranges::min(a) >= 0 && std::ranges::max(a) < 100));
    const auto alike = [&](const tokens& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), 0, std::plus{}, std::equal_to{});
    };
    BOOST_TEST(alike(same_class) > 90); // 1/4 + a hundredth of the rest
    BOOST_TEST(alike(other_class) < 30);
}

BOOST_AUTO_TEST_CASE(a_source_has_no_labels) {
    const auto all = synthetic({4, 4, 2, {10}, 3, 64, true});
    const auto target = synthetic({4, 4, 2, {10}, 3, 64, true, 6});
    BOOST_REQUIRE((all.ok() && target.ok()));
    for (std::size_t i = 0; i < 4; ++i) {
        const auto labels = values_of<std::int32_t>(all->train.labels, i);
        BOOST_TEST((values_of<std::int32_t>(target->train.labels, i) ==
                    tokens{labels.begin() + 6, labels.end()}));
    }
    BOOST_TEST(!synthetic({4, 4, 2, {10}, 3, 64, true, 10}));
    BOOST_TEST(!synthetic({4, 4, 2, {10}, 3, 64, false, 6}));
}

BOOST_AUTO_TEST_CASE(the_next_token_is_the_label_of_every_position_and_mostly_decided_by_it) {
    const auto sets = synthetic({100, 100, 2, {50}, 3, 64, true});
    BOOST_REQUIRE(sets.ok());
    tokens successor(64, -1);
    int right = 0;
    for (std::size_t i = 0; i < 100; ++i) {
        const auto input = values_of<std::int32_t>(sets->train.inputs, i);
        const auto label = values_of<std::int32_t>(sets->train.labels, i);
        BOOST_TEST(
            (tokens{input.begin() + 1, input.end()} == tokens{label.begin(), label.end() - 1}));
    }
    // The successors of the training data, by vote, hold for the test data.
    std::vector<std::vector<int>> votes(64, std::vector<int>(64));
    const auto count = [](const column& c, std::size_t i, std::size_t k) {
        return static_cast<std::size_t>(c.block<std::int32_t>(i)[k]);
    };
    for (std::size_t i = 0; i < 100; ++i)
        for (std::size_t k = 0; k < 50; ++k)
            ++votes[count(sets->train.inputs, i, k)][count(sets->train.labels, i, k)];
    for (std::size_t i = 0; i < 100; ++i)
        for (std::size_t k = 0; k < 50; ++k) {
            const auto& v = votes[count(sets->test.inputs, i, k)];
            right += std::ranges::max_element(v) - v.begin() ==
                     static_cast<std::ptrdiff_t>(count(sets->test.labels, i, k));
        }
    BOOST_TEST((right > 3500 && right < 4000), right);
}

BOOST_AUTO_TEST_CASE(next_tokens_need_a_vocabulary) {
    BOOST_TEST(synthetic({10, 10, 2, {5}, 1, 0, true}).failure().message() ==
               "data.synthetic.next_token: samples are numbers, not tokens; give "
               "data.synthetic.vocabulary");
}

BOOST_AUTO_TEST_CASE(the_target_may_be_the_sample_itself) {
    const auto sets = synthetic({.train = 10,
                                 .test = 4,
                                 .classes = 2,
                                 .shape = {3, 4},
                                 .target = proto::DataTarget::INPUT});
    BOOST_REQUIRE(sets.ok());
    for (const dataset* set : {&sets->train, &sets->test}) {
        BOOST_TEST(set->labels_are_inputs);
        BOOST_TEST((set->labels.array == set->inputs.array));
        BOOST_TEST((set->labels.shape == tensor_shape{3, 4}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
