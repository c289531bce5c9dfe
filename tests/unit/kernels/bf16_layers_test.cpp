#include <boost/test/unit_test.hpp>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// The CPU back end, and which of its operations were asked to round what they multiply.
class watched_operations final : public operations {
  public:
    explicit watched_operations(memory_pool& pool) : run_by_{make_cpu_operations(pool)} {}

    std::string_view name() const noexcept override { return run_by_->name(); }
    std::size_t channel_block(std::size_t channels) const noexcept override {
        return run_by_->channel_block(channels);
    }

    std::set<std::string> rounded, exact;
    precision wanted = precision::bfloat16;

  private:
    template <class Operation>
    result<void> watch(const char* kind, const Operation& op) {
        const auto keep = [&](precision products) {
            (products == wanted ? rounded : exact).insert(kind);
        };
        if constexpr (requires { op.products; })
            keep(op.products);
        if constexpr (requires { op.settings.products; })
            keep(op.settings.products);
        return run_by_->run(op);
    }
#define TROUPE_WATCH(kind)                                                                         \
    result<void> compute(const kind& op) override {                                                \
        return watch(#kind, op);                                                                   \
    }
    TROUPE_OPERATIONS(TROUPE_WATCH)
#undef TROUPE_WATCH

    std::unique_ptr<operations> run_by_;
};

model_builder image_model() {
    return model_builder{3, 8, 8}
        .conv2d(16, 3, 1, 1)
        .relu()
        .max_pool(2)
        .conv2d(16, 3, 1, 1)
        .linear(10);
}

model_builder translator() {
    model_builder model{9};
    model.layer([](proto::Layer::Builder layer) {
        auto block = layer.initEncoderDecoder();
        block.setSourceLength(5);
        const auto encoder = model_builder{}.embedding(6, 5).gru(4).lstm(4);
        encoder.write(block.initEncoder(encoder.size()));
        const auto decoder = model_builder{}.embedding(6, 3).layer([](proto::Layer::Builder l) {
            l.initAttentionGru().setOut(3);
            l.getAttentionGru().setAttention(3);
        });
        decoder.write(block.initDecoder(decoder.size()));
    });
    return model;
}

model_builder sequence_model() {
    model_builder model{6, 16};
    model
        .residual(model_builder{}.layer([](proto::Layer::Builder layer) {
            auto attention = layer.initAttention();
            attention.setHeads(2);
            attention.setCausal(true);
        }))
        .residual(model_builder{}.linear(32).gelu().linear(16))
        .recompute(model_builder{}.linear(16).tanh())
        .flatten()
        .linear(10);
    return model;
}

} // namespace

BOOST_AUTO_TEST_SUITE(bf16_layers)

BOOST_AUTO_TEST_CASE(every_product_is_rounded) {
    operand_pool pool{1ull << 30};
    watched_operations ops{pool};
    compute_context context{ops, pool};
    const auto passes = [&](proto::Precision precision) {
        const auto pass = [&](model_builder builder, const tensor& input, const tensor& truth) {
            const auto model = builder.precision(precision).build();
            cut_model{context, model, {count_layers(model)}}.gradients(context, input, truth);
        };
        pass(image_model(), random_tensor(pool, {2, 3, 8, 8}, 1), labels(pool, 2, 10, 2));
        pass(sequence_model(), random_tensor(pool, {2, 6, 16}, 1), labels(pool, 2, 10, 2));
        pass(translator(), labels(pool, 18, 6, 1).reshaped({2, 9}),
             labels(pool, 8, 3, 2).reshaped({2, 4}));
    };
    const std::set<std::string> all{
        "attention_backward",    "attention_forward",   "attention_gru_backward",
        "attention_gru_forward", "conv2d_backward",     "conv2d_forward",
        "conv2d_pool_backward",  "conv2d_pool_forward", "gru_backward",
        "gru_forward",           "linear_backward",     "linear_forward",
        "lstm_backward",         "lstm_forward"};
    for (const auto& [asked, wanted] : {std::pair{proto::Precision::BF16, precision::bfloat16},
                                        std::pair{proto::Precision::F16, precision::float16}}) {
        ops.wanted = wanted;
        ops.rounded.clear();
        passes(asked);
        BOOST_TEST(ops.rounded == all, boost::test_tools::per_element());
        BOOST_TEST(ops.exact == std::set<std::string>{}, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_model_has_the_same_bits_wherever_it_is_cut) {
    operand_pool pool{1ull << 30};
    const optimizer_ptr adam = rule([](proto::Optimizer::Builder o) { o.initAdam(); });
    const tensor truth = labels(pool, 9, 10, 2);
    for (auto& [shape, builder] : std::vector<std::pair<tensor_shape, model_builder>>{
             {{9, 6, 16}, sequence_model()}, {{9, 16, 8, 8}, blocks()}})
        for (const bool dot_products : {false, true}) {
            const auto ops = make_cpu_operations(pool, dot_products);
            compute_context context{*ops, pool};
            const auto model = builder.precision(proto::Precision::BF16).build();
            const std::size_t layers = count_layers(model);
            const auto input = [&] { return random_tensor(pool, shape, 1); };
            cut_model whole{context, model, {layers}, 2};
            cut_model cut{context, model, {1, 2, layers - 3}, 2};
            for (int i = 0; i < 3; ++i) {
                whole.train(context, input(), truth, *adam, 0.01f);
                cut.train(context, input(), truth, *adam, 0.01f);
            }
            check_bit_equal(whole.parameters(), cut.parameters());
        }
}

BOOST_AUTO_TEST_CASE(training_comes_as_far_as_with_float32) {
    operand_pool pool{1ull << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    const optimizer_ptr adam = rule([](proto::Optimizer::Builder o) { o.initAdam(); });
    const tensor truth = labels(pool, 64, 10, 2);
    std::vector<double> losses;
    std::vector<std::vector<tensor>> parameters;
    for (const auto precision :
         {proto::Precision::F32, proto::Precision::BF16, proto::Precision::F16}) {
        model_builder builder = sequence_model();
        const auto model = builder.precision(precision).build();
        cut_model trained{context, model, {count_layers(model)}, 2};
        for (int i = 0; i < 60; ++i)
            trained.train(context, random_tensor(pool, {64, 6, 16}, 1), truth, *adam, 0.003f);
        losses.push_back(trained.loss / 64);
        parameters.push_back(trained.parameters());
    }
    BOOST_TEST(losses[0] < 1.0); // log(10) is 2.3
    for (const std::size_t rounded : {1, 2}) {
        BOOST_TEST(!bit_equal(parameters[0][0], parameters[rounded][0]));
        BOOST_TEST(std::abs(losses[rounded] - losses[0]) < 0.03);
    }
}

BOOST_AUTO_TEST_SUITE_END()
