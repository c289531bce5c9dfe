#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include <cmath>

#include "kernels/graph/model_loss.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// The loss of a model, as `describe` sets it.
template <class Describe>
result<model_loss> loss_of(const tensor_shape& outputs, Describe describe) {
    capnp::MallocMessageBuilder message;
    auto model = message.initRoot<proto::Model>();
    describe(model);
    return model_loss::create(model.asReader().getLoss(), outputs);
}

constexpr auto nothing = [](proto::Model::Builder) {};

tensor int32s(memory_pool& pool, const tensor_shape& shape,
              std::initializer_list<std::int32_t> values) {
    tensor t = tensor::allocate(pool, data_type::int32, shape).value();
    std::ranges::copy(values, t.mutable_values<std::int32_t>().begin());
    return t;
}

} // namespace

BOOST_AUTO_TEST_SUITE(model_losses)

BOOST_AUTO_TEST_CASE(a_model_that_names_no_loss_has_cross_entropy) {
    const auto loss = loss_of({10}, nothing).value();
    BOOST_TEST((loss.labels().type == data_type::int32));
    BOOST_TEST((loss.labels().shape == tensor_shape{}));
    BOOST_TEST(loss.labels().values == 10u);
    BOOST_TEST(loss.labels().ignored == -1);
    const auto sequences = loss_of({7, 10}, nothing).value();
    BOOST_TEST((sequences.labels().shape == tensor_shape{7}));
    const auto images = loss_of({3, 7, 10}, nothing);
    BOOST_REQUIRE(!images);
    BOOST_TEST(images.failure().message() ==
               "the last layer gives [3, 7, 10], but cross_entropy needs one value per class, or "
               "per position and class; end with linear");
}

BOOST_AUTO_TEST_CASE(ignored_labels_are_neither_summed_nor_counted) {
    const auto padding = loss_of({2, 4}, nothing).value();
    const auto second = loss_of({2, 4}, [](proto::Model::Builder model) {
                            model.initLoss().initCrossEntropy().initIgnoredLabel().setLabel(1);
                        }).value();
    for (const auto& backend : backends()) {
        operand_pool pool{1 << 20};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        tensor logits = random_tensor(pool, {2, 2, 4}, 1);
        const auto labels = int32s(pool, {2, 2}, {1, -1, 3, 0});
        const auto done = padding.run(context, logits, labels, 1).value();
        BOOST_TEST(done.counted == 3u);
        BOOST_TEST(done.counted == count_labels(labels, -1));
        BOOST_TEST(done.gradient.values<float>()[4] == 0.f);
        const auto other = int32s(pool, {2, 2}, {1, 1, 3, 0});
        const auto fewer = second.run(context, logits, other, 0).value();
        BOOST_TEST(fewer.counted == 2u);
        BOOST_TEST(fewer.counted == count_labels(other, second.labels().ignored));
        BOOST_TEST(!fewer.gradient);
        BOOST_TEST(!second.run(context, logits, labels, 0)); // -1 is a bad label now
    }
}

BOOST_AUTO_TEST_CASE(smoothing_is_the_app_files) {
    const auto plain = loss_of({4}, nothing).value();
    const auto smooth = loss_of({4}, [](proto::Model::Builder model) {
                            model.initLoss().initCrossEntropy().setLabelSmoothing(1);
                        }).value();
    operand_pool pool{1 << 20};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    tensor logits = random_tensor(pool, {1, 4}, 1);
    double of_all = 0; // with the whole truth spread out: the mean of the losses of all labels
    for (std::int32_t label = 0; label < 4; ++label)
        of_all += plain.run(context, logits, int32s(pool, {1}, {label}), 0).value().loss_sum;
    BOOST_TEST(std::abs(smooth.run(context, logits, int32s(pool, {1}, {2}), 0).value().loss_sum -
                        of_all / 4) < 1e-6);
}

BOOST_AUTO_TEST_CASE(numbers_are_compared_by_mean_squared_error) {
    const auto loss = loss_of({2, 3}, [](proto::Model::Builder model) {
                          model.initLoss().setMeanSquaredError();
                      }).value();
    BOOST_TEST((loss.labels().type == data_type::float32));
    BOOST_TEST((loss.labels().shape == tensor_shape{2, 3}));
    for (const auto& backend : backends()) {
        operand_pool pool{1 << 20};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        tensor outputs = random_tensor(pool, {2, 2, 3}, 1),
               targets = random_tensor(pool, {2, 2, 3}, 2);
        BOOST_REQUIRE(ops->run(fill{outputs, 1.5f}));
        BOOST_REQUIRE(ops->run(fill{targets, 1}));
        const auto done = loss.run(context, outputs, targets, 0.5f).value();
        BOOST_TEST(done.loss_sum == 0.5); // 0.25 of each sample
        BOOST_TEST(done.counted == 2u);
        BOOST_TEST(done.counted == count_labels(targets, -1));
        BOOST_TEST(std::abs(done.gradient.values<float>()[5] - 0.5f * 2 * 0.5f / 6) < 1e-7f);
    }
}

BOOST_AUTO_TEST_SUITE_END()
