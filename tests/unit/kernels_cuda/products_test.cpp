// Matrix products by cuBLASLt, on the emulated GPU.
#include <boost/test/unit_test.hpp>

#include <cublasLt.h>

#include "kernels/ops/ops.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(products)

BOOST_AUTO_TEST_CASE(a_bias_that_no_product_takes_is_added_behind_it) {
    operand_pool pool{1 << 22};
    const auto reference = make_reference_operations();
    const tensor x = random_tensor(pool, {5, 7}, 1), weight = random_tensor(pool, {9, 7}, 2);
    const tensor bias = random_tensor(pool, {9}, 3);
    tensor expected = random_tensor(pool, {5, 9}, 4), given = random_tensor(pool, {5, 9}, 5);
    BOOST_REQUIRE(reference->run(linear_forward{x, weight, &bias, expected}).ok());
    emulated::refuse_bias_epilogues(true);
    const auto done = backends().front().make(pool)->run(linear_forward{x, weight, &bias, given});
    emulated::refuse_bias_epilogues(false);
    BOOST_REQUIRE(done.ok());
    for (std::size_t i = 0; i < given.elements(); ++i)
        BOOST_TEST(given.values<float>()[i] == expected.values<float>()[i],
                   boost::test_tools::tolerance(1e-5f));
}

BOOST_AUTO_TEST_SUITE_END()
