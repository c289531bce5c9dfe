#include <boost/test/unit_test.hpp>

#include <cmath>

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
    const auto made = shifted_columns::of_dense(memory, {builder.finish().value(), {}});
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

// Decimals that float32 does not hold, of means 0.5, 0 and 1000; whole numbers; and a column of which a third is not 0.
struct decimals {
    static constexpr std::size_t width = 5;
    memory_pool memory{1u << 24};
    std::vector<double> numbers, r = std::vector<double>(rows);
    double residual_sum = 0;

    decimals() {
        random_stream random{4};
        const auto thousandths = [&] { return std::nearbyint(1000 * random.normal()) / 1000; };
        for (std::size_t i = 0; i < rows; ++i)
            for (const double x : {0.5 + 0.1 * thousandths(), thousandths(), 1000 + thousandths(),
                                   std::nearbyint(thousandths()), i % 3 == 0 ? thousandths() : 0.0})
                numbers.push_back(x);
        for (double& v : r)
            residual_sum += v = random.normal();
    }

    // In two pieces. The first is rounded to whole numbers, and comes without remainders.
    split_columns split(bool is_sparse) {
        arriving_columns arriving{memory, {rows, width}, is_sparse};
        for (std::size_t first = 0; first < rows; first += rows / 2) {
            std::vector<float> values, remainders;
            std::vector<std::int64_t> starts{0};
            std::vector<std::int32_t> columns;
            for (std::size_t i = first * width; i < (first + rows / 2) * width; ++i) {
                if (first == 0)
                    numbers[i] = std::nearbyint(numbers[i]);
                if (is_sparse && numbers[i] == 0) {
                    if (i % width + 1 == width)
                        starts.push_back(static_cast<std::int64_t>(values.size()));
                    continue;
                }
                columns.push_back(static_cast<std::int32_t>(i % width));
                values.push_back(static_cast<float>(numbers[i]));
                remainders.push_back(
                    static_cast<float>(numbers[i] - static_cast<double>(values.back())));
                if (i % width + 1 == width)
                    starts.push_back(static_cast<std::int64_t>(values.size()));
            }
            if (first == 0)
                remainders.clear();
            BOOST_REQUIRE((is_sparse ? arriving.take({starts, columns, values}, remainders)
                                     : arriving.take(rows / 2, values, remainders))
                              .ok());
        }
        return arriving.finish().value();
    }

    // Float32 holds a decimal to 1e-8 of it or worse.
    void check(const shifted_columns& x) const {
        const column_set all = x.kept().all();
        std::vector<double> products(width), sums(width), squares(width), added = r;
        const std::vector<double> coefficients{0.5, -1, 2, 1e-3, -2};
        x.sums(all, sums);
        x.squares(all, squares);
        x.products(all, r, residual_sum, products);
        x.add(all, coefficients, added);
        for (std::size_t j = 0; j < width; ++j) {
            double product = 0, sum = 0, square = 0;
            for (std::size_t i = 0; i < rows; ++i) {
                const double number = numbers[i * width + j];
                product += number * r[i];
                sum += number;
                square += number * number;
            }
            const double size = std::sqrt(square);
            BOOST_TEST(std::abs(products[j] - product) < 1e-12 * size);
            BOOST_TEST(std::abs(sums[j] - sum) < 1e-11 * size);
            BOOST_TEST(std::abs(squares[j] - square) < 1e-12 * square);
        }
        for (std::size_t i = 0; i < rows; ++i) {
            double expected = r[i];
            for (std::size_t j = 0; j < width; ++j)
                expected += coefficients[j] * numbers[i * width + j];
            BOOST_TEST(std::abs(added[i] - expected) < 1e-11);
        }
        BOOST_TEST(!x.has_exact_gram());
    }
};

BOOST_FIXTURE_TEST_CASE(keeps_what_float32_leaves_of_decimals, decimals) {
    auto dense = split(false);
    BOOST_REQUIRE(dense.remainders != nullptr);
    check(shifted_columns{std::move(dense)});
    const auto shifted = shifted_columns::of_dense(memory, split(false));
    BOOST_REQUIRE(shifted.ok());
    BOOST_TEST(shifted->is_shifted());
    check(*shifted);
    auto sparse = split(true);
    BOOST_REQUIRE(sparse.remainders != nullptr);
    BOOST_TEST(sparse.remainders->entries(3) == 0u); // whole numbers
    check(shifted_columns{std::move(sparse), true});
}

BOOST_FIXTURE_TEST_CASE(weighted_sums_are_of_the_numbers_in_the_file, decimals) {
    const shifted_columns x{split(false), true};
    std::vector<double> weights(rows), sums(width);
    for (std::size_t i = 0; i < rows; ++i)
        weights[i] = 0.25 / static_cast<double>(1 + i % 4);
    const auto weighted = x.weighted(memory, weights);
    BOOST_REQUIRE(weighted.ok());
    weighted->sums(x.kept().all(), sums);
    for (std::size_t j = 0; j < width; ++j) {
        double sum = 0, size = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            sum += weights[i] * numbers[i * width + j];
            size += std::abs(numbers[i * width + j]);
        }
        BOOST_TEST(std::abs(sums[j] - sum) < 1e-13 * size);
    }
}

BOOST_AUTO_TEST_CASE(of_numbers_that_float32_holds_nothing_more_is_kept) {
    memory_pool memory{1u << 20};
    arriving_columns arriving{memory, {2, 2}, false};
    BOOST_REQUIRE(arriving.take(2, std::vector<float>{1, 2, 3, 4.5f}, {}).ok());
    BOOST_TEST(arriving.finish()->remainders == nullptr);
}

BOOST_AUTO_TEST_CASE(leaves_columns_about_0_as_they_are) {
    memory_pool memory{1u << 24};
    random_stream random{1};
    std::vector<float> all(rows * 2);
    for (float& v : all)
        v = static_cast<float>(random.normal());
    auto builder = dense_columns_builder::make(memory, {rows, 2}).value();
    BOOST_REQUIRE(builder.append(rows, all).ok());
    BOOST_TEST(!shifted_columns::of_dense(memory, {builder.finish().value(), {}})->is_shifted());
}

BOOST_AUTO_TEST_SUITE_END()
