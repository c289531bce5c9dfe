// Matrix products by cuBLASLt, on the emulated GPU.
#include <boost/test/unit_test.hpp>

#include <cublasLt.h>

#include <cmath>

#include "kernels/ops/ops.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using emulated::refused_epilogues;

struct refusing {
    explicit refusing(refused_epilogues which) { emulated::refuse(which); }
    ~refusing() { emulated::refuse(refused_epilogues::none); }
};

tensor like(memory_pool& pool, const tensor_shape& shape, bool aligned) {
    if (aligned)
        return tensor::allocate(pool, data_type::float32, shape).value();
    return tensor{data_type::float32, shape,
                  pool.allocate((shape.elements() + 1) * sizeof(float)).value(), sizeof(float)};
}

// A linear layer of rows of `outs`, with an activation.
struct activated_linear {
    operand_pool pool{1 << 22};
    tensor x, weight, bias;
    pointwise function;
    precision products;

    activated_linear(pointwise function, std::size_t outs, precision products = precision::bfloat16)
        : x{random_tensor(pool, {5, 7}, 1)}, weight{random_tensor(pool, {outs, 7}, 2)},
          bias{random_tensor(pool, {outs}, 3)}, function{function}, products{products} {}

    // The output and, in training, what the backward pass of the activation takes.
    std::vector<tensor> run(operations& ops, bool training, bool aligned = true) {
        const tensor_shape shape{5, weight.shape()[0]};
        std::vector<tensor> all{like(pool, shape, aligned)};
        if (training && !keeps_output(function))
            all.push_back(like(pool, shape, aligned));
        tensor* kept = all.size() > 1 ? &all[1] : nullptr;
        const auto done =
            ops.run(linear_forward{x, weight, &bias, all[0], products, function, kept});
        BOOST_REQUIRE_MESSAGE(done.ok(), (done ? "" : done.failure().message()));
        return all;
    }
};

void check_close(const std::vector<tensor>& given, const std::vector<tensor>& expected) {
    BOOST_REQUIRE(given.size() == expected.size());
    for (std::size_t t = 0; t < given.size(); ++t)
        for (std::size_t i = 0; i < given[t].elements(); ++i)
            BOOST_TEST(std::abs(given[t].values<float>()[i] - expected[t].values<float>()[i]) <
                       1e-6f);
}

std::unique_ptr<operations> fresh(memory_pool& pool) {
    return backends().front().make(pool);
}

} // namespace

BOOST_AUTO_TEST_SUITE(products)

BOOST_AUTO_TEST_CASE(a_bias_that_no_product_takes_is_added_behind_it) {
    operand_pool pool{1 << 22};
    const auto reference = make_reference_operations();
    const tensor x = random_tensor(pool, {5, 7}, 1), weight = random_tensor(pool, {9, 7}, 2);
    const tensor bias = random_tensor(pool, {9}, 3);
    tensor expected = random_tensor(pool, {5, 9}, 4), given = random_tensor(pool, {5, 9}, 5);
    BOOST_REQUIRE(reference->run(linear_forward{x, weight, &bias, expected}).ok());
    const refusing none{refused_epilogues::all};
    BOOST_REQUIRE(fresh(pool)->run(linear_forward{x, weight, &bias, given}).ok());
    BOOST_TEST(emulated::last_epilogue() == CUBLASLT_EPILOGUE_DEFAULT);
    for (std::size_t i = 0; i < given.elements(); ++i)
        BOOST_TEST(given.values<float>()[i] == expected.values<float>()[i],
                   boost::test_tools::tolerance(1e-5f));
}

BOOST_AUTO_TEST_CASE(an_activation_runs_within_the_product_where_that_takes_it) {
    struct row {
        pointwise function;
        std::size_t outs;
        bool training;
        cublasLtEpilogue_t expected;
    };
    for (const auto& [function, outs, training, expected] : std::initializer_list<row>{
             {pointwise::relu, 16, true, CUBLASLT_EPILOGUE_BIAS}, // NaN stays NaN
             {pointwise::gelu_tanh, 6, false, CUBLASLT_EPILOGUE_GELU_BIAS},
             {pointwise::gelu_tanh, 6, true, CUBLASLT_EPILOGUE_BIAS}, // no copy of such rows
             {pointwise::gelu_tanh, 16, true, CUBLASLT_EPILOGUE_GELU_AUX_BIAS},
             {pointwise::gelu_tanh, 16, false, CUBLASLT_EPILOGUE_GELU_BIAS},
             {pointwise::gelu, 16, true, CUBLASLT_EPILOGUE_BIAS}, // by erf
             {pointwise::silu, 16, true, CUBLASLT_EPILOGUE_BIAS}}) {
        activated_linear layer{function, outs};
        const auto ops = fresh(layer.pool);
        const auto given = layer.run(*ops, training);
        BOOST_TEST(emulated::last_epilogue() == expected);
        check_close(given, layer.run(*make_reference_operations(), training));
    }
}

BOOST_AUTO_TEST_CASE(in_float32_every_activation_is_as_exact_as_our_own) {
    activated_linear layer{pointwise::gelu_tanh, 16, precision::float32};
    check_close(layer.run(*fresh(layer.pool), true), layer.run(*make_reference_operations(), true));
    BOOST_TEST(emulated::last_epilogue() == CUBLASLT_EPILOGUE_BIAS);
}

BOOST_AUTO_TEST_CASE(an_activation_that_no_product_takes_runs_behind_it) {
    for (const auto which : {refused_epilogues::activations, refused_epilogues::all})
        for (const pointwise function : {pointwise::relu, pointwise::gelu_tanh})
            for (const bool training : {true, false}) {
                const refusing some{which};
                activated_linear layer{function, 16};
                const auto given = layer.run(*fresh(layer.pool), training);
                BOOST_TEST(emulated::last_epilogue() == (which == refused_epilogues::all
                                                             ? CUBLASLT_EPILOGUE_DEFAULT
                                                             : CUBLASLT_EPILOGUE_BIAS));
                check_close(given, layer.run(*make_reference_operations(), training));
            }
}

// Also where what was planned first was elsewhere.
BOOST_AUTO_TEST_CASE(where_outputs_lie_does_not_matter) {
    for (const auto which : {refused_epilogues::none, refused_epilogues::all})
        for (const pointwise function : {pointwise::relu, pointwise::gelu_tanh, pointwise::silu})
            for (const bool first : {true, false}) {
                const refusing some{which};
                activated_linear layer{function, 16};
                const auto ops = fresh(layer.pool);
                const auto here = layer.run(*ops, true, first);
                const auto epilogue = emulated::last_epilogue();
                const auto there = layer.run(*ops, true, !first);
                BOOST_TEST(emulated::last_epilogue() == epilogue);
                for (std::size_t t = 0; t < here.size(); ++t)
                    BOOST_TEST(bit_equal(here[t], there[t]));
            }
}

// Of 16-bit factors, and of sums that are many enough to be computed in rows of their own. What is behind the rows counts as
// zeros: freshly taken memory is full of NaN here.
BOOST_AUTO_TEST_CASE(rows_of_odd_lengths_are_padded_in_products) {
    constexpr std::size_t samples = 261, ins = 12, outs = 259, padded = 264;
    static_assert(samples * outs > 1 << 16);
    operand_pool pool{1 << 24};
    const tensor x = random_tensor(pool, {samples, ins}, 1);
    const tensor weight = random_tensor(pool, {outs, ins}, 2);
    const tensor bias = random_tensor(pool, {outs}, 3);
    const tensor dy = random_tensor(pool, {samples, outs}, 4);
    for (const precision products : {precision::bfloat16, precision::float16})
        for (const bool aligned : {true, false}) {
            const auto run = [&](operations& ops, const auto& after_each) {
                std::vector<tensor> out{like(pool, {samples, outs}, aligned),
                                        like(pool, {samples, ins}, aligned),
                                        like(pool, {outs, ins}, aligned)};
                BOOST_REQUIRE(ops.run(linear_forward{x, weight, &bias, out[0], products}).ok());
                after_each(padded, ins);
                const auto backward = [&](tensor* dx, tensor* dw) {
                    const linear_backward op{x, weight, dy, dx, dw, nullptr, products};
                    BOOST_REQUIRE(ops.run(op).ok());
                };
                backward(&out[1], nullptr);
                after_each(ins, padded);
                backward(nullptr, &out[2]);
                after_each(ins, samples);
                return out;
            };
            const auto given = run(*fresh(pool), [](std::size_t of_row, std::size_t inner) {
                BOOST_TEST(emulated::last_rows_were_aligned());
                BOOST_TEST(emulated::last_extents().of_row == of_row);
                BOOST_TEST(emulated::last_extents().inner == inner);
            });
            const auto expected = run(*make_reference_operations(), [](auto, auto) {});
            for (std::size_t t = 0; t < given.size(); ++t)
                for (std::size_t i = 0; i < given[t].elements(); ++i)
                    BOOST_REQUIRE_SMALL(
                        given[t].values<float>()[i] - expected[t].values<float>()[i], 1e-4f);
        }
}

BOOST_AUTO_TEST_SUITE_END()
