#include <boost/test/unit_test.hpp>

#include <cstring>

#include "kernels/columns/sparse_products.hpp"
#include "tests/unit/kernels_columns/matrices.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(sparse_products_of_columns)

BOOST_AUTO_TEST_CASE(are_those_of_the_matrix_to_the_bit_without_those_that_meet_nowhere) {
    memory_pool pool{64u << 20};
    std::uint64_t seed = 0;
    for (const std::size_t rows : {1, 17, 1000, 3000})
        for (const std::size_t columns : {1, 5, 40})
            for (const double share : {0.01, 0.1, 0.9}) {
                const auto values = test::random_rows({rows, columns}, share, ++seed);
                const auto x = test::sparse_of(pool, values, 100);
                std::vector<std::uint32_t> right{0};
                for (std::uint32_t j = static_cast<std::uint32_t>(columns); j-- > 0; j -= j > 0)
                    right.push_back(j);
                column_workspace memory;
                std::vector<double> all(columns * right.size());
                x->gram({x->all(), right}, all, memory);
                sparse_products products{*x, right};
                std::vector<sparse_products::product> found;
                for (std::size_t i = 0; i < columns; ++i)
                    for (const std::size_t count : {right.size(), right.size() / 2}) {
                        found.clear();
                        products.with(i, count, found);
                        std::vector<double> row(right.size());
                        for (std::size_t e = 0; e < found.size(); ++e) {
                            BOOST_TEST(found[e].right < count);
                            BOOST_TEST((e == 0 || found[e - 1].right < found[e].right));
                            row[found[e].right] = found[e].value;
                        }
                        BOOST_TEST(std::memcmp(row.data(), all.data() + i * right.size(),
                                               count * sizeof(double)) == 0);
                    }
            }
}

BOOST_AUTO_TEST_SUITE_END()
