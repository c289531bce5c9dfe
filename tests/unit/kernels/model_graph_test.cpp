#include <boost/test/unit_test.hpp>

#include "kernels/cpu/cpu_device.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(model_graphs)

BOOST_AUTO_TEST_CASE(gradients_through_blocks_match_finite_differences) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 30};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        model_builder model{2, 6, 5};
        model
            .residual(model_builder{}.conv2d(3, 3, 1, 1).tanh(), model_builder{}.conv2d(3, 1, 1, 0))
            .concat({model_builder{}.conv2d(2, 1, 1, 0), {}})
            .recompute(model_builder{}.residual(model_builder{}.conv2d(5, 3, 1, 1)))
            .linear(4);
        const std::size_t layers = count_layers(model.build());
        cut_model whole{context, model.build(), {layers}};
        const tensor input = random_tensor(pool, {3, 2, 6, 5}, 1);
        check_finite_differences(context, whole, input, labels(pool, 3, 4, 2), backend.name);
    }
}

BOOST_AUTO_TEST_CASE(computing_again_gives_the_same_bits_and_keeps_less) {
    operand_pool pool{1ull << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    const auto body = model_builder{}.conv2d(16, 3, 1, 1).gelu().conv2d(16, 3, 1, 1).gelu();
    model_builder kept{1, 16, 16}, again{1, 16, 16};
    kept.conv2d(16, 3, 1, 1).repeat(1, body).linear(10);
    again.conv2d(16, 3, 1, 1).recompute(body).linear(10);
    const tensor input = random_tensor(pool, {32, 1, 16, 16}, 1);
    const tensor truth = labels(pool, 32, 10, 2);
    const auto between_passes = [&](model_builder& model, std::size_t layers) {
        auto program = stage_program::create(model.build(), {0, layers}).value();
        auto w = program.initialise(context, 1, 0).value();
        const std::size_t before = pool.statistics().bytes_in_use;
        auto passed = program.forward(context, *w, {.training = true}, {input}).value();
        return pool.statistics().bytes_in_use - before;
    };
    BOOST_TEST(between_passes(again, 3) < between_passes(kept, 6) / 2);
    // The weights of both start alike where the layers before them count alike; so the first layer's do, and what trains it.
    cut_model a{context, kept.build(), {6}};
    cut_model b{context, again.build(), {3}};
    auto same = std::make_shared<weights>(*b.versions[0]);
    same->parameters = a.versions[0]->parameters;
    b.versions[0] = same;
    const auto expected = a.gradients(context, input, truth);
    check_bit_equal(expected[0], b.gradients(context, input, truth)[0]);
}

BOOST_AUTO_TEST_CASE(what_crosses_a_cut_includes_skip_connections) {
    auto model = blocks();
    // Within the second block: the body's value and the block's input, which the shortcut reads.
    const auto infos = describe_model(model.build()).value();
    BOOST_TEST(infos[0].name == "layers.0.layers.0 conv2d");
    BOOST_TEST(infos[2].name == "layers.0.layers.2.layers.0 tanh");
    BOOST_TEST(infos[4].name == "layers.0 residual");
    const auto stage = stage_program::create(model.build(), {5, 1}).value();
    BOOST_REQUIRE(stage.inputs().size() == 1u);
    BOOST_REQUIRE(stage.outputs().size() == 2u);
    BOOST_TEST(to_string(stage.outputs()[0].info.shape) == "[16, 8, 8]");
    BOOST_TEST(to_string(stage.outputs()[1].info.shape) == "[32, 4, 4]");
    BOOST_TEST(stage.outputs()[0].trained);
    BOOST_TEST(infos[5].crossing_bytes == 4u * (16 * 8 * 8 + 32 * 4 * 4));
    BOOST_TEST(stage.parameters()[0].name == "layers.1.layers.0.weight");
    // The model's input crosses the first cut, without a gradient.
    const auto first = stage_program::create(model.build(), {0, 1}).value();
    BOOST_REQUIRE(first.outputs().size() == 2u);
    BOOST_TEST(!first.outputs()[0].trained);
    BOOST_TEST(infos[0].crossing_gradient_bytes == 4u * 16 * 8 * 8);
}

BOOST_AUTO_TEST_CASE(tokens_become_rows_and_linear_takes_each_position_by_itself) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 30};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        model_builder model{6};
        model.embedding(11, 5).residual(model_builder{}.linear(5).tanh()).linear(7);
        BOOST_TEST(to_string(describe_model(model.build())->back().output_shape) == "[6, 7]");
        tensor tokens = labels(pool, 3 * 6, 11, 1).reshaped({3, 6});
        const tensor truth = labels(pool, 3 * 6, 7, 2).reshaped({3, 6});
        cut_model whole{context, model.build(), {5}};
        check_finite_differences(context, whole, tokens, truth, backend.name);
        cut_model parts{context, model.build(), {1, 2, 2}};
        check_bit_equal(whole.gradients(context, tokens, truth)[0], [&] {
            std::vector<tensor> all;
            for (const auto& some : parts.gradients(context, tokens, truth))
                all.insert(all.end(), some.begin(), some.end());
            return all;
        }());
        tokens.mutable_values<std::int32_t>()[7] = 11;
        const auto refused = whole.stages[0].forward(context, *whole.versions[0], {}, {tokens});
        BOOST_REQUIRE(!refused.ok());
        BOOST_TEST((refused.failure().code() == errc::data));
        BOOST_TEST(refused.failure().message().find("layers.0 embedding") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(impossible_blocks_are_refused_with_their_place) {
    BOOST_TEST(failure_of(model_builder{1, 4, 4}
                              .residual(model_builder{}.conv2d(2, 3, 1, 1))
                              .linear(4)
                              .build()) == "layers[0] residual: the block gives [2, 4, 4], but "
                                           "what is added to it is [1, 4, 4]; give the block "
                                           "a shortcut with layers that make them equal");
    BOOST_TEST(failure_of(model_builder{1, 4, 4}
                              .residual(model_builder{}.concat({{}, model_builder{}.max_pool(2)}))
                              .linear(4)
                              .build()) == "layers[0].residual.layers[0] concat: branch 1 gives "
                                           "[1, 2, 2], branch 0 [1, 4, 4]; only their first "
                                           "dimensions may differ");
    BOOST_TEST(failure_of(model_builder{4}.linear(4).embedding(5, 2).build()) ==
               "layers[1] embedding: needs tokens, but gets numbers; put it first");
    BOOST_TEST(failure_of(model_builder{4}
                              .concat({model_builder{}.embedding(5, 2), model_builder{}.linear(2)})
                              .build()) ==
               "layers[0].concat.branches[1].layers[0] linear: needs numbers, but gets tokens; put "
               "embedding before it");
    BOOST_TEST(
        failure_of(model_builder{1, 4, 4}
                       .residual(model_builder{}.recompute(
                           model_builder{}.relu().recompute(model_builder{}.conv2d(2, 9, 1, 0))))
                       .build()) ==
        "layers[0].residual.layers[0].recompute.layers[1].recompute.layers[0] conv2d: kernel 9x9 "
        "is larger than its input 4x4 with padding 0");
    BOOST_TEST(failure_of(model_builder{4}.relu().build()) ==
               "model.layers: hold no parameters, so there is nothing to train");
    BOOST_TEST(failure_of(model_builder{4}
                              .repeat(4096, model_builder{}.repeat(4096, model_builder{}.linear(4)))
                              .build())
                   .find("one layer more than the 4096") != std::string::npos);
    model_builder again = model_builder{}.linear(4);
    for (int i = 0; i < 7; ++i)
        again = model_builder{}.repeat(4096, model_builder{}.recompute(again));
    BOOST_TEST(
        failure_of(model_builder{4}.append(again).build()).find("one layer more than the 4096") !=
        std::string::npos);
    BOOST_TEST(failure_of(model_builder{4}
                              .linear(4)
                              .repeat(4000000000, model_builder{}.repeat(0, model_builder{}.relu()))
                              .build()) ==
               "layers[1].repeat: times is 4000000000, must be 1 to 4096");
    BOOST_TEST(failure_of(model_builder{4}
                              .linear(4)
                              .repeat(4096, model_builder{}.repeat(0, model_builder{}.relu()))
                              .build()) ==
               "layers[1].repeat.layers[0].repeat: times is 0, must be 1 to 4096");
    BOOST_TEST(failure_of(model_builder{4}.concat(std::vector<model_builder>(5000)).build()) ==
               "layers[0] concat: has more than 4096 branches");
    model_builder deep = model_builder{}.linear(4);
    for (int i = 0; i < 20; ++i)
        deep = model_builder{}.residual(deep);
    BOOST_TEST(failure_of(model_builder{4}.residual(deep).build()).find("16 deep") !=
               std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
