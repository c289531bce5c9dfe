#include <boost/test/unit_test.hpp>

#include "kernels/optim/optimizer.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

weights_ptr some_weights(memory_pool& pool) {
    auto w = std::make_shared<weights>();
    w->version = weight_version{4};
    w->parameters = {random_tensor(pool, {7, 11}, 1), random_tensor(pool, {7}, 2)};
    w->momentum = {random_tensor(pool, {7, 11}, 3), random_tensor(pool, {7}, 4)};
    return w;
}

} // namespace

BOOST_AUTO_TEST_SUITE(optimizers)

BOOST_AUTO_TEST_CASE(an_update_in_place_gives_the_same_bits_as_one_in_new_memory) {
    for (const auto& backend : backends())
        for (float momentum : {0.f, 0.9f}) {
            memory_pool pool{1 << 24};
            const auto ops = backend.make(pool);
            compute_context context{*ops, pool};
            const std::vector<tensor> gradients{random_tensor(pool, {7, 11}, 5),
                                                random_tensor(pool, {7}, 6)};
            const sgd optimizer{.learning_rate = 0.1f, .momentum = momentum};

            weights_ptr sole = some_weights(pool);
            const std::byte* place = sole->parameters[0].data();
            sole = optimizer.step(context, std::move(sole), gradients).value();
            BOOST_TEST((sole->parameters[0].data() == place));

            const weights_ptr stashed = some_weights(pool);
            const auto before = some_weights(pool);
            const weights_ptr next = optimizer.step(context, stashed, gradients).value();
            BOOST_TEST((next->parameters[0].data() != stashed->parameters[0].data()));
            BOOST_TEST(next->version.value() == 5u);
            for (std::size_t p = 0; p < 2; ++p) {
                BOOST_TEST(bit_equal(stashed->parameters[p], before->parameters[p]));
                BOOST_TEST(bit_equal(next->parameters[p], sole->parameters[p]));
            }
        }
}

BOOST_AUTO_TEST_CASE(a_tensor_that_somebody_holds_alone_survives_the_update_of_the_others) {
    memory_pool pool{1 << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    weights_ptr w = some_weights(pool);
    const tensor kept = w->parameters[1];
    const float before = kept.values<float>()[0];
    const std::vector<tensor> gradients{random_tensor(pool, {7, 11}, 5),
                                        random_tensor(pool, {7}, 6)};
    w = sgd{.learning_rate = 1}.step(context, std::move(w), gradients).value();
    BOOST_TEST(kept.values<float>()[0] == before);
    BOOST_TEST(w->parameters[1].values<float>()[0] == before - gradients[1].values<float>()[0]);
}

BOOST_AUTO_TEST_CASE(momentum_follows_its_equation) {
    memory_pool pool{1 << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    auto w = std::make_shared<weights>();
    w->parameters = {tensor::allocate(pool, data_type::float32, {1}).value()};
    w->momentum = {tensor::allocate(pool, data_type::float32, {1}).value()};
    w->parameters[0].mutable_values<float>()[0] = 2;
    w->momentum[0].mutable_values<float>()[0] = 1;
    std::vector<tensor> gradient{tensor::allocate(pool, data_type::float32, {1}).value()};
    gradient[0].mutable_values<float>()[0] = 3;
    const auto next =
        sgd{.learning_rate = 0.5f, .momentum = 0.25f}.step(context, w, gradient).value();
    BOOST_TEST(next->momentum[0].values<float>()[0] == 3.25f);
    BOOST_TEST(next->parameters[0].values<float>()[0] == 0.375f);
}

BOOST_AUTO_TEST_CASE(gradients_add_up) {
    memory_pool pool{1 << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    std::vector<tensor> sum;
    sum.push_back(random_tensor(pool, {9}, 1));
    const std::vector<tensor> more{random_tensor(pool, {9}, 2)};
    const float expected = sum[0].values<float>()[8] + more[0].values<float>()[8];
    BOOST_TEST(accumulate(context, sum, more).ok());
    BOOST_TEST(sum[0].values<float>()[8] == expected);
}

BOOST_AUTO_TEST_CASE(learning_rates_follow_their_schedule) {
    capnp::MallocMessageBuilder message;
    auto train = message.initRoot<proto::Train>();
    train.setEpochs(5);
    train.initOptimizer().initSgd().setLearningRate(0.8f);
    BOOST_TEST(learning_rate_at(train.asReader(), 3) == 0.8f);
    auto step = train.initSchedule().initStep();
    step.setEveryEpochs(2);
    step.setFactor(0.5f);
    BOOST_TEST(learning_rate_at(train.asReader(), 1) == 0.8f);
    BOOST_TEST(learning_rate_at(train.asReader(), 4) == 0.2f);
    train.initSchedule().initCosine().setFinalFactor(0.25f);
    BOOST_TEST(learning_rate_at(train.asReader(), 0) == 0.8f);
    BOOST_TEST(learning_rate_at(train.asReader(), 2) == 0.5f);
    BOOST_TEST(learning_rate_at(train.asReader(), 4) == 0.2f);
}

BOOST_AUTO_TEST_SUITE_END()
