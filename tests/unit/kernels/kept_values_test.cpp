// What layers keep from a forward pass to its backward pass, as a plan says it, beside what they do keep.
#include <boost/test/unit_test.hpp>

#include <map>

#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using description = proto::Layer::Builder;

std::size_t bytes_kept(const backend& on, model_builder model, std::size_t layers,
                       std::size_t samples, const std::function<tensor(memory_pool&)>& make_input) {
    operand_pool pool{1ull << 30};
    const auto ops = on.make(pool);
    compute_context context{*ops, pool};
    const auto program = stage_program::create(model.build(), {0, layers}).value();
    const auto w = program.initialise(context, 1, 0).value();
    const tensor input = make_input(pool);
    BOOST_TEST(input.shape()[0] == samples);
    const auto passed = program.forward(context, *w, {.training = true}, {input}).value();
    std::map<const std::byte*, std::size_t> kept;
    for (const saved_layer& layer : passed.saved.layers)
        for (const tensor& t : layer.tensors)
            kept[t.data()] = t.bytes();
    std::size_t sum = 0;
    for (const auto& [data, bytes] : kept)
        sum += bytes;
    return sum;
}

std::size_t bytes_said(model_builder model, std::size_t layers) {
    const auto program = stage_program::create(model.build(), {0, layers}).value();
    std::size_t sum = 0;
    for (const std::size_t bytes : program.kept_bytes_per_sample())
        sum += bytes;
    return sum;
}

} // namespace

BOOST_AUTO_TEST_SUITE(kept_values)

BOOST_AUTO_TEST_CASE(image_layers_keep_what_they_say) {
    model_builder model{3, 16, 16};
    model.conv2d(8, 3, 1, 1)
        .relu()
        .max_pool(2) // these three run as one
        .residual(model_builder{}
                      .layer([](description layer) { layer.initLocalResponseNorm(); })
                      .conv2d(8, 3, 1, 1)
                      .gelu())
        .concat({model_builder{}.max_pool(1).tanh(), {}})
        .layer([](description layer) { layer.initAveragePool().setKernel(2); })
        .recompute(model_builder{}.conv2d(4, 1, 1, 0).gelu().conv2d(4, 1, 1, 0))
        .max_pool(2)
        .flatten()
        .linear(20)
        .relu()
        .layer([](description layer) { layer.initDropout().setProbability(0.5f); })
        .linear(5);
    const std::size_t layers = count_layers(model.build()) - 1; // without the loss
    const auto images = [](memory_pool& pool) { return random_tensor(pool, {4, 3, 16, 16}, 1); };
    for (const auto& backend : backends()) // none keeps in rows what another keeps in blocks
        BOOST_TEST(bytes_kept(backend, model, layers, 4, images) == 4 * bytes_said(model, layers),
                   backend.name);
}

// With blocks of channels a value is kept in each of the two orders that layers keep it in; what is said counts one.
BOOST_AUTO_TEST_CASE(a_value_that_is_kept_in_two_orders_is_said_once) {
    const auto images = [](memory_pool& pool) { return random_tensor(pool, {4, 16, 8, 8}, 1); };
    const auto check = [&](const model_builder& body, std::size_t elements_twice) {
        model_builder model{16, 8, 8};
        model.append(body).linear(5);
        const std::size_t layers = count_layers(model.build());
        const std::size_t of_loss = 5 * sizeof(float);
        const std::size_t said = 4 * (bytes_said(model, layers) - of_loss);
        for (const auto& backend : backends()) {
            const std::size_t conversions =
                backend.name == "cpu" ? 4 * elements_twice * sizeof(float) : 0;
            BOOST_TEST(bytes_kept(backend, model, layers, 4, images) == said + conversions,
                       backend.name);
        }
    };
    const auto conv_relu = model_builder{}.conv2d(16, 3, 1, 1).relu();
    check(conv_relu, 16 * 8 * 8); // relu's output in blocks, linear's input in rows
    check(model_builder{conv_relu}.flatten(), 16 * 8 * 8);
    check(model_builder{conv_relu}.append(conv_relu).flatten().linear(7).relu(), 16 * 8 * 8);
    check(model_builder{}
              .conv2d(32, 3, 1, 1)
              .residual(model_builder{}
                            .layer([](description layer) { layer.initLocalResponseNorm(); })
                            .conv2d(32, 3, 1, 1)
                            .gelu())
              .concat({model_builder{}.max_pool(1).tanh(), model_builder{}.conv2d(6, 1, 1, 0), {}})
              .layer([](description layer) { layer.initAveragePool().setKernel(2); })
              .recompute(model_builder{}.conv2d(16, 1, 1, 0).gelu().conv2d(16, 1, 1, 0))
              .tanh()
              .layer([](description layer) { layer.initLayerNorm(); })
              .append(conv_relu),
          2 * 16 * 4 * 4); // tanh's output, and the last relu's
}

BOOST_AUTO_TEST_CASE(batch_norm_keeps_some_numbers_of_the_batch_besides) {
    model_builder model{3, 8, 8};
    model.conv2d(8, 3, 1, 1)
        .layer([](description layer) { layer.initBatchNorm(); })
        .relu()
        .linear(5);
    const auto images = [](memory_pool& pool) { return random_tensor(pool, {4, 3, 8, 8}, 1); };
    for (const auto& backend : backends())
        BOOST_TEST(bytes_kept(backend, model, 3, 4, images) ==
                       4 * bytes_said(model, 3) + 3 * 8 * sizeof(float),
                   backend.name);
}

BOOST_AUTO_TEST_CASE(sequence_layers_keep_what_they_say) {
    for (const bool last : {false, true}) {
        model_builder model{6};
        model.embedding(11, 8)
            .layer([](description layer) { layer.initPositionEmbedding(); })
            .layer([](description layer) {
                layer.initTransformer().setHeads(2);
                layer.getTransformer().setDropout(0.1f);
            })
            .layer([](description layer) { layer.initRmsNorm(); })
            .layer([](description layer) { layer.setSoftmax(); })
            .gru(7)
            .lstm(9)
            .gru(5)
            .lstm(9, last)
            .linear(11);
        const std::size_t layers = count_layers(model.build()) - 1;
        const auto tokens = [](memory_pool& pool) {
            return labels(pool, 5 * 6, 11, 1).reshaped({5, 6});
        };
        for (const auto& backend : backends())
            BOOST_TEST(bytes_kept(backend, model, layers, 5, tokens) ==
                           5 * bytes_said(model, layers),
                       backend.name);
    }
}

BOOST_AUTO_TEST_CASE(a_decoder_keeps_the_encoders_outputs_once) {
    const auto attend = model_builder{}.layer([](description layer) {
        layer.initAttentionGru().setOut(3);
        layer.getAttentionGru().setAttention(2);
    });
    const auto encoder = model_builder{}.embedding(9, 5).gru(4);
    const auto decoder = model_builder{}.embedding(9, 6).append(attend).append(attend).linear(9);
    model_builder model{6 + 4};
    model.layer([=](description layer) {
        auto block = layer.initEncoderDecoder();
        block.setSourceLength(6);
        encoder.write(block.initEncoder(encoder.size()));
        decoder.write(block.initDecoder(decoder.size()));
    });
    const std::size_t layers = count_layers(model.build()) - 1;
    const auto rows = [](memory_pool& pool) { return labels(pool, 30, 9, 1).reshaped({3, 10}); };
    for (const auto& backend : backends())
        BOOST_TEST(bytes_kept(backend, model, layers, 3, rows) == 3 * bytes_said(model, layers),
                   backend.name);
}

BOOST_AUTO_TEST_CASE(layers_before_all_parameters_keep_nothing_and_the_last_the_losss_gradient) {
    model_builder model{2, 4, 4};
    model.max_pool(2).flatten().linear(3);
    const auto program = stage_program::create(model.build(), {0, 3}).value();
    const std::vector<std::size_t> expected{0, 0, (2 * 2 * 2 + 3) * sizeof(float)};
    BOOST_TEST(program.kept_bytes_per_sample() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
