#include <boost/test/unit_test.hpp>

#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint32_t words = 6; // of the vocabulary

model_builder attention_gru(std::uint32_t out) {
    return model_builder{}.layer([=](proto::Layer::Builder layer) {
        layer.initAttentionGru().setOut(out);
        layer.getAttentionGru().setAttention(3);
    });
}

model_builder translator(std::uint32_t source_length, const model_builder& encoder,
                         const model_builder& decoder, std::uint32_t target_length = 4) {
    model_builder model{source_length + target_length};
    model.layer([=](proto::Layer::Builder layer) {
        auto block = layer.initEncoderDecoder();
        block.setSourceLength(source_length);
        encoder.write(block.initEncoder(encoder.size()));
        decoder.write(block.initDecoder(decoder.size()));
    });
    return model;
}
// A row of source_length + 4 tokens to [4, words].
model_builder translator(std::uint32_t source_length) {
    return translator(source_length, model_builder{}.embedding(words, 5).gru(4),
                      model_builder{}.embedding(words, 3).residual(attention_gru(3)).linear(words));
}
constexpr std::size_t layers = 8;

// Rows whose sources have 1, 3, 4 ... tokens, padded with 0.
tensor rows(memory_pool& pool, std::size_t samples, std::size_t source_length) {
    tensor all = labels(pool, samples * (source_length + 4), words - 1, 1);
    auto tokens = all.mutable_values<std::int32_t>();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::size_t sample = i / (source_length + 4), at = i % (source_length + 4);
        tokens[i] = at > 2 * sample && at < source_length ? 0 : tokens[i] + 1;
    }
    return all.reshaped({samples, source_length + 4});
}

tensor labels_of(memory_pool& pool, std::size_t samples) {
    return labels(pool, samples * 4, words, 2).reshaped({samples, 4});
}

} // namespace

BOOST_AUTO_TEST_SUITE(encoder_decoders)

BOOST_AUTO_TEST_CASE(gradients_match_finite_differences) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 24};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        auto model = translator(5);
        cut_model whole{context, model.build(), {layers}};
        check_finite_differences(context, whole, rows(pool, 3, 5), labels_of(pool, 3),
                                 backend.name);
    }
}

BOOST_AUTO_TEST_CASE(a_model_gives_the_same_bits_wherever_it_is_cut) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 24};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        auto model = translator(5);
        const auto trained = [&](const std::vector<std::size_t>& counts) {
            cut_model cut{context, model.build(), counts};
            for (int step = 0; step < 2; ++step)
                cut.train(context, rows(pool, 3, 5), labels_of(pool, 3), *sgd_rule(0.9f), 0.05f);
            return cut.parameters();
        };
        const auto whole = trained({layers});
        for (std::size_t first = 1; first < layers; ++first)
            check_bit_equal(whole, trained({first, layers - first}));
        check_bit_equal(whole, trained(std::vector<std::size_t>(layers, 1)));
    }
}

BOOST_AUTO_TEST_CASE(the_decoder_pays_no_attention_to_padding) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 24};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        // The weights are the same: they do not depend on lengths.
        const auto outputs = [&](std::size_t source_length) {
            auto model = translator(static_cast<std::uint32_t>(source_length));
            const cut_model whole{context, model.build(), {layers}};
            const tensor source = rows(pool, 2, 5); // of 1 and 3 tokens
            tensor row = tensor::allocate(pool, data_type::int32, {2, source_length + 4}).value();
            for (std::size_t s = 0; s < 2; ++s) {
                const auto from = source.values<std::int32_t>().subspan(s * 9, 9);
                const auto to = row.mutable_values<std::int32_t>().subspan(s * (source_length + 4));
                std::ranges::fill(to.first(source_length), 0);
                std::ranges::copy(from.first(3), to.begin());
                std::ranges::copy(from.last(4), to.subspan(source_length).begin());
            }
            return whole.stages[0].forward(context, *whole.versions[0], {}, {row})->outputs[0];
        };
        const tensor plain = outputs(3), padded = outputs(7);
        for (std::size_t i = 0; i < plain.elements(); ++i)
            BOOST_TEST(std::abs(plain.values<float>()[i] - padded.values<float>()[i]) < 1e-6f);
    }
}

BOOST_AUTO_TEST_CASE(tokens_are_joined_and_split_as_numbers_are) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 24};
        const auto ops = backend.make(pool);
        const tensor row = rows(pool, 3, 5);
        std::array<tensor, 2> parts;
        for (std::size_t i = 0; i < parts.size(); ++i)
            parts[i] = tensor::allocate(pool, data_type::int32, {3, 2 + 5 * i}).value();
        BOOST_REQUIRE(ops->run(split{.axis = 1, .input = row, .outputs = parts}).ok());
        BOOST_TEST(parts[1].values<std::int32_t>()[7] == row.values<std::int32_t>()[9 + 2]);
        tensor joined = tensor::allocate(pool, data_type::int32, row.shape()).value();
        BOOST_REQUIRE(ops->run(concat{.axis = 1, .inputs = parts, .output = joined}).ok());
        BOOST_TEST(bit_equal(joined, row));
        parts[0] = tensor::allocate(pool, data_type::float32, {3, 2}).value();
        BOOST_TEST(!ops->run(concat{.axis = 1, .inputs = parts, .output = joined}).ok());
    }
}

BOOST_AUTO_TEST_CASE(lengths_are_counted_to_the_last_token_that_is_no_padding) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 24};
        const auto ops = backend.make(pool);
        tensor tokens = tensor::allocate(pool, data_type::int32, {4, 3}).value();
        std::ranges::copy(std::vector<std::int32_t>{7, 0, 2, 5, 7, 7, 0, 2, 7, 7, 7, 7},
                          tokens.mutable_values<std::int32_t>().begin());
        tensor lengths = tensor::allocate(pool, data_type::int32, {4}).value();
        BOOST_REQUIRE(ops->run(sequence_lengths{tokens, 7, lengths}).ok());
        const auto found = lengths.values<std::int32_t>();
        BOOST_TEST(
            (std::vector(found.begin(), found.end()) == std::vector<std::int32_t>{3, 1, 2, 1}));
        BOOST_TEST(!ops->run(sequence_lengths{tokens.reshaped({12}), 7, lengths}).ok());
    }
}

BOOST_AUTO_TEST_CASE(layers_are_named_by_their_side_and_what_attention_reads_crosses_a_cut) {
    auto model = translator(5);
    const auto infos = describe_model(model.build()).value();
    std::vector<std::string> names;
    for (const auto& info : infos)
        names.push_back(info.name + " " + to_string(info.output_shape));
    const std::vector<std::string> expected{
        "layers.0.source slice [5]",           "layers.0.encoder.0 embedding [5, 5]",
        "layers.0.encoder.1 gru [5, 4]",       "layers.0.target slice [4]",
        "layers.0.decoder.0 embedding [4, 3]", "layers.0.decoder.1.layers.0 attention_gru [4, 3]",
        "layers.0.decoder.1 residual [4, 3]",  "layers.0.decoder.2 linear [4, 6]"};
    BOOST_TEST(names == expected, boost::test_tools::per_element());
    // The row, the source for its length, and the encoder's outputs.
    BOOST_TEST(infos[2].crossing_bytes == 4u * (9 + 5 + 5 * 4));
    BOOST_TEST(infos[2].crossing_gradient_bytes == 4u * 5 * 4);
    const auto stage = stage_program::create(model.build(), {5, 1}).value();
    std::vector<std::string> parameters;
    for (const auto& parameter : stage.parameters())
        parameters.push_back(parameter.name + " " + to_string(parameter.shape));
    const std::string at = "layers.0.decoder.1.layers.0.";
    const std::vector<std::string> expected_parameters{
        at + "cell.weight_ih [9, 7]", at + "cell.weight_hh [9, 3]", at + "cell.bias_ih [9]",
        at + "cell.bias_hh [9]",      at + "query.weight [3, 3]",   at + "key.weight [3, 4]",
        at + "key.bias [3]",          at + "score.weight [1, 3]"};
    BOOST_TEST(parameters == expected_parameters, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_cannot_translate_is_refused_with_its_place) {
    const auto encoder = model_builder{}.embedding(words, 5).gru(4);
    const auto embedded = model_builder{}.embedding(words, 3);
    const auto decoder = model_builder{embedded}.append(attention_gru(3));
    const auto refusal = [](model_builder model) { return failure_of(model.build()); };
    BOOST_TEST(refusal(translator(5, encoder, embedded)) ==
               "layers[0].encoder_decoder.decoder: reads nothing of the encoder; it needs "
               "attention_gru");
    BOOST_TEST(refusal(translator(5, model_builder{encoder}.lstm(4, true), decoder)) ==
               "layers[0].encoder_decoder.decoder[1] attention_gru: reads numbers for each of the "
               "5 positions of the source, but the encoder gives [4]");
    BOOST_TEST(refusal(translator(5, model_builder{}.linear(4), decoder)) ==
               "layers[0] encoder_decoder: needs tokens, but gets numbers; put it first, and begin "
               "its encoder with embedding");
    BOOST_TEST(refusal(translator(5, encoder, model_builder{}.embedding(words - 1, 3))) ==
               "layers[0].encoder_decoder.decoder[0] embedding: has a vocabulary of 5, but its "
               "tokens are of 6");
    BOOST_TEST(
        refusal(translator(5, encoder, model_builder{embedded}.recompute(attention_gru(3)))) ==
        "layers[0].encoder_decoder.decoder[1].recompute.layers[0] attention_gru: has no "
        "encoder to read; it stands in the decoder of an encoder_decoder, there in no "
        "recompute");
    BOOST_TEST(refusal(model_builder{4}.embedding(words, 3).append(attention_gru(3))) ==
               "layers[1] attention_gru: has no encoder to read; it stands in the decoder of an "
               "encoder_decoder, there in no recompute");
    BOOST_TEST(refusal(translator(5, encoder, decoder, 0)) ==
               "layers[0] encoder_decoder: source_length 5 leaves nothing for the target of an "
               "input of [5], which is [source_length + length of the target]");
}

BOOST_AUTO_TEST_SUITE_END()
