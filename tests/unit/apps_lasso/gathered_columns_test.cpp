#include <boost/test/unit_test.hpp>

#include "apps/lasso/couplings.hpp"
#include "apps/lasso/gathered_columns.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

// Columns 4 and 9 of three and two rows: (1 0 2, 0 3) and (0 0 0, 5 0).
struct two_workers {
    std::vector<std::int64_t> starts[2]{{0, 2, 2}, {0, 1, 2}};
    std::vector<std::int32_t> rows[2]{{0, 2}, {1, 0}};
    std::vector<float> values[2]{{1, 2}, {3, 5}};

    std::vector<column_entries> parts() const {
        return {{3, starts[0], rows[0], values[0]}, {2, starts[1], rows[1], values[1]}};
    }
};

const std::vector<std::int32_t> four_and_nine{4, 9};

double scale(std::int32_t column) {
    return column == 9 ? 10 : 1;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_gathered_columns)

BOOST_AUTO_TEST_CASE(has_the_rows_of_all_workers_one_below_the_other) {
    memory_pool memory{1u << 20};
    gathered_columns columns{memory, 5};
    const std::vector<std::int32_t> needed{9, 4, 9};
    BOOST_TEST((columns.missing(needed) == four_and_nine));
    BOOST_TEST(!columns.find(needed, scale).ok());
    BOOST_REQUIRE(columns.keep(four_and_nine, two_workers{}.parts()).ok());
    BOOST_TEST(columns.missing(needed).empty());
    BOOST_TEST(columns.entries() == 4u);
    const auto found = columns.find(needed, scale);
    BOOST_REQUIRE(found.ok());
    const std::vector<double> r{1, 10, 100, 1000, 10000};
    BOOST_TEST((*found)[0].product(r) == 500);
    BOOST_TEST((*found)[1].product(r) == 30201);
    std::vector<double> sum(5);
    (*found)[0].add(2, sum);
    (*found)[1].add(-1, sum);
    BOOST_TEST((sum == std::vector<double>{-1, 0, -2, 1, -3}));
}

BOOST_AUTO_TEST_CASE(refuses_what_no_worker_has) {
    memory_pool memory{1u << 20};
    const auto keeps = [&](auto change, std::size_t rows = 5) {
        two_workers sent;
        change(sent);
        return gathered_columns{memory, rows}.keep(four_and_nine, sent.parts()).ok();
    };
    BOOST_TEST(keeps([](auto&) {}));
    BOOST_TEST(!keeps([](auto&) {}, 6));
    BOOST_TEST(!keeps([](auto& s) { s.starts[0] = {0, 2}; }));
    BOOST_TEST(!keeps([](auto& s) { s.starts[0] = {0, 3, 2}; }));
    BOOST_TEST(!keeps([](auto& s) { s.starts[0] = {1, 2, 2}; }));
    BOOST_TEST(!keeps([](auto& s) { s.starts[0] = {0, 2, 3}; }));
    BOOST_TEST(!keeps([](auto& s) { s.rows[0] = {0, 3}; }));
    BOOST_TEST(!keeps([](auto& s) { s.rows[0] = {2, 0}; }));
    BOOST_TEST(!keeps([](auto& s) { s.rows[0] = {-1, 2}; }));
    BOOST_TEST(!keeps([](auto& s) { s.values[0] = {1}; }));
    BOOST_TEST(!keeps([](auto& s) { s.values[1][0] = HUGE_VALF; }));
}

BOOST_AUTO_TEST_CASE(is_the_same_after_it_was_saved) {
    memory_pool memory{1u << 20};
    gathered_columns columns{memory, 5}, loaded{memory, 5};
    BOOST_REQUIRE(columns.keep(four_and_nine, two_workers{}.parts()).ok());
    const auto saved = [&](const gathered_columns& c) {
        scheduled::saved_part part;
        BOOST_REQUIRE(c.save(memory, part).ok());
        return part;
    };
    const scheduled::saved_part all = saved(columns);
    BOOST_REQUIRE(loaded.load(all, 10).ok());
    BOOST_TEST(loaded.entries() == 4u);
    const std::vector<double> r{1, 10, 100, 1000, 10000};
    BOOST_TEST(loaded.find(four_and_nine, scale).value().front().product(r) == 30201);
    BOOST_TEST(!loaded.load(all, 9).ok());
    const auto with = [&](std::size_t tensor, std::vector<std::int32_t> numbers) {
        scheduled::saved_part broken = all;
        broken.tensors[tensor] =
            scheduled::numbers_of(memory, std::span<const std::int32_t>{numbers}).value();
        return broken;
    };
    BOOST_TEST(loaded.load(with(0, {4, 9}), 10).ok());
    BOOST_TEST(!loaded.load(with(0, {9, 4}), 10).ok());
    BOOST_TEST(!loaded.load(with(0, {4}), 10).ok());
    BOOST_TEST(loaded.load(with(2, {0, 2, 4, 3}), 10).ok());
    BOOST_TEST(!loaded.load(with(2, {5, 2, 4, 3}), 10).ok());
    BOOST_TEST(!loaded.load(with(2, {0, 2, 4}), 10).ok());
    BOOST_REQUIRE(loaded.load(saved(gathered_columns{memory, 5}), 10).ok());
    BOOST_TEST(loaded.entries() == 0u);
}

BOOST_AUTO_TEST_CASE(columns_are_preferred_where_their_products_are_more_numbers) {
    memory_pool memory{1u << 20};
    const couplings c{{&memory, 1000, 1u << 20, 10000}};
    BOOST_TEST(!c.prefers_columns({100, 1000, 100, 1000}));     // 500 products of columns that meet
    BOOST_TEST(c.prefers_columns({100, 4000, 100, 4000}));      // 4950 products
    BOOST_TEST(!c.prefers_columns({50, 4000, 50, 4000}));       // 1225 products
    BOOST_TEST(!c.prefers_columns({1000, 20000, 1000, 20000})); // no room
    BOOST_TEST(!c.prefers_columns({}));
}

BOOST_AUTO_TEST_CASE(columns_are_asked_for_once_while_there_is_room) {
    memory_pool memory{1u << 20};
    couplings c{{&memory, 5, 100, 5}};
    const auto entries = [](std::int32_t) { return 2.0; };
    update_request request;
    c.ask_for_columns(four_and_nine, entries, request);
    BOOST_TEST(request.by_columns);
    BOOST_TEST((request.columns == four_and_nine));
    std::vector<update_partial> parts(2);
    const two_workers sent;
    for (const std::size_t w : {0u, 1u})
        parts[w].columns = sent.parts()[w];
    BOOST_REQUIRE(c.keep(request, parts, scale).ok());
    update_request next;
    c.ask_for_columns(four_and_nine, entries, next);
    BOOST_TEST(next.columns.empty());
    const std::vector<std::int32_t> three_and_four{3, 4};
    c.ask_for_columns(three_and_four, entries, next); // one more would be too many
    BOOST_TEST((next.columns == three_and_four));
    BOOST_TEST(c.columns().entries() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
