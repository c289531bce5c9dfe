#include <boost/test/unit_test.hpp>

#include <numeric>

#include "apps/lasso/face_factor.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

// Products of random columns, the last of which is the sum of the first two.
std::vector<std::vector<double>> made_products(std::size_t count) {
    random_stream random{3};
    std::vector<std::vector<double>> columns(count, std::vector<double>(2 * count));
    for (auto& column : columns)
        for (double& x : column)
            x = random.normal();
    std::transform(columns[0].begin(), columns[0].end(), columns[1].begin(), columns.back().begin(),
                   std::plus{});
    std::vector<std::vector<double>> products(count, std::vector<double>(count));
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < count; ++j)
            products[i][j] =
                std::inner_product(columns[i].begin(), columns[i].end(), columns[j].begin(), 0.0);
    return products;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_factor_follows_as_variables_come_and_go) {
    const auto products = made_products(90);
    const auto product = [&](std::size_t i, std::size_t j) { return products[i][j]; };
    random_stream random{5};
    face_factor factor;
    for (std::size_t round = 0; round < 40; ++round) {
        std::vector<std::size_t> some;
        for (std::size_t v = 2; v < 89; ++v)
            // Few change from round to round but now and then.
            if (round % 10 == 9 ? random.below(3) == 0 : (v * 7 + round) % 40 > 3)
                some.push_back(v);
        factor.follow(some, product);
        std::vector<std::size_t> there = factor.variables();
        std::ranges::sort(there);
        BOOST_REQUIRE(there == some);
        std::vector<double> numbers;
        for (const std::size_t v : factor.variables())
            numbers.push_back(1.0 + static_cast<double>(v));
        factor.solve(numbers);
        for (const std::size_t v : some) {
            double sum = 0;
            for (std::size_t k = 0; k < numbers.size(); ++k)
                sum += products[v][factor.variables()[k]] * numbers[k];
            BOOST_TEST(sum == 1.0 + static_cast<double>(v), boost::test_tools::tolerance(1e-9));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_factor_leaves_out_what_follows_from_the_others) {
    const auto products = made_products(20);
    const auto product = [&](std::size_t i, std::size_t j) { return products[i][j]; };
    face_factor factor;
    BOOST_TEST(factor.follow({}, product) == 0.0);
    factor.follow({0, 1, 7, 19}, product);
    BOOST_TEST((factor.variables() == std::vector<std::size_t>{0, 1, 7}));
    factor.follow({1, 7, 19}, product);
    BOOST_TEST((factor.variables() == std::vector<std::size_t>{1, 7, 19}));
}
