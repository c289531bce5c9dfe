#include <boost/test/unit_test.hpp>

#include <cmath>
#include <span>
#include <vector>

#include "actors/data/matrix/column_spreads.hpp"
#include "tests/support/matrix_values.hpp"

using namespace troupe;

namespace {

using enum kept_digits;

// The spread of one column.
column_spreads spreads_of(const std::vector<double>& values) {
    column_spreads all;
    for (const double x : values)
        all.add(std::span{&x, 1});
    all.end(values.size());
    return all;
}

matrix_source opened(const std::string& path, bool takes_offsets) {
    auto settings = test::features_in(path);
    settings.takes_offsets = takes_offsets;
    auto source = open_matrix(settings);
    BOOST_REQUIRE(source.ok());
    return std::move(*source);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(column_spreads_of_data, test::data_files)

BOOST_AUTO_TEST_CASE(an_offset_is_near_a_mean_that_is_far_from_0) {
    BOOST_TEST(spreads_of({-1, 1, 2, 3}).offset(0) == 0);
    BOOST_TEST(std::abs(spreads_of({2460000.25, 2460001.25}).offset(0) - 2460000.75) < 0.3);
    BOOST_TEST(std::abs(spreads_of({-1e12, -1e12 - 6, -1e12 - 2}).offset(0) + 1e12) < 6);
}

BOOST_AUTO_TEST_CASE(whole_numbers_less_an_offset_are_whole_numbers) {
    const double offset = spreads_of({1700006975, 1700006705, 1700000001}).offset(0);
    BOOST_TEST(offset == std::nearbyint(offset));
    BOOST_TEST(std::abs(offset - 1700004560) < 4096);
}

BOOST_AUTO_TEST_CASE(a_constant_column_is_0_less_its_offset) {
    BOOST_TEST(spreads_of({0.1, 0.1, 0.1}).offset(0) == 0.1);
    BOOST_TEST((spreads_of({0.1, 0.1, 0.1}).kept(0, 0.1) == enough));
}

BOOST_AUTO_TEST_CASE(ids_that_float64_cannot_tell_apart_are_coarse) {
    const double id = 9007199254740992;
    BOOST_TEST((spreads_of({id, id}).kept(0, id) == few_of_float64));
    BOOST_TEST((spreads_of({-1e17, -1e17}).kept(0, -1e17) == few_of_float64));
    BOOST_TEST((spreads_of({id - 1, id - 1}).kept(0, id - 1) == enough));
}

BOOST_AUTO_TEST_CASE(what_float32_cannot_keep_is_coarse) {
    const auto days = spreads_of({2460000.53, 2460000.71, 2460000.12});
    BOOST_TEST((days.kept(0, 0) == few_of_float32));
    BOOST_TEST((days.kept(0, days.offset(0)) == enough));
    BOOST_TEST((spreads_of({0, 1, 0, 0, 0, 0, 0, 0, 0, 0.5}).kept(0, 0) == enough));
    BOOST_TEST((spreads_of({0.1, 0.7, -0.3}).kept(0, 0) == enough));
    BOOST_TEST((spreads_of({1e-30, 2e-30}).kept(0, 0) == enough));
    BOOST_TEST((spreads_of({1.1e-42, 2.3e-42}).kept(0, 0) == few_of_float32)); // subnormal
    const auto close = spreads_of({1e15, 1e15 + 1, 1e15 + 2});
    BOOST_TEST((close.kept(0, close.offset(0)) == few_of_float64));
}

BOOST_AUTO_TEST_CASE(with_remainders_digits_end_in_float64_or_where_float32_has_nothing_so_small) {
    const auto days = spreads_of({2460000.53, 2460000.71, 2460000.12});
    BOOST_TEST((days.kept(0, 0, true) == few_of_float64));
    BOOST_TEST((spreads_of({1000.1, 1000.7, 999.9}).kept(0, 0, true) == enough));
    BOOST_TEST((spreads_of({1e-50, 3e-50, -2e-50}).kept(0, 0, true) == few_of_float32));
}

BOOST_AUTO_TEST_CASE(of_sparse_columns_the_zeros_count) {
    column_spreads all;
    all.add(1, 2460000.53, 1);
    all.add(1, 2460000.71, 2);
    const std::uint32_t full[] = {0, 2}, few[] = {0, 2};
    auto with_zeros = all;
    all.end(2, full);
    with_zeros.end(1000, few);
    BOOST_TEST((all.kept(1, 0) == few_of_float32));
    BOOST_TEST((with_zeros.kept(1, 0) == enough));
    BOOST_TEST((all.kept(0, 0) == enough));
}

BOOST_AUTO_TEST_CASE(a_matrix_says_what_to_subtract_if_its_user_can) {
    const std::string csv = plain("days.csv", "day,b\n2460000.53,1\n2460000.71,-1\n2460000.12,3\n");
    auto source = opened(csv, true);
    BOOST_REQUIRE(source.shape().offsets.size() == 2u);
    BOOST_TEST(std::abs(source.shape().offsets[0] - 2460000.45) < 0.3);
    BOOST_TEST(source.shape().offsets[1] == 0);
    BOOST_TEST(source.shape().coarse_in_float32.count == 0u);
    const auto next = source.next(1u << 20);
    BOOST_REQUIRE(next.ok());
    BOOST_TEST((*next)->values[0] == 2460000.53);
    const auto plain_source = opened(csv, false);
    BOOST_TEST(plain_source.shape().offsets.empty());
    BOOST_TEST((plain_source.shape().coarse_in_float32.first == std::vector<std::size_t>{0}));
}

BOOST_AUTO_TEST_CASE(of_a_sparse_matrix_columns_without_zeros_have_an_offset) {
    std::string svm = "0 2:2460000.53\n"; // the only row without the first column
    for (int row = 1; row < 30; ++row)
        svm += "1 1:7 2:2460000." + std::to_string(row) + "\n";
    const auto sparse = opened(plain("days.svm", svm), true);
    BOOST_REQUIRE(sparse.shape().offsets.size() == 2u);
    BOOST_TEST(sparse.shape().offsets[0] == 0); // its zeros would be stored
    BOOST_TEST(std::abs(sparse.shape().offsets[1] - 2460000.45) < 0.5);
    BOOST_TEST(sparse.shape().coarse_in_float32.count == 0u);
    const auto plain_sparse = opened(plain("days.svm", svm), false);
    BOOST_TEST(plain_sparse.shape().offsets.empty());
    BOOST_TEST((plain_sparse.shape().coarse_in_float32.first == std::vector<std::size_t>{1}));
}

BOOST_AUTO_TEST_CASE(digests_tell_numbers_apart_that_float32_does_not) {
    const auto a = opened(plain("a.csv", "16777216\n3\n"), true);
    const auto b = opened(plain("b.csv", "16777217\n3\n"), true);
    BOOST_TEST(a.digest() == b.digest());
    BOOST_TEST(a.exact_digest() != b.exact_digest());
}

BOOST_AUTO_TEST_SUITE_END()
