#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "kernels/columns/reference.hpp"
#include "tests/unit/kernels_columns/matrices.hpp"

using namespace troupe;
using test::random_numbers;

namespace {

// Relative to the lengths of the factors. The reference, which adds one after the other, is the less precise in float64;
// in float32 sums of few rows are.
constexpr double in_float64 = 1e-13, in_float32 = 3e-7;

double length_of(std::span<const double> x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.));
}

double length_of(const column_matrix& x, std::size_t column) {
    double square = 0;
    reference_columns::squares(x, column_set::range(column, 1), {&square, 1});
    return std::sqrt(square);
}

bool same_bits(std::span<const double> a, std::span<const double> b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// The sizes at which loops begin and end differently, with few and many entries.
void for_each_matrix(const std::function<void(const column_matrix&, bool is_dense)>& check) {
    memory_pool pool{64u << 20};
    std::uint64_t seed = 0;
    for (const std::size_t rows : {0, 1, 3, 16, 17, 1000, 2065, 9001})
        for (const std::size_t columns : {0, 1, 4, 17, 43})
            for (const double share : {0.05, 0.9}) {
                if (rows > 3000 && columns > 17)
                    continue; // takes long
                BOOST_TEST_CONTEXT(rows << " rows, " << columns << " columns, share " << share) {
                    const auto values = test::random_rows({rows, columns}, share, ++seed);
                    check(*test::dense_of(pool, values, 100), true);
                    check(*test::sparse_of(pool, values, 100), false);
                }
            }
}

// All, none, one, some of the middle, and a list in no order that names a column twice.
std::vector<std::vector<std::uint32_t>> lists_of(const column_matrix& x) {
    std::vector<std::vector<std::uint32_t>> lists{{}};
    if (x.columns() == 0)
        return lists;
    std::vector<std::uint32_t> every(x.columns()), mixed;
    std::iota(every.begin(), every.end(), 0u);
    for (std::size_t i = 0; i < std::min<std::size_t>(x.columns(), 12); ++i)
        mixed.push_back(static_cast<std::uint32_t>((i * 7 + 3) % x.columns()));
    mixed.push_back(mixed.front());
    lists.insert(lists.end(), {every, mixed, {every.back()}});
    return lists;
}

} // namespace

BOOST_AUTO_TEST_CASE(products_are_those_of_the_reference) {
    for_each_matrix([](const column_matrix& x, bool) {
        const auto r = random_numbers(x.rows(), 7);
        for (const auto& list : lists_of(x)) {
            std::vector<double> fast(list.size(), 5), expected(list.size());
            x.products(list, r, fast);
            reference_columns::products(x, list, r, expected);
            for (std::size_t i = 0; i < list.size(); ++i)
                BOOST_TEST(std::abs(fast[i] - expected[i]) <=
                           in_float64 * length_of(x, list[i]) * length_of(r));
        }
    });
}

BOOST_AUTO_TEST_CASE(added_columns_are_those_of_the_reference) {
    for_each_matrix([](const column_matrix& x, bool) {
        for (const auto& list : lists_of(x)) {
            auto coefficients = random_numbers(list.size(), 8);
            for (std::size_t i = 1; i < coefficients.size(); i += 3)
                coefficients[i] = 0;
            auto fast = random_numbers(x.rows(), 9);
            auto expected = fast;
            x.add(list, coefficients, fast);
            reference_columns::add(x, list, coefficients, expected);
            for (std::size_t i = 0; i < x.rows(); ++i)
                BOOST_TEST(std::abs(fast[i] - expected[i]) <= in_float64 * 20);
        }
    });
}

BOOST_AUTO_TEST_CASE(products_of_columns_are_those_of_the_reference) {
    for_each_matrix([](const column_matrix& x, bool is_dense) {
        column_workspace memory;
        const auto lists = lists_of(x);
        for (const auto& left : lists)
            for (const auto& right : lists) {
                std::vector<double> fast(left.size() * right.size(), 5), expected(fast.size());
                x.gram({left, right}, fast, memory);
                reference_columns::gram(x, {left, right}, expected);
                for (std::size_t i = 0; i < left.size(); ++i)
                    for (std::size_t j = 0; j < right.size(); ++j) {
                        const std::size_t at = i * right.size() + j;
                        BOOST_TEST(std::abs(fast[at] - expected[at]) <=
                                   (is_dense ? in_float32 : in_float64) * length_of(x, left[i]) *
                                       length_of(x, right[j]));
                    }
            }
    });
}

BOOST_AUTO_TEST_CASE(products_of_a_set_with_itself_are_symmetric_and_those_of_the_pairs) {
    for_each_matrix([](const column_matrix& x, bool) {
        column_workspace memory;
        for (const auto& list : lists_of(x)) {
            const std::size_t n = list.size();
            std::vector<double> symmetric(n * n, 5), pairs(n * n), turned(n * n);
            x.gram(list, symmetric, memory);
            x.gram({list, list}, pairs, memory);
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j)
                    turned[j * n + i] = symmetric[i * n + j];
            BOOST_TEST(same_bits(symmetric, turned));
            BOOST_TEST(same_bits(symmetric, pairs));
        }
    });
}

// With the most rows whose numbers are two bytes, and with one more.
BOOST_AUTO_TEST_CASE(row_numbers_are_as_short_as_the_rows_allow) {
    std::uint64_t bytes[2];
    for (const std::size_t rows : {65536, 65537})
        BOOST_TEST_CONTEXT(rows << " rows") {
            constexpr std::size_t columns = 3;
            memory_pool pool{64u << 20};
            auto values = test::random_rows({rows, columns}, 0.5, 1);
            for (std::size_t j = 0; j < columns; ++j)
                values.values[(rows - 1) * columns + j] = 1; // the last row counts
            const auto x = test::sparse_of(pool, values, 1000);
            bytes[rows - 65536] = pool.statistics().bytes_in_use;
            std::vector<float> column(rows);
            bool same = true;
            for (std::size_t j = 0; j < columns; ++j) {
                x->copy(j, column);
                for (std::size_t i = 0; i < rows; ++i)
                    same &= column[i] == values.row(i)[j];
            }
            BOOST_TEST(same);
            const column_set all = x->all();
            const auto r = random_numbers(rows, 7), c = random_numbers(columns, 8);
            std::vector<double> products(columns), gram(columns * columns), moved = r;
            column_workspace memory;
            x->products(all, r, products);
            x->gram(all, gram, memory);
            x->add(all, c, moved);
            std::vector<double> products_expected(columns), gram_expected(columns * columns);
            auto moved_expected = r;
            reference_columns::products(*x, all, r, products_expected);
            reference_columns::gram(*x, {all, all}, gram_expected);
            reference_columns::add(*x, all, c, moved_expected);
            const auto is_near = [](double a, double b) { return std::abs(a - b) < 1e-8; };
            BOOST_TEST(std::ranges::equal(products, products_expected, is_near));
            BOOST_TEST(std::ranges::equal(gram, gram_expected, is_near));
            BOOST_TEST(std::ranges::equal(moved, moved_expected, is_near));
            std::vector<float> factors(rows, 0.5f);
            factors.back() = 0.25f;
            const auto scaled = x->scaled(pool, factors);
            BOOST_REQUIRE(scaled.ok());
            (*scaled)->copy(2, column);
            BOOST_TEST(column.front() == values.row(0)[2] / 2);
            BOOST_TEST(column.back() == values.row(rows - 1)[2] / 4);
            const sparse_column last = x->column(2);
            BOOST_TEST(last.rows[last.rows.size() - 1] == static_cast<std::int32_t>(rows - 1));
        }
    BOOST_TEST(5 * bytes[0] < 4 * bytes[1]);
}

// The largest ones, which add up to 2^24 along a quarter of the rows that are summed in float32, and others.
BOOST_AUTO_TEST_CASE(products_of_whole_numbers_of_at_most_256_are_exact) {
    memory_pool pool{64u << 20};
    constexpr std::size_t rows = 5003, columns = 12;
    random_stream random{3};
    std::vector<float> values;
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j)
            values.push_back(j < 3   ? 256.f - static_cast<float>(j)
                             : j < 6 ? 255.f - 2 * static_cast<float>(random.below(3)) // odd
                                     : static_cast<float>(random.below(513)) - 256.f);
    const auto x = test::dense_of(pool, {{rows, columns}, values}, 100);
    BOOST_TEST(x->has_exact_gram());
    std::vector<double> products(columns * columns);
    column_workspace memory;
    x->gram(x->all(), products, memory);
    for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t k = 0; k < columns; ++k) {
            double exact = 0;
            for (std::size_t i = 0; i < rows; ++i)
                exact += static_cast<double>(values[i * columns + j]) *
                         static_cast<double>(values[i * columns + k]);
            BOOST_TEST(products[j * columns + k] == exact);
        }
    for (const float other : {257.f, 0.5f, -1e9f, 1e-30f}) {
        values.back() = other;
        BOOST_TEST(!test::dense_of(pool, {{rows, columns}, values}, 100)->has_exact_gram());
    }
    values.back() = 0;
    BOOST_TEST(!test::sparse_of(pool, {{rows, columns}, values}, 100)->has_exact_gram());
}

BOOST_AUTO_TEST_CASE(scaled_columns_have_the_values_of_each_row_times_its_factor) {
    for_each_matrix([](const column_matrix& x, bool) {
        memory_pool pool{64u << 20};
        std::vector<float> factors, before(x.rows()), after(x.rows());
        for (const double number : random_numbers(x.rows(), 11))
            factors.push_back(static_cast<float>(std::tanh(number)));
        const auto scaled = x.scaled(pool, factors);
        BOOST_REQUIRE(scaled.ok());
        const column_matrix& y = **scaled;
        BOOST_TEST((y.rows() == x.rows() && y.columns() == x.columns()));
        bool are_same = true;
        for (std::size_t j = 0; j < x.columns(); ++j) {
            x.copy(j, before);
            y.copy(j, after);
            are_same = are_same && y.entries(j) == x.entries(j);
            for (std::size_t i = 0; i < x.rows(); ++i)
                are_same = are_same && after[i] == before[i] * factors[i];
        }
        BOOST_TEST(are_same);
        // The operations read it as any other.
        std::vector<double> products(y.columns()), expected(y.columns());
        const auto r = random_numbers(y.rows(), 12);
        y.products(y.all(), r, products);
        reference_columns::products(y, y.all(), r, expected);
        for (std::size_t j = 0; j < y.columns(); ++j)
            BOOST_TEST(std::abs(products[j] - expected[j]) <=
                       in_float64 * length_of(y, j) * length_of(r));
    });
}

BOOST_AUTO_TEST_CASE(there_may_be_no_room_for_scaled_columns) {
    memory_pool pool{64u << 20}, small{1u << 12};
    const auto values = test::random_rows({1000, 17}, 0.5, 1);
    const std::vector<float> factors(1000, 0.5f);
    for (const auto& refused : {test::dense_of(pool, values, 100)->scaled(small, factors),
                                test::sparse_of(pool, values, 100)->scaled(small, factors)})
        BOOST_TEST((!refused.ok() && refused.failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(sums_and_squares_are_those_of_the_reference) {
    for_each_matrix([](const column_matrix& x, bool) {
        for (const auto& list : lists_of(x)) {
            std::vector<double> sums(list.size(), 5), squares(list.size(), 5),
                expected(list.size());
            x.sums(list, sums);
            reference_columns::sums(x, list, expected);
            for (std::size_t i = 0; i < list.size(); ++i)
                BOOST_TEST(std::abs(sums[i] - expected[i]) <=
                           in_float64 * length_of(x, list[i]) *
                               std::sqrt(static_cast<double>(x.rows())));
            x.squares(list, squares);
            reference_columns::squares(x, list, expected);
            for (std::size_t i = 0; i < list.size(); ++i)
                BOOST_TEST(std::abs(squares[i] - expected[i]) <= in_float64 * expected[i]);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_number_does_not_depend_on_the_other_columns_of_its_set) {
    for_each_matrix([](const column_matrix& x, bool) {
        const auto r = random_numbers(x.rows(), 7);
        std::vector<double> together(x.columns());
        x.products(x.all(), r, together);
        std::vector<double> block(x.columns() * x.columns());
        column_workspace memory;
        x.gram(x.all(), block, memory);
        for (std::size_t j = 0; j < x.columns(); ++j) {
            double alone = 0;
            x.products(column_set::range(j, 1), r, {&alone, 1});
            BOOST_TEST(same_bits({&alone, 1}, {&together[j], 1}));
            x.gram({column_set::range(0, 1), column_set::range(j, 1)}, {&alone, 1}, memory);
            BOOST_TEST(same_bits({&alone, 1}, {&block[j], 1}));
        }
    });
}

BOOST_AUTO_TEST_CASE(columns_added_at_once_are_those_added_one_by_one) {
    for_each_matrix([](const column_matrix& x, bool) {
        const auto coefficients = random_numbers(x.columns(), 8);
        auto at_once = random_numbers(x.rows(), 9);
        auto one_by_one = at_once;
        x.add(x.all(), coefficients, at_once);
        for (std::size_t j = 0; j < x.columns(); ++j)
            x.add(column_set::range(j, 1), {&coefficients[j], 1}, one_by_one);
        BOOST_TEST(same_bits(at_once, one_by_one));
    });
}

BOOST_AUTO_TEST_CASE(many_columns_multiply_in_pieces) {
    memory_pool pool{64u << 20};
    const auto values = test::random_rows({40, 2500}, 0.2, 3);
    const auto sparse = test::sparse_of(pool, values, 7);
    const auto dense = test::dense_of(pool, values, 7);
    column_workspace memory;
    const std::vector<std::uint32_t> left{2400, 7, 1030};
    std::vector<double> expected(left.size() * 2500), block(expected.size());
    reference_columns::gram(*sparse, {left, sparse->all()}, expected);
    for (const column_matrix* x : {static_cast<const column_matrix*>(sparse.get()),
                                   static_cast<const column_matrix*>(dense.get())}) {
        x->gram({left, x->all()}, block, memory);
        for (std::size_t i = 0; i < block.size(); ++i)
            BOOST_TEST(std::abs(block[i] - expected[i]) < 1e-5);
    }
    std::vector<double> all(2500 * 2500), of_dense(all.size());
    sparse->gram(sparse->all(), all, memory);
    dense->gram(dense->all(), of_dense, memory);
    double largest = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        largest = std::max(largest, std::abs(all[i] - of_dense[i]));
    BOOST_TEST(largest < 1e-5);
}

// Long enough that their rows are multiplied a range at a time: whichever column is scattered, the other one has entries
// in ranges in which it has none.
BOOST_AUTO_TEST_CASE(sparse_columns_with_entries_in_few_rows_multiply) {
    constexpr std::size_t rows = 50000, columns = 4;
    memory_pool pool{64u << 20};
    auto values = test::random_rows({rows, columns}, 0.5, 11);
    for (std::size_t i = 0; i < rows; ++i) {
        const bool has_entries[columns] = {i > 40000, i == 7 || i > 30000, i > 10000 && i < 15000,
                                           i % 50 == 0};
        for (std::size_t j = 0; j < columns; ++j)
            values.values[i * columns + j] *= has_entries[j] ? 1.f : 0.f;
    }
    const auto x = test::sparse_of(pool, values, 5000);
    column_workspace memory;
    for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
            const column_pairs pair{column_set::range(i, 1), column_set::range(j, 1)};
            double product = 0, expected = 0;
            x->gram(pair, {&product, 1}, memory);
            reference_columns::gram(*x, pair, {&expected, 1});
            BOOST_TEST(std::abs(product - expected) <=
                       in_float64 * length_of(*x, i) * length_of(*x, j));
        }
}

BOOST_AUTO_TEST_CASE(a_workspace_serves_matrices_of_any_size_one_after_the_other) {
    memory_pool pool{64u << 20};
    column_workspace memory;
    for (const std::size_t rows : {20000, 30, 20000})
        for (const std::size_t columns : {3, 40}) {
            const auto x =
                test::sparse_of(pool, test::random_rows({rows, columns}, 0.01, rows), 500);
            std::vector<double> used(columns * columns), fresh(columns * columns);
            column_workspace other;
            x->gram(x->all(), used, memory);
            x->gram(x->all(), fresh, other);
            BOOST_TEST(same_bits(used, fresh));
        }
}

BOOST_AUTO_TEST_CASE(a_matrix_knows_its_columns) {
    memory_pool pool{1u << 20};
    const auto values = test::random_rows({20, 4}, 0.5, 1);
    const auto dense = test::dense_of(pool, values, 3);
    const auto sparse = test::sparse_of(pool, values, 3);
    const std::vector<std::uint32_t> some{3, 0, 3}, other{0, 4};
    BOOST_TEST(dense->has(some));
    BOOST_TEST(!dense->has(other));
    BOOST_TEST(dense->has(std::vector<std::uint32_t>{}));
    BOOST_TEST(dense->has(column_set::range(4, 0)));
    BOOST_TEST(dense->has(column_set::range(1, 3)));
    BOOST_TEST(!dense->has(column_set::range(1, 4)));
    BOOST_TEST(!dense->has(column_set::range(5, 0)));
    BOOST_TEST(!dense->has(column_set::range(2, ~std::size_t{0})));
    BOOST_TEST(dense->entries(2) == 20u);
    std::size_t entries = 0;
    for (std::size_t j = 0; j < 4; ++j) {
        std::vector<float> of_dense(20), of_sparse(20);
        dense->copy(j, of_dense);
        sparse->copy(j, of_sparse);
        BOOST_TEST(of_dense == of_sparse);
        const auto count = std::ranges::count_if(of_dense, [](float v) { return v != 0; });
        BOOST_TEST(sparse->entries(j) == static_cast<std::size_t>(count));
        entries += sparse->entries(j);
    }
    BOOST_TEST(sparse->all_entries() == entries);
}
