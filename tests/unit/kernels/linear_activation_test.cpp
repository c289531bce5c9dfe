// A linear layer and the activation behind it, which run as one.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

#include "tests/support/passing_operations.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using description = proto::Layer::Builder;

struct activation_row {
    const char* name;
    void (*describe)(description);
};
const activation_row activations[] = {
    {"relu", [](description layer) { layer.setRelu(); }},
    {"gelu", [](description layer) { layer.setGelu(); }},
    {"gelu_tanh", [](description layer) { layer.setGeluTanh(); }},
    {"silu", [](description layer) { layer.setSilu(); }},
    {"sigmoid", [](description layer) { layer.setSigmoid(); }},
    {"tanh", [](description layer) { layer.setTanh(); }},
};

// Of rows, or of images, in pairs of layers: 16 numbers wide, and 7.
model_builder pairs(bool images, bool has_bias, const activation_row& activation) {
    model_builder model = images ? model_builder{16, 3, 3} : model_builder{6, 5};
    for (const std::uint32_t width : {16u, 7u})
        model
            .layer([=](description layer) {
                layer.initLinear().setOut(width);
                layer.getLinear().setBias(has_bias);
            })
            .layer(activation.describe);
    return model.linear(10);
}

void check_near(const std::vector<tensor>& a, const std::vector<tensor>& b) {
    for (std::size_t t = 0; t < a.size(); ++t)
        for (std::size_t i = 0; i < a[t].elements(); ++i)
            BOOST_TEST(std::abs(a[t].values<float>()[i] - b[t].values<float>()[i]) < 1e-5f);
}

// The forward passes of linear layers and of activations by themselves.
class counting final : public passing_operations<counting> {
  public:
    using passing_operations::passing_operations;

    template <class Operation>
    void after(const Operation&) {}
    void after(const linear_forward& op) {
        (op.activation ? fused : alone) += 1;
        kept += op.pre_activation != nullptr ? 1 : 0;
    }
    void after(const pointwise_forward&) { ++activations_alone; }

    int fused = 0, alone = 0, activations_alone = 0;
    int kept = 0; // with what the activation got
};

// What a pass through the first `layers` of a model runs.
struct counts {
    int fused, alone, activations_alone, kept;
    friend bool operator==(const counts&, const counts&) = default;
    friend std::ostream& operator<<(std::ostream& to, const counts& c) {
        return to << c.fused << " pairs, " << c.alone << " linear layers and "
                  << c.activations_alone << " activations alone, " << c.kept << " kept";
    }
};
counts run(model_builder model, std::size_t layers, const tensor_shape& shape, bool training) {
    operand_pool pool{1u << 28};
    const auto ops = shipped_operations(pool);
    counting watched{*ops};
    compute_context context{watched, pool};
    const auto program = stage_program::create(model.build(), {0, layers}).value();
    const auto w = program.initialise(context, 1, 0).value();
    const auto input = random_tensor(pool, shape, 1);
    BOOST_REQUIRE(program.forward(context, *w, {.training = training}, {input}).ok());
    return {watched.fused, watched.alone, watched.activations_alone, watched.kept};
}

} // namespace

BOOST_AUTO_TEST_SUITE(linear_activation)

// A stage that ends between the two runs them one by one.
BOOST_AUTO_TEST_CASE(the_pair_gives_the_same_bits_as_the_layers_one_by_one) {
    for (const auto& backend : backends())
        for (const bool images : {false, true})
            for (const bool has_bias : {false, true})
                for (const activation_row& activation : activations) {
                    operand_pool pool{1u << 28};
                    const auto ops = backend.make(pool);
                    compute_context context{*ops, pool};
                    auto builder = pairs(images, has_bias, activation);
                    const auto model = builder.build();
                    const tensor input = random_tensor(
                        pool, images ? tensor_shape{4, 16, 3, 3} : tensor_shape{4, 6, 5}, 1);
                    const tensor truth =
                        images ? labels(pool, 4, 10, 2) : labels(pool, 24, 10, 2).reshaped({4, 6});
                    const auto trained = [&](const std::vector<std::size_t>& stages) {
                        cut_model cut{context, model, stages};
                        for (int step = 0; step < 2; ++step)
                            cut.train(context, input, truth, *sgd_rule(0.9f), 0.05f);
                        return cut;
                    };
                    const auto judged = [&](const cut_model& cut) {
                        std::vector<tensor> values{input};
                        for (std::size_t s = 0; s < cut.stages.size(); ++s)
                            values = cut.stages[s]
                                         .forward(context, *cut.versions[s], {}, std::move(values))
                                         .value()
                                         .outputs;
                        return values;
                    };
                    const auto together = trained({5}), apart = trained({1, 2, 2});
                    BOOST_TEST_CONTEXT(backend.name << ", " << activation.name) {
                        // cuBLASLt computes this one itself.
                        const bool is_ours = backend.name == "reference" || backend.name == "cpu" ||
                                             activation.name != std::string{"gelu_tanh"};
                        (is_ours ? check_bit_equal : check_near)(together.parameters(),
                                                                 apart.parameters());
                        (is_ours ? check_bit_equal : check_near)(judged(together), judged(apart));
                    }
                }
}

BOOST_AUTO_TEST_CASE(they_run_as_one_operation_and_leave_no_more_than_the_way_back_takes) {
    for (const activation_row& activation : activations) {
        const bool keeps_input = activation.name != std::string{"relu"} &&
                                 activation.name != std::string{"sigmoid"} &&
                                 activation.name != std::string{"tanh"};
        const auto model = pairs(false, true, activation);
        BOOST_TEST(run(model, 5, {4, 6, 5}, true) == (counts{2, 1, 0, keeps_input ? 2 : 0}));
        BOOST_TEST(run(model, 5, {4, 6, 5}, false) == (counts{2, 1, 0, 0}));
        // Where a stage ends between them.
        BOOST_TEST(run(model, 3, {4, 6, 5}, true) == (counts{1, 1, 0, keeps_input ? 1 : 0}));
    }
    const auto again = model_builder{5}.recompute(model_builder{}.linear(16).gelu()).linear(3);
    BOOST_TEST(run(again, 2, {4, 5}, true) == (counts{1, 1, 0, 1}));
    auto transformer = model_builder{6, 8};
    transformer.layer([](description layer) { layer.initTransformer().setHeads(2); });
    const std::size_t layers = count_layers(transformer.build());
    BOOST_TEST(run(transformer, layers, {4, 6, 8}, true).activations_alone == 0);
}

BOOST_AUTO_TEST_CASE(a_linear_layer_that_others_read_too_stays_alone) {
    const auto shared = model_builder{5}.linear(16).residual(model_builder{}.gelu()).linear(3);
    const std::size_t layers = count_layers(model_builder{shared}.build());
    BOOST_TEST(run(shared, layers, {4, 5}, true) == (counts{0, 2, 1, 0}));
}

BOOST_AUTO_TEST_CASE(the_pair_keeps_as_much_as_the_layers_one_by_one) {
    for (const activation_row& activation : activations) {
        auto builder = pairs(false, true, activation);
        const auto model = builder.build();
        const auto kept = [&](layer_range range) {
            const auto program = stage_program::create(model, range).value();
            const auto bytes = program.kept_bytes_per_sample();
            return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
        };
        BOOST_TEST(kept({0, 5}) == kept({0, 1}) + kept({1, 2}) + kept({3, 2}), activation.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
