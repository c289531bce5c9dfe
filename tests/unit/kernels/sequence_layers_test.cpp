// Attention, dropout, learned positions and softmax as layers.
#include <boost/test/unit_test.hpp>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using description = proto::Layer::Builder;

auto attention(std::uint32_t heads, bool causal) {
    return [=](description layer) {
        auto settings = layer.initAttention();
        settings.setHeads(heads);
        settings.setCausal(causal);
    };
}
void dropout_of_a_quarter(description layer) {
    layer.initDropout().setProbability(0.25f);
}
void positions(description layer) {
    layer.initPositionEmbedding().setDeviation(0.5f);
}
void softmax(description layer) {
    layer.setSoftmax();
}

// A language model of 11 tokens on 6 positions.
model_builder little_transformer(bool again) {
    const auto attend = model_builder{}.layer(attention(2, true)).layer(dropout_of_a_quarter);
    const auto think = model_builder{}.linear(16).gelu().linear(8).layer(dropout_of_a_quarter);
    const auto block = model_builder{}.residual(attend).residual(think);
    model_builder model{6};
    model.embedding(11, 8).layer(positions).layer(dropout_of_a_quarter);
    if (again)
        model.repeat(2, model_builder{}.recompute(block));
    else
        model.repeat(2, block);
    model.layer(attention(4, false)).layer(softmax).linear(11);
    return model;
}

struct text {
    tensor tokens, truth;

    explicit text(memory_pool& pool)
        : tokens{labels(pool, 5 * 6, 11, 1).reshaped({5, 6})},
          truth{labels(pool, 5 * 6, 11, 2).reshaped({5, 6})} {}
};

} // namespace

BOOST_AUTO_TEST_SUITE(sequence_layers)

BOOST_AUTO_TEST_CASE(transformers_give_the_same_bits_wherever_they_are_cut_and_in_halves) {
    for (const bool again : {false, true})
        for (const auto& backend : backends()) {
            operand_pool pool{1ull << 30};
            const auto ops = backend.make(pool);
            compute_context context{*ops, pool};
            auto model = little_transformer(again);
            const std::size_t layers = count_layers(model.build());
            const text data{pool};
            const auto trained = [&](const std::vector<std::size_t>& counts,
                                     bool in_halves = false) {
                cut_model cut{context, model.build(), counts};
                cut.in_halves = in_halves;
                for (int step = 0; step < 2; ++step)
                    cut.train(context, data.tokens, data.truth, *sgd_rule(0.9f), 0.05f);
                return cut;
            };
            const cut_model whole = trained({layers});
            for (std::size_t first = 1; first < layers; ++first)
                for (const bool in_halves : {false, true}) {
                    const cut_model parts = trained({first, layers - first}, in_halves);
                    BOOST_TEST_CONTEXT(backend.name << ", cut behind " << first
                                                    << (in_halves ? ", in halves" : "")) {
                        check_bit_equal(whole.parameters(), parts.parameters());
                        BOOST_TEST(whole.loss == parts.loss);
                    }
                }
        }
}

BOOST_AUTO_TEST_CASE(gradients_through_transformers_match_finite_differences) {
    for (const bool again : {false, true})
        for (const auto& backend : backends()) {
            operand_pool pool{1ull << 30};
            const auto ops = backend.make(pool);
            compute_context context{*ops, pool};
            auto model = little_transformer(again);
            const text data{pool};
            const std::size_t layers = count_layers(model.build());
            cut_model whole{context, model.build(), {layers}};
            check_finite_differences(context, whole, data.tokens, data.truth, backend.name);
        }
}

BOOST_AUTO_TEST_CASE(dropout_is_the_same_however_a_minibatch_is_cut_and_another_in_every_layer) {
    operand_pool pool{1ull << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    model_builder model{6};
    model.embedding(11, 8)
        .layer(dropout_of_a_quarter)
        .layer(dropout_of_a_quarter)
        .recompute(model_builder{}.layer(dropout_of_a_quarter))
        .linear(11);
    const text data{pool};
    // What is behind so many layers, of the rows from `first` on.
    const auto behind = [&](std::size_t layers, batch_part part, std::size_t count) {
        const auto program = stage_program::create(model.build(), {0, layers}).value();
        const auto w = program.initialise(context, 1, 0).value();
        return program.forward(context, *w, part, {data.tokens.rows(part.first_row, count)})
            .value()
            .outputs[0];
    };
    const batch_part all{.training = true, .seed = 3, .minibatch = 4};
    const tensor whole = behind(4, all, 5);
    for (std::size_t row = 0; row < 5; ++row) {
        batch_part part = all;
        part.first_row = row;
        BOOST_TEST(bit_equal(behind(4, part, 1), whole.rows(row, 1)));
    }
    const auto zeros = [](const tensor& t) {
        return std::ranges::count(t.values<float>(), 0.f) / static_cast<double>(t.elements());
    };
    // 1/4, 7/16 and 37/64 where the masks are independent, within some three standard deviations.
    BOOST_TEST(std::abs(zeros(behind(2, all, 5)) - 0.25) < 0.09);
    BOOST_TEST(std::abs(zeros(behind(3, all, 5)) - 0.4375) < 0.09);
    BOOST_TEST(std::abs(zeros(whole) - 0.578) < 0.09);
    BOOST_TEST(!bit_equal(whole, behind(4, {.training = true, .seed = 3, .minibatch = 5}, 5)));
    BOOST_TEST(!bit_equal(whole, behind(4, {.training = true, .seed = 4, .minibatch = 4}, 5)));
    // In evaluation nothing is dropped.
    BOOST_TEST(bit_equal(behind(4, {}, 5), behind(1, {}, 5)));
}

BOOST_AUTO_TEST_CASE(impossible_attention_is_refused_with_its_place) {
    BOOST_TEST(failure_of(model_builder{6, 8}.layer(attention(3, false)).build()) ==
               "layers[0] attention: 3 heads do not divide the width 8");
    BOOST_TEST(failure_of(model_builder{8}.layer(attention(2, false)).build()) ==
               "layers[0] attention: needs an input of [positions, width], but gets [8]");
    BOOST_TEST(failure_of(model_builder{8}.layer(positions).build()) ==
               "layers[0] position_embedding: needs an input of [positions, width], but gets [8]");
}

BOOST_AUTO_TEST_CASE(attention_has_the_parameters_of_pytorchs) {
    auto model = model_builder{6, 8}.layer(attention(2, true)).linear(3);
    const auto program = stage_program::create(model.build(), {0, 1}).value();
    std::string all;
    for (const auto& parameter : program.parameters())
        all += parameter.name + to_string(parameter.shape) + " ";
    BOOST_TEST(all == "layers.0.in_proj_weight[24, 8] layers.0.in_proj_bias[24] "
                      "layers.0.out_proj.weight[8, 8] layers.0.out_proj.bias[8] ");
}

BOOST_AUTO_TEST_SUITE_END()
