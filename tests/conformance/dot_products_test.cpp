// Products of bfloat16 numbers on processors.
#include <boost/test/unit_test.hpp>

#include <dnnl.hpp>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/conformance/case_runs.hpp"
#include "tests/unit/kernels/backends.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(dot_products)

// Machines take what is faster there (bf16_is_faster); both ways must be right on all of them.
BOOST_AUTO_TEST_CASE(bf16_gives_what_the_reference_gives_with_dot_products_and_without) {
    operand_pool pool{1ull << 30};
    const auto reference = make_reference_operations();
    compute_context oracle{*reference, pool};
    std::size_t different = 0; // sums are taken in another order
    for (const auto& row : operation_cases()) {
        if (!row->is_rounded())
            continue;
        const auto inputs = inputs_of(pool, *row);
        const tensor gradient = random_tensor(pool, row->output_shape(), 9);
        const outcome expected = run(oracle, *row, inputs, gradient);
        outcome given[2];
        for (const bool dot_products : {false, true}) {
            const auto ops = make_cpu_operations(pool, dot_products);
            compute_context context{*ops, pool};
            outcome& g = given[dot_products] = run(context, *row, inputs, gradient);
            const std::string what = row->name() + (dot_products ? " by dot products" : "");
            check_close(g.outputs, expected.outputs, row->tolerance(), what + ": output");
            check_close(g.gradients, expected.gradients, row->tolerance(), what + ": gradient");
        }
        different += !bit_equal(given[0].outputs[0], given[1].outputs[0]);
    }
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    if (isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx)
        BOOST_TEST(different > 0u, "no convolution takes dot products");
}

BOOST_AUTO_TEST_SUITE_END()
