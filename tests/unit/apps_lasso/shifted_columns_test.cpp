#include <boost/test/unit_test.hpp>

#include "apps/lasso/shifted_columns.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

constexpr std::size_t rows = 300, width = 6;

// Columns with means 0, 1, 10, 1000, 1000 and a constant one, about which they vary by 1.
std::vector<float> values() {
    random_stream random{9};
    const float means[width] = {0, 1, 10, 1000, 1000, 0.1f};
    std::vector<float> all(rows * width);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < width; ++j)
            all[i * width + j] = means[j] + (j == 5 ? 0.0f : static_cast<float>(random.normal()));
    return all;
}

double sum_over_rows(const std::vector<float>& all, std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i)
        sum += static_cast<double>(all[i * width + a]) * static_cast<double>(all[i * width + b]);
    return sum;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_shifted_columns)

BOOST_AUTO_TEST_CASE(answers_for_the_columns_as_they_were_read_but_more_precisely) {
    memory_pool memory{1u << 24};
    const std::vector<float> all = values();
    auto builder = dense_columns_builder::make(memory, {rows, width}).value();
    BOOST_REQUIRE(builder.append(rows, all).ok());
    const auto made = shifted_columns::of_dense(memory, builder.finish().value());
    BOOST_REQUIRE(made.ok());
    const shifted_columns& x = *made;
    BOOST_TEST(x.is_shifted());

    const std::vector<std::uint32_t> set{0, 1, 2, 3, 4, 5};
    column_workspace workspace;
    std::vector<double> among(width * width), pairs(width * width), sums(width), squares(width);
    x.sums(set, sums);
    x.squares(set, squares);
    x.gram(set, among, workspace);
    x.gram({set, set}, pairs, workspace);
    for (std::size_t a = 0; a < width; ++a)
        for (std::size_t b = 0; b < width; ++b) {
            const double exact = sum_over_rows(all, a, b);
            // Of centred columns, which have products of about `rows`.
            BOOST_TEST(std::abs(among[a * width + b] - exact) < 1e-4);
            BOOST_TEST(std::abs(pairs[a * width + b] - exact) < 1e-4);
            if (a == b)
                BOOST_TEST(squares[a] == exact, boost::test_tools::tolerance(1e-12));
        }

    random_stream random{3};
    std::vector<double> r(rows), products(width), coefficients{0.5, -1, 2, 1e-3, -2, 3};
    double residual_sum = 0;
    for (double& v : r)
        residual_sum += v = random.normal();
    x.products(set, r, residual_sum, products);
    std::vector<double> added = r;
    x.add(set, coefficients, added);
    for (std::size_t j = 0; j < width; ++j) {
        double product = 0, sum = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            product += static_cast<double>(all[i * width + j]) * r[i];
            sum += static_cast<double>(all[i * width + j]);
        }
        BOOST_TEST(std::abs(products[j] - product) < 1e-9);
        BOOST_TEST(std::abs(sums[j] - sum) < 1e-9);
    }
    for (std::size_t i = 0; i < rows; ++i) {
        double expected = r[i];
        for (std::size_t j = 0; j < width; ++j)
            expected += coefficients[j] * static_cast<double>(all[i * width + j]);
        BOOST_TEST(std::abs(added[i] - expected) < 1e-10);
    }
}

BOOST_AUTO_TEST_CASE(leaves_columns_about_0_as_they_are) {
    memory_pool memory{1u << 24};
    random_stream random{1};
    std::vector<float> all(rows * 2);
    for (float& v : all)
        v = static_cast<float>(random.normal());
    auto builder = dense_columns_builder::make(memory, {rows, 2}).value();
    BOOST_REQUIRE(builder.append(rows, all).ok());
    BOOST_TEST(!shifted_columns::of_dense(memory, builder.finish().value())->is_shifted());
}

BOOST_AUTO_TEST_SUITE_END()
