#include <boost/test/unit_test.hpp>

#if defined(__x86_64__)

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/columns/gram_loops.hpp"
#include "kernels/columns/sparse_column_loops.hpp"
#include "tests/unit/kernels_columns/matrices.hpp"

using namespace troupe;

namespace {

constexpr matrix_size size{5003, 21};
constexpr std::size_t stride = 5040; // floats from column to column
const column_list all{nullptr, 0, size.columns};

bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), 8 * a.size()) == 0;
}

std::vector<float> placed(const columns::dense_column_loops& loops) {
    const auto rows = test::random_rows(size, 0.9, 1);
    std::vector<float> x(stride * size.columns);
    BOOST_TEST(loops.place({rows.values.data(), size.rows, size.columns, x.data(), stride}));
    return x;
}

// What a table makes of the same numbers: all results.
template <class Loops, class View>
std::vector<double> vector_results(const Loops& loops, const View& x) {
    std::vector<double> results;
    const auto keep = [&](const std::vector<double>& some) {
        results.insert(results.end(), some.begin(), some.end());
    };
    std::vector<double> some(size.columns);
    auto r = test::random_numbers(size.rows, 2);
    const auto factors = test::random_numbers(size.columns, 3);
    loops.products(x, all, r.data(), some.data());
    keep(some);
    loops.squares(x, all, some.data());
    keep(some);
    loops.sums(x, all, some.data());
    keep(some);
    loops.add(x, all, factors.data(), r.data());
    keep(r);
    return results;
}

std::vector<double> dense_results(const columns::dense_column_loops& loops) {
    const auto x = placed(loops);
    auto results = vector_results(loops, columns::dense_view{x.data(), stride, size.rows});
    results.insert(results.end(), x.begin(), x.end());
    return results;
}

// With row numbers of this type, as of `rows` rows, of which the last have no entries.
template <class Row>
std::vector<double> sparse_results(const columns::sparse_column_loops& loops, std::size_t rows) {
    memory_pool pool{16u << 20};
    const auto made = test::sparse_of(pool, test::random_rows(size, 0.1, 4), 1000);
    std::vector<std::int64_t> starts{0};
    std::vector<Row> row_numbers;
    for (std::size_t j = 0; j < size.columns; ++j) {
        starts.push_back(starts.back() + static_cast<std::int64_t>(made->entries(j)));
        for (std::size_t e = 0; e < made->entries(j); ++e)
            row_numbers.push_back(static_cast<Row>(made->column(j).rows[e]));
    }
    const columns::sparse_view x{starts.data(), row_numbers.data(), made->column(0).values.data(),
                                 rows};
    auto results = vector_results(loops, x);
    std::vector<column_workspace::line> lines(columns::line_rows);
    std::vector<std::int64_t> places(13 + size.columns);
    std::vector<double> sums(size.columns * columns::left_columns_max);
    loops.gram({x, {nullptr, 5, 13}, all, lines.data()->values, places.data(), sums.data()});
    results.insert(results.end(), sums.begin(), sums.end());
    return results;
}

std::vector<double> short_results(const columns::sparse_column_loops& loops) {
    return sparse_results<std::uint16_t>(loops, size.rows);
}
std::vector<double> long_results(const columns::sparse_column_loops& loops) {
    return sparse_results<std::int32_t>(loops, columns::short_rows_max + 1);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_same_bits_in_float64) {
    const auto dense = dense_results(columns::dense_column_loops_baseline);
    const auto sparse = short_results(columns::sparse_column_loops_baseline);
    BOOST_TEST(same_bits(long_results(columns::sparse_column_loops_baseline), sparse));
    if (has_avx2()) {
        BOOST_TEST(same_bits(dense_results(columns::dense_column_loops_avx2), dense));
        BOOST_TEST(same_bits(short_results(columns::sparse_column_loops_avx2), sparse));
        BOOST_TEST(same_bits(long_results(columns::sparse_column_loops_avx2), sparse));
    }
    if (has_avx512()) {
        BOOST_TEST(same_bits(dense_results(columns::dense_column_loops_avx512), dense));
        BOOST_TEST(same_bits(short_results(columns::sparse_column_loops_avx512), sparse));
        BOOST_TEST(same_bits(long_results(columns::sparse_column_loops_avx512), sparse));
    }
}

// All values are positive, so that sums grow and lose most.
BOOST_AUTO_TEST_CASE(every_instruction_set_multiplies_columns_within_1e_7) {
    auto x = placed(columns::dense_column_loops_baseline);
    for (float& value : x)
        value = std::abs(value);
    const columns::dense_view view{x.data(), stride, size.rows};
    const auto check = [&](const columns::gram_loops& loops) {
        std::vector<double> block(size.columns * size.columns);
        loops.multiply({view, all, all, block.data(), false});
        for (std::size_t i = 0; i < size.columns; ++i)
            for (std::size_t j = 0; j < size.columns; ++j) {
                double product = 0, left = 0, right = 0;
                for (std::size_t row = 0; row < size.rows; ++row) {
                    const double a = x[i * stride + row], b = x[j * stride + row];
                    product += a * b;
                    left += a * a;
                    right += b * b;
                }
                BOOST_TEST(std::abs(block[i * size.columns + j] - product) <=
                           1e-7 * std::sqrt(left * right));
            }
    };
    check(columns::gram_loops_baseline);
    if (has_avx2())
        check(columns::gram_loops_avx2);
    if (has_avx512())
        check(columns::gram_loops_avx512);
}

#endif
