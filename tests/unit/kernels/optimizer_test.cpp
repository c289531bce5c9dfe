#include <boost/test/unit_test.hpp>

#include "kernels/optim/optimizer.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

weights_ptr some_weights(memory_pool& pool, std::size_t kinds) {
    auto w = std::make_shared<weights>();
    w->version = weight_version{4};
    w->updates = {4, 4};
    w->parameters = {random_tensor(pool, {7, 11}, 1), random_tensor(pool, {7}, 2)};
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t kind = 0; kind < kinds; ++kind) {
            tensor kept = random_tensor(pool, w->parameters[i].shape(), 30 + 2 * kind + i);
            for (float& x : kept.mutable_values<float>())
                x *= x; // some are averages of squares
            w->state.push_back(std::move(kept));
        }
    return w;
}

std::vector<optimizer_ptr> all_rules() {
    using description = proto::Optimizer::Builder;
    return {sgd_rule(0),
            sgd_rule(0.9f),
            rule([](description o) {
                auto s = o.initSgd();
                s.setMomentum(0.9f);
                s.setNesterov(true);
                s.setWeightDecay(0.1f);
            }),
            rule([](description o) { o.initAdagrad(); }),
            rule([](description o) { o.initRmsprop(); }),
            rule([](description o) { o.initAdadelta(); }),
            rule([](description o) { o.initAdam(); }),
            rule([](description o) { o.initAdamw(); }),
            rule([](description o) { o.initLars(); }),
            rule([](description o) { o.initLamb(); })};
}

} // namespace

BOOST_AUTO_TEST_SUITE(optimizers)

BOOST_AUTO_TEST_CASE(an_update_in_place_gives_the_same_bits_as_one_in_new_memory) {
    for (const auto& backend : backends())
        for (const optimizer_ptr& r : all_rules()) {
            const std::size_t kinds = r->state().size();
            operand_pool pool{1 << 24};
            const auto ops = backend.make(pool);
            compute_context context{*ops, pool};
            const std::vector<tensor> gradients{random_tensor(pool, {7, 11}, 5),
                                                random_tensor(pool, {7}, 6)};

            weights_ptr sole = some_weights(pool, kinds);
            const std::byte* place = sole->parameters[0].data();
            sole = r->step(context, std::move(sole), gradients, 0.1f).value();
            BOOST_TEST((sole->parameters[0].data() == place));

            const weights_ptr stashed = some_weights(pool, kinds);
            const auto before = some_weights(pool, kinds);
            const weights_ptr next = r->step(context, stashed, gradients, 0.1f).value();
            BOOST_TEST((next->parameters[0].data() != stashed->parameters[0].data()));
            BOOST_TEST(next->version.value() == 5u);
            for (std::size_t p = 0; p < 2; ++p) {
                BOOST_TEST(bit_equal(stashed->parameters[p], before->parameters[p]));
                BOOST_TEST(bit_equal(next->parameters[p], sole->parameters[p]));
            }
            BOOST_REQUIRE(next->state.size() == 2 * kinds);
            for (std::size_t k = 0; k < 2 * kinds; ++k) {
                BOOST_TEST(bit_equal(stashed->state[k], before->state[k]));
                BOOST_TEST(bit_equal(next->state[k], sole->state[k]));
                BOOST_TEST(!bit_equal(next->state[k], before->state[k]));
            }
        }
}

BOOST_AUTO_TEST_CASE(a_tensor_that_somebody_holds_alone_survives_the_update_of_the_others) {
    operand_pool pool{1 << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    weights_ptr w = some_weights(pool, 0);
    const tensor kept = w->parameters[1];
    const float before = kept.values<float>()[0];
    const std::vector<tensor> gradients{random_tensor(pool, {7, 11}, 5),
                                        random_tensor(pool, {7}, 6)};
    w = sgd_rule(0)->step(context, std::move(w), gradients, 1).value();
    BOOST_TEST(kept.values<float>()[0] == before);
    BOOST_TEST(w->parameters[1].values<float>()[0] == before - gradients[1].values<float>()[0]);
}

BOOST_AUTO_TEST_CASE(momentum_follows_its_equation) {
    operand_pool pool{1 << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    auto w = std::make_shared<weights>();
    w->parameters = {tensor::allocate(pool, data_type::float32, {1}).value()};
    w->state = {tensor::allocate(pool, data_type::float32, {1}).value()};
    w->updates = {0};
    w->parameters[0].mutable_values<float>()[0] = 2;
    w->state[0].mutable_values<float>()[0] = 1;
    std::vector<tensor> gradient{tensor::allocate(pool, data_type::float32, {1}).value()};
    gradient[0].mutable_values<float>()[0] = 3;
    const auto next = sgd_rule(0.25f)->step(context, w, gradient, 0.5f).value();
    BOOST_TEST(next->state[0].values<float>()[0] == 3.25f);
    BOOST_TEST(next->parameters[0].values<float>()[0] == 0.375f);
}

// One step of each rule that PyTorch does not have, for a weight of norm 5 and a bias.
BOOST_AUTO_TEST_CASE(layerwise_rates_follow_the_norm_of_each_weight_and_leave_biases_alone) {
    operand_pool pool{1 << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    const auto fresh = [&](std::size_t kinds) {
        auto w = std::make_shared<weights>();
        w->parameters = {tensor::allocate(pool, data_type::float32, {1, 2}).value(),
                         tensor::allocate(pool, data_type::float32, {1}).value()};
        w->parameters[0].mutable_values<float>()[0] = 3;
        w->parameters[0].mutable_values<float>()[1] = 4;
        w->parameters[1].mutable_values<float>()[0] = 1;
        w->updates = {0, 0};
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t kind = 0; kind < kinds; ++kind) {
                w->state.push_back(
                    tensor::allocate(pool, data_type::float32, w->parameters[i].shape()).value());
                std::ranges::fill(w->state.back().mutable_values<float>(), 0.f);
            }
        return weights_ptr{w};
    };
    std::vector<tensor> gradients{tensor::allocate(pool, data_type::float32, {1, 2}).value(),
                                  tensor::allocate(pool, data_type::float32, {1}).value()};
    gradients[0].mutable_values<float>()[0] = 0;
    gradients[0].mutable_values<float>()[1] = 2;
    gradients[1].mutable_values<float>()[0] = 1;

    const auto lars = rule([](proto::Optimizer::Builder o) {
        auto s = o.initLars();
        s.setMomentum(0);
        s.setTrust(0.1f);
    });
    auto next = lars->step(context, fresh(0), gradients, 1).value();
    // The gradient has norm 2 and is scaled to 0.1 * 5.
    BOOST_TEST(next->parameters[0].values<float>()[1] == 3.5f, boost::test_tools::tolerance(1e-6f));
    BOOST_TEST(next->parameters[1].values<float>()[0] == 0.f);

    const auto lamb = rule([](proto::Optimizer::Builder o) { o.initLamb(); });
    next = lamb->step(context, fresh(2), gradients, 0.1f).value();
    // Adam's first step has sign(g) for every element: here (0, 1), which is scaled to norm 5.
    BOOST_TEST(next->parameters[0].values<float>()[0] == 3.f);
    BOOST_TEST(next->parameters[0].values<float>()[1] == 3.5f, boost::test_tools::tolerance(1e-5f));
    BOOST_TEST(next->parameters[1].values<float>()[0] == 0.9f, boost::test_tools::tolerance(1e-5f));
}

// Versions count what a schedule has seen. A first step of these rules is as long as the learning rate.
BOOST_AUTO_TEST_CASE(steps_are_counted_by_parameter_whatever_the_version) {
    operand_pool pool{1 << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    const optimizer_ptr rules[] = {rule([](proto::Optimizer::Builder o) { o.initAdam(); }),
                                   rule([](proto::Optimizer::Builder o) { o.initAdamw(); }),
                                   rule([](proto::Optimizer::Builder o) { o.initLamb(); })};
    for (const optimizer_ptr& r : rules) {
        auto w = std::make_shared<weights>();
        w->version = weight_version{40};
        w->updates = {0, 7};
        std::vector<tensor> gradients;
        for (std::size_t i = 0; i < 2; ++i) {
            w->parameters.push_back(tensor::allocate(pool, data_type::float32, {1}).value());
            gradients.push_back(tensor::allocate(pool, data_type::float32, {1}).value());
            for (std::size_t kind = 0; kind < 2; ++kind)
                w->state.push_back(tensor::allocate(pool, data_type::float32, {1}).value());
        }
        for (std::vector<tensor>* const all : {&w->parameters, &w->state})
            for (tensor& t : *all)
                t.mutable_values<float>()[0] = 0;
        for (tensor& t : gradients)
            t.mutable_values<float>()[0] = 3;
        const weights_ptr next = r->step(context, w, gradients, 0.5f).value();
        BOOST_TEST(next->version.value() == 41u);
        BOOST_TEST((next->updates == std::vector<std::uint64_t>{1, 8}));
        BOOST_TEST(next->parameters[0].values<float>()[0] == -0.5f,
                   boost::test_tools::tolerance(1e-5f));
        BOOST_TEST(next->parameters[1].values<float>()[0] > -0.45f);
    }
}

BOOST_AUTO_TEST_CASE(gradients_add_up) {
    operand_pool pool{1 << 24};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    std::vector<tensor> sum;
    sum.push_back(random_tensor(pool, {9}, 1));
    const std::vector<tensor> more{random_tensor(pool, {9}, 2)};
    const float expected = sum[0].values<float>()[8] + more[0].values<float>()[8];
    BOOST_TEST(accumulate(context, sum, more).ok());
    BOOST_TEST(sum[0].values<float>()[8] == expected);
}

BOOST_AUTO_TEST_SUITE_END()
