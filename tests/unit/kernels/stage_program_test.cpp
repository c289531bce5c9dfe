#include <boost/test/unit_test.hpp>

#include <cmath>
#include <tuple>

#include "kernels/codec/sufficient_factors.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "kernels/graph/profile.hpp"
#include "kernels/layers/layer.hpp"
#include "kernels/optim/optimizer.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"
#include "tests/unit/kernels/models.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

model_builder conv_net(std::uint32_t side) {
    model_builder model{1, side, side};
    model.conv2d(16, 3, 1, 1)
        .relu()
        .max_pool(2)
        .conv2d(32, 3, 1, 1)
        .relu()
        .max_pool(2)
        .linear(24)
        .relu()
        .linear(10);
    return model;
}

} // namespace

BOOST_AUTO_TEST_SUITE(stage_programs)

BOOST_AUTO_TEST_CASE(a_model_gives_the_same_bits_wherever_it_is_cut_and_in_halves) {
    // The second: more samples than are convolved at a time, overlapping windows, channels that do not fill a vector.
    model_builder odd{16, 25, 23};
    odd.conv2d(32, 3, 1, 1).relu().max_pool(3, 2).conv2d(6, 3, 2, 0).relu().max_pool(2).linear(10);
    // Functions that keep their input, of images in blocks and of rows.
    model_builder smooth{16, 9, 9};
    smooth.conv2d(32, 3, 1, 1).gelu().max_pool(3, 2).conv2d(6, 3, 1, 0).tanh().linear(7).gelu();
    const std::vector<std::tuple<model_builder, tensor_shape, std::size_t>> models{
        {conv_net(8), {5, 1, 8, 8}, 9},
        {odd, {11, 16, 25, 23}, 7},
        {smooth.linear(10), {3, 16, 9, 9}, 8},
        {blocks(), {3, 16, 8, 8}, 20}};
    for (const auto& backend : backends())
        for (auto [model, shape, layers] : models) {
            operand_pool pool{1ull << 30};
            const auto ops = backend.make(pool);
            compute_context context{*ops, pool};
            const tensor input = random_tensor(pool, shape, 1);
            const tensor truth = labels(pool, shape[0], 10, 2);
            const auto trained = [&](const std::vector<std::size_t>& counts,
                                     bool in_halves = false) {
                cut_model cut{context, model.build(), counts};
                cut.in_halves = in_halves;
                for (int step = 0; step < 2; ++step)
                    cut.train(context, input, truth, *sgd_rule(0.9f), 0.05f);
                return cut;
            };
            const cut_model whole = trained({layers});
            std::vector<std::vector<std::size_t>> cuts{std::vector<std::size_t>(layers, 1)};
            for (std::size_t first = 1; first < layers; ++first)
                cuts.push_back({first, layers - first});
            for (const auto& cut : cuts)
                for (const bool in_halves : {false, true}) {
                    const cut_model parts = trained(cut, in_halves);
                    BOOST_TEST_CONTEXT(backend.name << ", " << cut.size()
                                                    << " stages, the first of " << cut[0]
                                                    << (in_halves ? ", in halves" : "")) {
                        check_bit_equal(whole.parameters(), parts.parameters());
                        BOOST_TEST(whole.loss == parts.loss);
                    }
                }
        }
}

// Linear layers leave their weights to the second half; what they keep for it is their input and their output's gradient.
BOOST_AUTO_TEST_CASE(a_first_half_keeps_what_the_second_multiplies) {
    operand_pool pool{1ull << 30};
    const auto ops = backends().front().make(pool);
    compute_context context{*ops, pool};
    model_builder model{8};
    model.linear(6).relu().linear(4);
    const auto program = stage_program::whole(model.build()).value();
    const auto w = program.initialise(context, 1, 0).value();
    const batch_part part{.training = true};
    auto passed = program.forward(context, *w, part, {random_tensor(pool, {5, 8}, 1)}).value();
    auto half = program
                    .backward_inputs(context, *w, part, std::move(passed.saved),
                                     {random_tensor(pool, {5, 4}, 2)})
                    .value();
    BOOST_TEST(half.kept_bytes == 5 * (8 + 6 + 6 + 4) * sizeof(float));
    std::vector<std::size_t> handed;
    const stage_program::gradients_hook ready = [&](std::size_t first, std::span<const tensor>) {
        handed.push_back(first);
        return result<void>{};
    };
    const auto made = program.backward_weights(context, *w, part, *half.rest, &ready).value();
    BOOST_TEST(made.size() == 4u);
    BOOST_TEST(handed == (std::vector<std::size_t>{2, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(training_learns_its_batch) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 30};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        auto model = conv_net(8);
        cut_model whole{context, model.build(), {9}};
        const tensor input = random_tensor(pool, {16, 1, 8, 8}, 1);
        const tensor truth = labels(pool, 16, 10, 2);
        whole.gradients(context, input, truth);
        const double before = whole.loss;
        for (int step = 0; step < 40; ++step)
            whole.train(context, input, truth, *sgd_rule(0.9f), 0.05f);
        BOOST_TEST(whole.loss < before / 10,
                   backend.name << ": " << before << " became " << whole.loss);
    }
}

BOOST_AUTO_TEST_CASE(gradients_of_the_whole_model_match_finite_differences) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 30};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        // No relu and no pooling: their kinks would need smaller steps than float32 can resolve.
        model_builder model{2, 6, 5};
        model.conv2d(16, 3, 2, 1).conv2d(3, 2, 1, 0).linear(7).linear(4);
        cut_model whole{context, model.build(), {4}};
        const tensor input = random_tensor(pool, {3, 2, 6, 5}, 1);
        const tensor truth = labels(pool, 3, 4, 2);
        check_finite_differences(context, whole, input, truth, backend.name);
    }
}

namespace {

double variance(const tensor& t) {
    double squares = 0;
    for (float x : t.values<float>())
        squares += double{x} * x;
    return squares / static_cast<double>(t.elements());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_linear_layers_gradient_comes_as_its_factors_where_that_is_asked_for) {
    for (const auto& backend : backends()) {
        operand_pool pool{1u << 28};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        const auto program = stage_program::whole(conv_net(8).build()).value();
        const auto w = program.initialise(context, 3, 0).value();
        const tensor input = random_tensor(pool, {5, 1, 8, 8}, 1);
        const auto backward = [&](const std::vector<bool>* as_factors) {
            const batch_part part{.training = true};
            auto forward = program.forward(context, *w, part, {input}).value();
            return program
                .backward(context, *w, part, std::move(forward.saved),
                          {random_tensor(pool, {5, 10}, 2)}, nullptr, as_factors)
                .value()
                .weight_gradients;
        };
        const auto whole = backward(nullptr);
        std::vector<bool> as_factors;
        for (const parameter_info& p : program.parameters())
            as_factors.push_back(p.factor_rows > 0);
        BOOST_TEST(std::ranges::count(as_factors, true) == 2);
        const auto given = backward(&as_factors);
        for (std::size_t p = 0; p < whole.size(); ++p) {
            if (!as_factors[p]) {
                BOOST_TEST(bit_equal(whole[p], given[p]));
                continue;
            }
            const sufficient_factors how{5};
            BOOST_REQUIRE(how.check(whole[p].shape(), given[p]).ok());
            tensor product = random_tensor(pool, whole[p].shape(), 4);
            BOOST_REQUIRE(how.decode(context, given[p], 1, nullptr, product).ok());
            for (std::size_t i = 0; i < product.elements(); ++i)
                BOOST_TEST(std::abs(whole[p].values<float>()[i] - product.values<float>()[i]) <
                           1e-4f);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_weights_and_another_seed_others) {
    operand_pool pool{1ull << 28};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    auto model = conv_net(8);
    const auto program = stage_program::create(model.build(), {0, 9}).value();
    const auto first = program.initialise(context, 1, 0).value();
    const auto again = program.initialise(context, 1, 0).value();
    const auto other = program.initialise(context, 2, 0).value();
    check_bit_equal(first->parameters, again->parameters);
    BOOST_TEST(!bit_equal(first->parameters[0], other->parameters[0]));
    // He before a relu, variance 2 / fan_in: layers.6.weight is (24, 128). Glorot before none, 2 / (fan_in + fan_out):
    // layers.8.weight is (10, 24).
    BOOST_TEST(variance(first->parameters[4]) == 2.0 / 128, boost::test_tools::tolerance(0.1));
    BOOST_TEST(variance(first->parameters[6]) == 2.0 / 34, boost::test_tools::tolerance(0.3));
    BOOST_TEST(first->parameters[5].values<float>()[0] == 0.f);
    BOOST_TEST(program.parameters()[4].name == "layers.6.weight");
}

BOOST_AUTO_TEST_CASE(training_takes_nothing_from_the_system_after_its_first_steps) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 30};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        auto model = conv_net(8);
        cut_model parts{context, model.build(), {3, 6}};
        const tensor input = random_tensor(pool, {8, 1, 8, 8}, 1);
        const tensor truth = labels(pool, 8, 10, 2);
        const auto step = [&] { parts.train(context, input, truth, *sgd_rule(0.9f), 0.05f); };
        step();
        step();
        const auto before = pool.statistics();
        for (int i = 0; i < 5; ++i)
            step();
        BOOST_TEST(pool.statistics().system_allocations_total == before.system_allocations_total);
        BOOST_TEST(pool.statistics().bytes_in_use == before.bytes_in_use);
    }
}

BOOST_AUTO_TEST_CASE(impossible_models_are_refused_with_the_layer_and_its_shapes) {
    BOOST_TEST(failure_of(model_builder{1, 4, 4}.conv2d(2, 3, 1, 0).relu().max_pool(3).build()) ==
               "layers[2] max_pool: window 3x3 is larger than its input 2x2");
    BOOST_TEST(failure_of(model_builder{8}.linear(4).conv2d(2, 3, 1, 0).build()) ==
               "layers[1] conv2d: needs an input of [channels, height, width], but gets [4]");
    BOOST_TEST(failure_of(model_builder{1, 4, 4}.conv2d(2, 3, 1, 0).build())
                   .starts_with("layers[0] conv2d: the last"));
    BOOST_TEST(failure_of(model_builder{1000000, 1000000}.linear(4).build()).find("elements") !=
               std::string::npos);
    BOOST_TEST(failure_of(model_builder{1 << 20}.linear(1 << 20).build())
                   .starts_with("layers[0] linear: weight"));
    BOOST_TEST(failure_of(model_builder{1, 0}.linear(4).build()) ==
               "model.input: no dimension may be 0");
    auto model = conv_net(8);
    BOOST_TEST(!stage_program::create(model.build(), {8, 2}).ok());
    BOOST_TEST(!stage_program::create(model.build(), {9, 0}).ok());
}

BOOST_AUTO_TEST_CASE(tensors_that_do_not_fit_the_stage_are_refused) {
    operand_pool pool{1ull << 28};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    auto model = conv_net(8);
    const auto program = stage_program::create(model.build(), {0, 9}).value();
    const auto w = program.initialise(context, 1, 0).value();
    const auto refused = [&](tensor t) {
        auto passed = program.forward(context, *w, {}, {std::move(t)});
        return !passed && passed.failure().code() == errc::protocol;
    };
    BOOST_TEST(refused(random_tensor(pool, {2, 1, 8, 9}, 1)));
    BOOST_TEST(refused(random_tensor(pool, {2, 64}, 1)));
    BOOST_TEST(refused(labels(pool, 2, 3, 1)));
    BOOST_TEST(refused(tensor{}));
    const tensor logits = random_tensor(pool, {2, 10}, 1);
    tensor truth = labels(pool, 2, 10, 1);
    truth.mutable_values<std::int32_t>()[1] = 10;
    auto judged = program.loss(context, logits, truth, 1);
    BOOST_REQUIRE(!judged);
    BOOST_TEST((judged.failure().code() == errc::data));
    BOOST_TEST(judged.failure().message() ==
               "the label of sample 1 of the batch is 10, but the model has 10 outputs");
}

BOOST_AUTO_TEST_CASE(a_stage_is_described_by_shapes_parameters_and_work) {
    auto model = conv_net(8);
    const auto infos = describe_model(model.build()).value();
    BOOST_REQUIRE(infos.size() == 9u);
    BOOST_TEST(infos[3].name == "layers.3 conv2d");
    BOOST_TEST(to_string(infos[3].output_shape) == "[32, 4, 4]");
    BOOST_TEST(infos[3].parameter_elements == 32u * 16 * 9 + 32);
    BOOST_TEST(infos[3].forward_flops_per_sample == 2.0 * 32 * 16 * 16 * 9);
    const auto stage = stage_program::create(model.build(), {3, 3}).value();
    BOOST_TEST(to_string(stage.inputs()[0].info.shape) == "[16, 4, 4]");
    BOOST_TEST(to_string(stage.outputs()[0].info.shape) == "[32, 2, 2]");
    BOOST_TEST(!stage.has_loss());
    BOOST_TEST(stage.parameter_bytes() == 4u * (32 * 16 * 9 + 32));
}

BOOST_AUTO_TEST_CASE(profiling_times_every_layer) {
    operand_pool pool{1ull << 28};
    const auto ops = make_reference_operations();
    compute_context context{*ops, pool};
    auto model = conv_net(8);
    const monotonic_time time;
    const auto times =
        profile_layers(context, model.build(), {.batch = 2, .repetitions = 1}, time).value();
    BOOST_REQUIRE(times.size() == 9u);
    BOOST_TEST(times[3].name == "layers.3 conv2d");
    BOOST_TEST(times[3].forward.count() > 0);
    BOOST_TEST(times[3].backward.count() > 0);
    const std::atomic<bool> given_up{true};
    const auto none =
        profile_layers(context, model.build(), {.batch = 2, .given_up = &given_up}, time);
    BOOST_REQUIRE(!none.ok());
    BOOST_TEST((none.failure().code() == errc::cancelled));
}

BOOST_AUTO_TEST_SUITE_END()
