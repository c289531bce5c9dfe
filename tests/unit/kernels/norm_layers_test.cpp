// Normalisations, and pools and convolutions with what they need.
#include <boost/test/unit_test.hpp>

#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using description = proto::Layer::Builder;

auto grouped_conv2d(std::uint32_t out, std::uint32_t groups) {
    return [=](description layer) {
        auto conv = layer.initConv2d();
        conv.setOut(out);
        conv.setKernel(3);
        conv.setPadding(1);
        conv.setGroups(groups);
    };
}

void batch_norm(description layer) {
    layer.initBatchNorm();
}
void layer_norm(description layer) {
    layer.initLayerNorm();
}
void rms_norm(description layer) {
    layer.initRmsNorm();
}
void local_response_norm(description layer) {
    layer.initLocalResponseNorm().setAlpha(0.5f);
}
void padded_max_pool(description layer) {
    auto pool = layer.initMaxPool();
    pool.setKernel(3);
    pool.setStride(2);
    pool.setPadding(1);
}
void padded_average_pool(description layer) {
    auto pool = layer.initAveragePool();
    pool.setKernel(3);
    pool.setStride(1);
    pool.setPadding(1);
}
void global_average_pool(description layer) {
    layer.setGlobalAveragePool();
}

} // namespace

BOOST_AUTO_TEST_SUITE(norm_layers)

BOOST_AUTO_TEST_CASE(normalised_models_give_the_same_bits_wherever_they_are_cut) {
    model_builder model{16, 13, 13};
    model.conv2d(32, 3, 1, 1)
        .relu()
        .layer(padded_max_pool)
        .layer(grouped_conv2d(16, 2))
        .layer(batch_norm)
        .relu()
        .layer(local_response_norm)
        .layer(padded_average_pool)
        .layer(layer_norm)
        .layer(rms_norm)
        .layer(global_average_pool)
        .linear(10);
    constexpr std::size_t layers = 12;
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 30};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        const tensor input = random_tensor(pool, {5, 16, 13, 13}, 1);
        const tensor truth = labels(pool, 5, 10, 2);
        const auto trained = [&](const std::vector<std::size_t>& counts) {
            cut_model cut{context, model.build(), counts};
            for (int step = 0; step < 2; ++step)
                cut.train(context, input, truth, *sgd_rule(0.9f), 0.05f);
            return cut;
        };
        const auto averages = [](const cut_model& cut) {
            std::vector<tensor> all;
            for (const auto& version : cut.versions)
                all.insert(all.end(), version->averages.begin(), version->averages.end());
            return all;
        };
        const cut_model whole = trained({layers});
        BOOST_TEST(averages(whole).size() == 2u);
        for (std::size_t first = 1; first < layers; ++first) {
            const cut_model parts = trained({first, layers - first});
            BOOST_TEST_CONTEXT(backend.name << ", cut behind " << first) {
                check_bit_equal(whole.parameters(), parts.parameters());
                check_bit_equal(averages(whole), averages(parts));
                BOOST_TEST(whole.loss == parts.loss);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(gradients_through_norms_match_finite_differences) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 30};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        model_builder model{4, 7, 6};
        model.layer(grouped_conv2d(16, 2))
            .layer(batch_norm)
            .layer(local_response_norm)
            .layer(padded_average_pool)
            .layer(layer_norm)
            .layer(rms_norm)
            .linear(7)
            .layer(batch_norm)
            .linear(4);
        cut_model whole{context, model.build(), {9}};
        const tensor input = random_tensor(pool, {4, 4, 7, 6}, 1);
        check_finite_differences(context, whole, input, labels(pool, 4, 4, 2), backend.name);
    }
}

BOOST_AUTO_TEST_CASE(computing_a_batch_norm_again_gives_the_same_bits_and_averages) {
    const auto body = model_builder{}.conv2d(16, 3, 1, 1).layer(batch_norm).relu();
    model_builder kept{16, 7, 7}, again{16, 7, 7};
    kept.layer(batch_norm).append(body).append(body).linear(5);
    again.layer(batch_norm).recompute(body).recompute(body).linear(5);
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 30};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        const tensor input = random_tensor(pool, {4, 16, 7, 7}, 1);
        const tensor truth = labels(pool, 4, 5, 2);
        cut_model a{context, kept.build(), {8}};
        cut_model b{context, again.build(), {4}};
        auto same = std::make_shared<weights>(*b.versions[0]);
        same->parameters = a.versions[0]->parameters;
        b.versions[0] = same;
        BOOST_TEST_CONTEXT(backend.name) {
            check_bit_equal(a.gradients(context, input, truth)[0],
                            b.gradients(context, input, truth)[0]);
            for (int step = 0; step < 2; ++step) {
                a.train(context, input, truth, *sgd_rule(0.9f), 0.05f);
                b.train(context, input, truth, *sgd_rule(0.9f), 0.05f);
            }
            BOOST_TEST(b.versions[0]->averages.size() == 6u);
            check_bit_equal(a.versions[0]->averages, b.versions[0]->averages);
            check_bit_equal(a.parameters(), b.parameters());
        }
    }
}

BOOST_AUTO_TEST_CASE(running_averages_come_to_the_batchs_and_stand_for_it_in_evaluation) {
    operand_pool pool{1ull << 28};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    model_builder model{3, 4, 4};
    model.layer(batch_norm).linear(5);
    cut_model whole{context, model.build(), {2}, 0};
    const tensor input = random_tensor(pool, {8, 3, 4, 4}, 1);
    const tensor truth = labels(pool, 8, 5, 2);
    BOOST_TEST(whole.stages[0].averages()[1].name == "layers.0.running_var");
    const auto average = [&](std::size_t which) {
        return whole.versions[0]->averages[which].values<float>()[0];
    };
    BOOST_TEST(average(0) == 0.f);
    BOOST_TEST(average(1) == 1.f);
    for (int step = 0; step < 200; ++step)
        whole.train(context, input, truth, *sgd_rule(0), 0);
    double sum = 0, squares = 0;
    for (std::size_t s = 0; s < 8; ++s)
        for (std::size_t p = 0; p < 16; ++p) {
            const double x = double{input.values<float>()[s * 48 + p]};
            sum += x;
            squares += x * x;
        }
    const double mean = sum / 128;
    BOOST_TEST(double{average(0)} == mean, boost::test_tools::tolerance(1e-4));
    BOOST_TEST(double{average(1)} == (squares - 128 * mean * mean) / 127,
               boost::test_tools::tolerance(1e-4));

    const auto outputs = [&](bool training) {
        auto passed = whole.stages[0].forward(context, *whole.versions[0], {.training = training},
                                              {input.reshaped(input.shape())});
        return std::move(passed.value().outputs[0]);
    };
    const tensor trained = outputs(true), evaluated = outputs(false);
    for (std::size_t i = 0; i < trained.elements(); ++i)
        BOOST_TEST(std::abs(trained.values<float>()[i] - evaluated.values<float>()[i]) < 0.02f);
}

BOOST_AUTO_TEST_CASE(statistics_of_microbatches_add_up_to_their_minibatchs) {
    operand_pool pool{1ull << 28};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    model_builder model{3, 4, 4};
    model.layer(batch_norm).linear(5);
    const auto stage = stage_program::create(model.build(), {0, 2}).value();
    const auto w = stage.initialise(context, 1, 0).value();
    const tensor input = random_tensor(pool, {8, 3, 4, 4}, 1);
    const auto mean_of = [&](std::size_t first, std::size_t count, float share) {
        const batch_part part{.training = true, .first_row = first, .share = share};
        auto passed = stage.forward(context, *w, part, {input.rows(first, count)}).value();
        auto back = stage
                        .backward(context, *w, part, std::move(passed.saved),
                                  {random_tensor(pool, {count, 5}, 2)})
                        .value();
        BOOST_REQUIRE(back.weight_gradients.size() == 6u); // of four parameters, and two statistics
        return back.weight_gradients[4].values<float>()[0];
    };
    BOOST_TEST(mean_of(0, 6, 0.75f) + mean_of(6, 2, 0.25f) == mean_of(0, 8, 1),
               boost::test_tools::tolerance(1e-4f));
}

BOOST_AUTO_TEST_CASE(settings_that_do_not_fit_are_refused) {
    BOOST_TEST(failure_of(model_builder{4, 5, 5}.layer(grouped_conv2d(6, 4)).linear(2).build()) ==
               "layers[0] conv2d: groups 4 must divide the 4 channels of the input and the 6 of "
               "the output");
    const auto too_much = [](description layer) {
        auto pool = layer.initMaxPool();
        pool.setKernel(3);
        pool.setPadding(2);
    };
    BOOST_TEST(failure_of(model_builder{4, 5, 5}.layer(too_much).linear(2).build()) ==
               "layers[0] max_pool: padding 2 must be at most half the kernel, which is 3");
    BOOST_TEST(failure_of(model_builder{8}.layer(global_average_pool).linear(2).build()) ==
               "layers[0] global_average_pool: needs an input of [channels, height, width], but "
               "gets [8]");
}

BOOST_AUTO_TEST_SUITE_END()
