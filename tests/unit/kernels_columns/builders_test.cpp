#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

#include "tests/unit/kernels_columns/matrices.hpp"

using namespace troupe;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
void check_fails(const result<T>& outcome, const std::string& part, errc code = errc::data) {
    BOOST_REQUIRE(!outcome.ok());
    BOOST_TEST((outcome.failure().code() == code));
    BOOST_TEST(outcome.failure().message().find(part) != std::string::npos,
               "\"" << outcome.failure().message() << "\" says \"" << part << "\"");
}

std::vector<float> column(const column_matrix& x, std::size_t j) {
    std::vector<float> values(x.rows());
    x.copy(j, values);
    return values;
}

// Rows of two entries: (0, 2), (1, 3), (0, 2) ...
struct two_each {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> columns;
    std::vector<float> values;

    explicit two_each(std::size_t rows) {
        for (std::size_t i = 0; i < rows; ++i) {
            const auto first = static_cast<std::int32_t>(i % 2);
            columns.insert(columns.end(), {first, first + 2});
            values.insert(values.end(), {1, 2});
            starts.push_back(static_cast<std::int64_t>(values.size()));
        }
    }
    sparse_rows all() const { return {starts, columns, values}; }
};

} // namespace

BOOST_AUTO_TEST_CASE(columns_built_in_pieces_are_those_built_at_once) {
    memory_pool pool{64u << 20};
    for (const std::size_t rows : {1, 17, 300})
        for (const std::size_t columns : {1, 15, 16, 70, 5000}) {
            const auto values = test::random_rows({rows, columns}, 0.3, rows * columns);
            const auto at_once = test::dense_of(pool, values, rows);
            const auto sparse_at_once = test::sparse_of(pool, values, rows);
            for (const std::size_t piece : {1, 7, 16, 130}) {
                const auto in_pieces = test::dense_of(pool, values, piece);
                const auto sparse_in_pieces = test::sparse_of(pool, values, piece);
                bool same = true;
                for (std::size_t j = 0; j < columns; ++j) {
                    const auto expected = column(*at_once, j);
                    for (std::size_t i = 0; i < rows; ++i)
                        same &= expected[i] == values.row(i)[j];
                    for (const column_matrix* x :
                         {static_cast<const column_matrix*>(in_pieces.get()),
                          static_cast<const column_matrix*>(sparse_at_once.get()),
                          static_cast<const column_matrix*>(sparse_in_pieces.get())})
                        same &= column(*x, j) == expected;
                }
                BOOST_TEST(same);
            }
        }
}

BOOST_AUTO_TEST_CASE(dense_columns_end_with_zeros_and_begin_at_lines_of_the_cache) {
    memory_pool pool{1u << 20};
    const auto x = test::dense_of(pool, test::random_rows({37, 5}, 1, 2), 4);
    for (std::size_t j = 0; j < 5; ++j) {
        const float* const values = x->values(j).data();
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(values) % 64 == 0u);
        for (std::size_t i = 37; i < 48; ++i)
            BOOST_TEST(values[i] == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_value_that_is_not_finite_is_refused_with_its_row) {
    memory_pool pool{1u << 20};
    for (const float bad : {not_a_number, infinity, -infinity})
        for (const std::size_t place : {0, 35, 67 * 3 - 1}) {
            auto dense = dense_columns_builder::make(pool, {.rows = 100, .columns = 3});
            BOOST_REQUIRE(dense.ok());
            std::vector<float> values(33 * 3, 1);
            BOOST_TEST(dense->append(33, values).ok());
            values.resize(67 * 3, 1);
            values[place] = bad;
            check_fails(dense->append(67, values), "row " + std::to_string(33 + place / 3) +
                                                       ", column " + std::to_string(place % 3));
        }
    two_each rows{3};
    rows.values[5] = not_a_number;
    auto sparse = sparse_columns_builder::make(pool, {.rows = 3, .columns = 4});
    BOOST_REQUIRE(sparse.ok());
    check_fails(sparse->append(rows.all()), "row 2, column 2");
}

BOOST_AUTO_TEST_CASE(dense_rows_of_another_number_are_refused) {
    memory_pool pool{1u << 20};
    const std::vector<float> values(30, 1);
    const auto builder = [&] {
        auto made = dense_columns_builder::make(pool, {.rows = 4, .columns = 3});
        BOOST_REQUIRE(made.ok());
        BOOST_TEST(made->append(2, {values.data(), 6}).ok());
        return std::move(*made);
    };
    auto too_many = builder();
    check_fails(too_many.append(3, {values.data(), 9}), "should have 4 rows");
    auto cut_off = builder();
    check_fails(cut_off.append(2, {values.data(), 5}), "row 2");
    auto too_few = builder();
    check_fails(too_few.finish(), "ends before row 2");
    auto whole = builder();
    BOOST_TEST(whole.append(0, {}).ok());
    BOOST_TEST(whole.append(2, {values.data(), 6}).ok());
    BOOST_TEST(whole.rows() == 4u);
    BOOST_TEST(whole.finish().ok());
}

BOOST_AUTO_TEST_CASE(sizes_that_no_matrix_may_have_are_refused) {
    memory_pool pool{1u << 20};
    check_fails(dense_columns_builder::make(pool, {.rows = 1ull << 31, .columns = 1}), "rows");
    check_fails(dense_columns_builder::make(pool, {.rows = 1, .columns = 1ull << 40}), "columns");
    check_fails(dense_columns_builder::make(pool, {.rows = 1 << 20, .columns = 1 << 20}),
                "1048576 rows", errc::exhausted);
    check_fails(sparse_columns_builder::make(pool, {.rows = 1, .columns = 1ull << 40}), "columns");
    for (const std::size_t rows :
         {25000, 200000}) { // as they arrive there is room for the first, but not by columns
        auto sparse = sparse_columns_builder::make(pool, {.rows = rows, .columns = 4});
        BOOST_REQUIRE(sparse.ok());
        const auto appended = sparse->append(two_each{rows}.all());
        BOOST_TEST(appended.ok() == (rows == 25000));
        const auto other = pool.allocate(700000);
        appended.ok() ? check_fails(sparse->finish(), "50000 entries", errc::exhausted)
                      : check_fails(appended, "the entries of a matrix", errc::exhausted);
    }
}

BOOST_AUTO_TEST_CASE(sparse_rows_that_are_not_what_they_should_be_are_refused) {
    const auto fails = [](const two_each& rows, const std::string& part) {
        memory_pool pool{1u << 20};
        auto builder = sparse_columns_builder::make(pool, {.rows = 3, .columns = 4});
        BOOST_REQUIRE(builder.ok());
        check_fails(builder->append(rows.all()), part);
    };
    two_each rows{3};
    rows.columns[3] = 4;
    fails(rows, "row 1: column 4");
    rows.columns[3] = -1;
    fails(rows, "row 1: column -1");
    rows.columns[3] = 1;
    fails(rows, "row 1: column 1 follows column 1");
    rows.columns[3] = 0;
    fails(rows, "row 1: column 0 follows column 1");
    two_each cut_off{3};
    cut_off.values.pop_back();
    fails(cut_off, "row 0: 6 column numbers for 5 values");
    cut_off.columns.pop_back();
    fails(cut_off, "row 2: its entries are said to be from 4 to 6 of 5");
    two_each falling{3};
    falling.starts[2] = 1;
    fails(falling, "row 1: its entries");
    falling.starts[1] = -1;
    fails(falling, "row 0: its entries");
}

BOOST_AUTO_TEST_CASE(sparse_rows_of_another_number_are_refused) {
    memory_pool pool{1u << 20};
    const two_each rows{3};
    auto good = sparse_columns_builder::make(pool, {.rows = 3, .columns = 4});
    BOOST_REQUIRE(good.ok());
    BOOST_TEST(good->append({}).ok());
    BOOST_TEST(good->append(rows.all()).ok());
    BOOST_TEST(good->rows() == 3u);
    check_fails(good->append(rows.all()), "should have 3 rows");
    BOOST_TEST(good->finish().ok());
    auto ended = sparse_columns_builder::make(pool, {.rows = 3, .columns = 4});
    BOOST_REQUIRE(ended.ok());
    check_fails(ended->finish(), "ends before row 0");
}

// Columns of three ranges, one of them without entries.
BOOST_AUTO_TEST_CASE(sparse_rows_may_have_many_columns) {
    memory_pool pool{64u << 20};
    constexpr std::size_t rows = 700, columns = 200000;
    auto builder = sparse_columns_builder::make(pool, {rows, columns});
    BOOST_REQUIRE(builder.ok());
    const auto column = [](std::size_t row) { return static_cast<std::int32_t>(row % 50); };
    for (std::size_t i = 0; i < rows; ++i) {
        const std::vector<std::int64_t> starts{0, 3};
        const std::vector<std::int32_t> numbers{column(i), 65535, 131072 + column(i)};
        const std::vector<float> values{static_cast<float>(i), 1, static_cast<float>(2 * i)};
        BOOST_TEST(builder->append({starts, numbers, values}).ok());
    }
    const auto x = builder->finish();
    BOOST_REQUIRE(x.ok());
    BOOST_TEST((*x)->all_entries() == 3 * rows);
    BOOST_TEST((*x)->entries(65535) == rows);
    BOOST_TEST((*x)->entries(65536) == 0u);
    BOOST_TEST((*x)->entries(199999) == 0u);
    for (std::size_t j = 0; j < 50; ++j)
        for (const std::size_t range : {0u, 2u}) {
            const sparse_column entries = (*x)->column(65536 * range + j);
            BOOST_REQUIRE(entries.rows.size() == 14u);
            for (std::size_t e = 0; e < 14; ++e) {
                BOOST_TEST(entries.rows[e] == static_cast<std::int32_t>(j + 50 * e));
                BOOST_TEST(entries.values[e] ==
                           static_cast<float>(entries.rows[e]) * (range == 0 ? 1 : 2));
            }
        }
}

BOOST_AUTO_TEST_CASE(sparse_rows_that_arrive_count_against_the_bound_of_the_pool) {
    constexpr std::size_t rows = 400, columns = 1000;
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::int32_t j = 0; j < 1000; ++j)
            numbers.push_back(j);
        starts.push_back(static_cast<std::int64_t>(numbers.size()));
    }
    const std::vector<float> values(numbers.size(), 1.0f);
    const auto appends = [&](std::uint64_t bytes_max, std::size_t used) {
        memory_pool pool{bytes_max};
        const auto other = pool.allocate(used);
        auto builder = sparse_columns_builder::make(pool, {rows, columns});
        return builder->append({starts, numbers, values});
    };
    BOOST_TEST(appends(8u << 20, 0).ok());
    BOOST_TEST((appends(2u << 20, 0).failure().code() == errc::exhausted));
    BOOST_TEST((appends(8u << 20, 6u << 20).failure().code() == errc::exhausted));
}

// One entry each, in turn in one of some ranges of columns.
struct one_each {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> columns;
    std::vector<float> values;

    one_each(std::size_t rows, std::size_t ranges) {
        for (std::size_t i = 0; i < rows; ++i) {
            columns.push_back(static_cast<std::int32_t>(65536 * (i % ranges) + i / ranges));
            values.push_back(static_cast<float>(i));
            starts.push_back(static_cast<std::int64_t>(values.size()));
        }
    }
    sparse_rows all() const { return {starts, columns, values}; }
};

// With 8 bytes for each row in each range they would take 64 MB.
BOOST_AUTO_TEST_CASE(few_entries_in_many_ranges_take_little_memory) {
    constexpr std::size_t rows = 200000, ranges = 40;
    memory_pool pool{32u << 20}; // of which the starts of columns take 21 MB
    auto builder = sparse_columns_builder::make(pool, {rows, 65536 * ranges});
    BOOST_REQUIRE(builder.ok());
    BOOST_TEST(builder->append(one_each{rows, ranges}.all()).ok());
    const auto x = builder->finish();
    BOOST_REQUIRE(x.ok());
    BOOST_TEST((*x)->all_entries() == rows);
    bool same = true;
    for (std::size_t i = 0; i < rows; ++i) {
        const sparse_column entries = (*x)->column(65536 * (i % ranges) + i / ranges);
        same &= entries.rows.size() == 1 && entries.rows[0] == static_cast<std::int32_t>(i) &&
                entries.values[0] == static_cast<float>(i);
    }
    BOOST_TEST(same);
}

// The entries alone would have room, and so would each range.
BOOST_AUTO_TEST_CASE(the_rows_of_ranges_count_against_the_bound_of_the_pool) {
    constexpr std::size_t rows = 100000;
    memory_pool pool{1200000};
    auto builder = sparse_columns_builder::make(pool, {rows, 131072});
    BOOST_REQUIRE(builder.ok());
    check_fails(builder->append(one_each{rows, 2}.all()), "the entries of a matrix",
                errc::exhausted);
}

BOOST_AUTO_TEST_CASE(a_builder_takes_no_more_memory_than_it_says) {
    constexpr std::size_t rows = 3000, columns = 1000;
    memory_pool pool{256u << 20};
    {
        const auto x = test::dense_of(pool, test::random_rows({rows, columns}, 1, 1), 64);
        BOOST_TEST(pool.statistics().bytes_in_use_peak <= 1.3 * rows * columns * 4);
    }
    memory_pool other{256u << 20};
    const auto x = test::sparse_of(other, test::random_rows({rows, columns}, 0.1, 1), 64);
    const auto data = static_cast<double>(8 * x->all_entries() + 8 * columns);
    BOOST_TEST(static_cast<double>(other.statistics().bytes_in_use_peak) <= 1.3 * data);
}
