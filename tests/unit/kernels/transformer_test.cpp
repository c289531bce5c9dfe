// A block of a transformer as one word.
#include <boost/test/unit_test.hpp>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using description = proto::Layer::Builder;

// What a block is made of; the width is 8.
struct settings {
    proto::TransformerNorm norm = proto::TransformerNorm::LAYER_NORM;
    proto::TransformerActivation activation = proto::TransformerActivation::GELU;
    std::uint32_t mlp = 12;
    float dropout = 0;
    bool causal = true;
};

model_builder one_word(const settings& s) {
    return model_builder{}.layer([=](description layer) {
        auto block = layer.initTransformer();
        block.setHeads(2);
        block.setMlp(s.mlp);
        block.setCausal(s.causal);
        block.setNorm(s.norm);
        block.setActivation(s.activation);
        block.setDropout(s.dropout);
    });
}

model_builder written_out(const settings& s) {
    const auto norm = [=](description layer) {
        if (s.norm == proto::TransformerNorm::LAYER_NORM)
            layer.initLayerNorm();
        else
            layer.initRmsNorm();
    };
    const auto activation = [=](description layer) {
        switch (s.activation) {
        case proto::TransformerActivation::GELU:
            return layer.setGelu();
        case proto::TransformerActivation::GELU_TANH:
            return layer.setGeluTanh();
        case proto::TransformerActivation::RELU:
            return layer.setRelu();
        case proto::TransformerActivation::SILU:
            return layer.setSilu();
        }
    };
    const auto dropout = [=](model_builder& half) {
        if (s.dropout > 0)
            half.layer([=](description layer) { layer.initDropout().setProbability(s.dropout); });
    };
    auto attend = model_builder{}.layer(norm).layer([=](description layer) {
        layer.initAttention().setHeads(2);
        layer.getAttention().setCausal(s.causal);
    });
    auto think = model_builder{}.layer(norm).linear(s.mlp > 0 ? s.mlp : 32).layer(activation);
    think.linear(8);
    dropout(attend);
    dropout(think);
    return model_builder{}.residual(attend).residual(think);
}

model_builder around(const model_builder& block) {
    model_builder model{6};
    model.embedding(11, 8).repeat(2, block).recompute(block).linear(11);
    return model;
}

} // namespace

BOOST_AUTO_TEST_SUITE(transformer_blocks)

BOOST_AUTO_TEST_CASE(one_word_is_the_same_layers_and_bits_as_the_block_written_out) {
    const settings all[] = {{},
                            {.norm = proto::TransformerNorm::RMS_NORM, .mlp = 0},
                            {.activation = proto::TransformerActivation::GELU_TANH},
                            {.activation = proto::TransformerActivation::SILU, .causal = false},
                            {.activation = proto::TransformerActivation::RELU, .dropout = 0.25f}};
    for (const settings& s : all) {
        operand_pool pool{1ull << 30};
        const auto ops = make_cpu_operations(pool);
        compute_context context{*ops, pool};
        auto short_model = around(one_word(s)), long_model = around(written_out(s));
        const auto described = describe_model(short_model.build()).value();
        const auto expected = describe_model(long_model.build()).value();
        BOOST_REQUIRE(described.size() == expected.size());
        BOOST_TEST(count_layers(short_model.build()) == expected.size());
        for (std::size_t l = 0; l < expected.size(); ++l) {
            const auto kind = [](const layer_info& info) {
                return info.name.substr(info.name.rfind(' '));
            };
            BOOST_TEST(kind(described[l]) == kind(expected[l]));
            BOOST_TEST((described[l].output_shape == expected[l].output_shape));
            BOOST_TEST(described[l].crossing_bytes == expected[l].crossing_bytes);
        }
        const tensor tokens = labels(pool, 5 * 6, 11, 1).reshaped({5, 6});
        const tensor truth = labels(pool, 5 * 6, 11, 2).reshaped({5, 6});
        cut_model a{context, short_model.build(), {expected.size()}};
        cut_model b{context, long_model.build(), {expected.size()}};
        check_bit_equal(a.parameters(), b.parameters());
        check_bit_equal(a.gradients(context, tokens, truth)[0],
                        b.gradients(context, tokens, truth)[0]);
        BOOST_TEST(a.loss == b.loss);
    }
}

BOOST_AUTO_TEST_CASE(its_parameters_have_the_names_of_pytorchs_encoder_layer) {
    model_builder model{6};
    model.embedding(11, 8).repeat(1, one_word({})).linear(11);
    const auto program = stage_program::create(model.build(), {1, 8}).value();
    std::vector<std::string> names;
    for (const auto& parameter : program.parameters())
        names.push_back(parameter.name);
    const std::string block = "layers.1.0.0.";
    const std::vector<std::string> expected{block + "norm1.weight",
                                            block + "norm1.bias",
                                            block + "self_attn.in_proj_weight",
                                            block + "self_attn.in_proj_bias",
                                            block + "self_attn.out_proj.weight",
                                            block + "self_attn.out_proj.bias",
                                            block + "norm2.weight",
                                            block + "norm2.bias",
                                            block + "linear1.weight",
                                            block + "linear1.bias",
                                            block + "linear2.weight",
                                            block + "linear2.bias"};
    BOOST_TEST(names == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_impossible_one_is_refused_at_its_part) {
    model_builder model{6};
    model.embedding(11, 7).repeat(2, one_word({})).linear(11);
    BOOST_TEST(failure_of(model.build()) ==
               "layers[1].repeat.layers[0].transformer.self_attn attention: 2 heads do not divide "
               "the width 7");
}

BOOST_AUTO_TEST_SUITE_END()
