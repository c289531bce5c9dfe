#include <boost/test/unit_test.hpp>

#include <set>

#include "apps/lasso/gram_cache.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

using variables = std::vector<std::int64_t>;
using columns = std::vector<std::int32_t>;
using pair = std::pair<std::int32_t, std::int32_t>;

double product(std::int32_t a, std::int32_t b) {
    return std::min(a, b) * 1000.0 + std::max(a, b);
}

// The pairs that a request names, smaller column first; none may be named twice.
std::set<pair> pairs_of(const gram_request& request) {
    std::set<pair> pairs;
    const auto add = [&](std::int32_t a, std::int32_t b) {
        BOOST_TEST((pairs.insert({std::min(a, b), std::max(a, b)}).second));
    };
    for (const gram_block& block : request) {
        for (std::size_t i = 0; block.is_among && i < block.rows.size(); ++i)
            for (std::size_t k = 0; k < i; ++k)
                add(block.rows[i], block.rows[k]);
        for (const std::int32_t row : block.rows)
            for (const std::int32_t column : block.columns)
                add(row, column);
    }
    BOOST_TEST(pairs.size() == entries_of(request));
    return pairs;
}

void answer(gram_cache& cache, const gram_request& request) {
    std::vector<double> products;
    for (const gram_block& block : request) {
        for (std::size_t i = 0; block.is_among && i < block.rows.size(); ++i)
            for (std::size_t k = 0; k < i; ++k)
                products.push_back(product(block.rows[i], block.rows[k]));
        for (const std::int32_t row : block.rows)
            for (const std::int32_t column : block.columns)
                products.push_back(product(row, column));
    }
    // Of two workers, one of whom has a quarter.
    std::vector<double> some(products.size());
    for (std::size_t i = 0; i < products.size(); ++i) {
        some[i] = products[i] / 4;
        products[i] -= some[i];
    }
    const std::vector<std::span<const double>> parts{products, some};
    BOOST_TEST(cache.keep(request, parts, [](std::int32_t) { return 1.0; }));
}

gram_request ask(gram_cache& cache, const variables& chosen, const columns& partners,
                 const gram_cache::use& u) {
    BOOST_TEST(cache.make_room(chosen, partners, u) == chosen.size());
    for (const std::int64_t j : chosen)
        cache.put_square(j, product(static_cast<std::int32_t>(j), static_cast<std::int32_t>(j)));
    return cache.ask(chosen, partners);
}

void check_products(const gram_cache& cache, const variables& rows, const columns& others) {
    const auto entries = cache.gather(rows, others);
    BOOST_REQUIRE(entries.ok());
    std::size_t next = 0;
    for (const std::int64_t j : rows)
        for (const std::int32_t k : others)
            BOOST_TEST((*entries)[next++] == product(static_cast<std::int32_t>(j), k));
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_gram_cache)

BOOST_AUTO_TEST_CASE(asks_for_each_pair_once) {
    gram_cache cache{1u << 20};
    const gram_request first = ask(cache, {7, 3, 5}, {}, {0, 0});
    BOOST_TEST((pairs_of(first) == std::set<pair>{{3, 5}, {3, 7}, {5, 7}}));
    // It counts as there before it has come.
    BOOST_TEST(ask(cache, {3, 5}, {7}, {1, 0}).empty());
    BOOST_TEST(!cache.gather(variables{3}, columns{5}).ok());
    answer(cache, first);
    check_products(cache, {3, 5, 7}, {3, 5, 7});
    const gram_request second = ask(cache, {5, 9, 2}, {3, 7}, {2, 2});
    BOOST_TEST((pairs_of(second) ==
                std::set<pair>{{2, 3}, {2, 5}, {2, 7}, {2, 9}, {3, 9}, {5, 9}, {7, 9}}));
    answer(cache, second);
    check_products(cache, {2, 3, 5, 7, 9}, {9});
    check_products(cache, {2, 5, 9}, {2, 3, 5, 7, 9});
}

BOOST_AUTO_TEST_CASE(asks_for_what_is_missing_whatever_has_been_asked_before) {
    random_stream random{11};
    gram_cache cache{1u << 20};
    std::set<pair> known;
    for (std::uint64_t number = 0; number < 200; ++number) {
        std::set<std::int64_t> chosen;
        std::set<std::int32_t> partners;
        for (int i = 0; i < 6; ++i)
            chosen.insert(static_cast<std::int64_t>(random.below(30)));
        for (int i = 0; i < 4; ++i) // 30 to 39 belong to another scheduler
            partners.insert(static_cast<std::int32_t>(random.below(40)));
        const variables rows(chosen.begin(), chosen.end());
        const columns others(partners.begin(), partners.end());
        const gram_request request = ask(cache, rows, others, {number, number});
        for (const pair& p : pairs_of(request))
            BOOST_TEST(known.insert(p).second);
        answer(cache, request);
        check_products(cache, rows, others);
        check_products(cache, rows, columns(rows.begin(), rows.end()));
    }
}

BOOST_AUTO_TEST_CASE(drops_what_was_used_least_recently_and_keeps_what_is_under_way) {
    gram_cache cache{16};
    answer(cache, ask(cache, {1, 2}, {}, {0, 0}));
    answer(cache, ask(cache, {3, 4}, {}, {1, 1}));
    BOOST_TEST(cache.rows() == 4u);
    answer(cache, ask(cache, {1, 5}, {}, {2, 2}));
    BOOST_TEST(cache.entries() <= 16u);
    BOOST_TEST(!cache.gather(variables{1}, columns{2}).ok());
    check_products(cache, {1}, {5});
    check_products(cache, {3}, {4});
    // All of it is needed: there is room for none of the others.
    BOOST_TEST(cache.make_room(variables{8, 9}, {}, {3, 1}) == 0u);
    check_products(cache, {1}, {5});
    check_products(cache, {3}, {4});
    BOOST_TEST(cache.make_room(variables{8, 9}, {}, {4, 3}) == 2u);
    BOOST_TEST(!cache.gather(variables{3}, columns{4}).ok());
}

BOOST_AUTO_TEST_CASE(makes_room_for_as_many_as_fit) {
    gram_cache cache{20};
    const std::size_t room = cache.make_room(variables{1, 2, 3, 4, 5, 6}, {}, {0, 0});
    BOOST_TEST(room == 3u);
    BOOST_TEST(cache.entries() <= 20u);
}

BOOST_AUTO_TEST_CASE(has_the_room_that_it_says_whatever_is_chosen) {
    random_stream random{5};
    gram_cache cache{150};
    variables all;
    for (std::int64_t j = 0; j < 30; ++j)
        all.push_back(j);
    std::size_t least = all.size(), most = 0;
    for (std::uint64_t number = 0; number < 300; ++number) {
        columns partners;
        for (std::int32_t j = 0; j < 5; ++j)
            partners.push_back(30 + j);
        const gram_cache::use use{number, number - std::min<std::uint64_t>(number, 2)};
        const std::size_t room = cache.room(all, partners, use);
        variables chosen = all;
        for (std::size_t i = chosen.size(); i > 1; --i)
            std::swap(chosen[i - 1], chosen[random.below(i)]);
        chosen.resize(std::min<std::size_t>(room, number % 4 == 0 ? 4 : 30));
        BOOST_REQUIRE(cache.make_room(chosen, partners, use) == chosen.size());
        BOOST_TEST(cache.entries() <= 150u);
        least = std::min(least, room);
        most = std::max(most, room);
    }
    BOOST_TEST(least < 4u);
    BOOST_TEST(most == 10u);
    BOOST_TEST(gram_cache{150}.holds(10, 5));
    BOOST_TEST(!gram_cache{150}.holds(10, 6));
}

BOOST_AUTO_TEST_CASE(refuses_products_that_were_not_asked_for) {
    gram_cache cache{1u << 10};
    BOOST_TEST(!cache.gather(variables{1}, columns{2}).ok());
    answer(cache, ask(cache, {1, 2}, {}, {0, 0}));
    BOOST_TEST(!cache.gather(variables{1}, columns{3}).ok());
    BOOST_TEST((cache.gather(variables{1}, columns{3}).failure().code() == errc::protocol));
    BOOST_TEST(!cache.among(variables{1, 3}).ok());
    BOOST_TEST(cache.among(variables{1, 2}).ok());
    BOOST_TEST(cache.gather({}, columns{3})->empty());
}

BOOST_AUTO_TEST_CASE(is_the_same_after_it_was_saved) {
    gram_cache cache{1u << 10};
    answer(cache, ask(cache, {4, 2, 9}, {11}, {0, 0}));
    const gram_request under_way = ask(cache, {2, 5}, {9}, {1, 1});
    gram_cache loaded{1u << 10};
    BOOST_TEST(loaded.load(cache.save()).ok());
    answer(cache, under_way);
    answer(loaded, under_way);
    for (gram_cache* c : {&cache, &loaded})
        check_products(*c, {2, 5}, {2, 5, 9});
    BOOST_TEST((ask(cache, {4, 6, 5}, {2}, {2, 2}) == ask(loaded, {4, 6, 5}, {2}, {2, 2})));

    auto broken = cache.save();
    broken.products.pop_back();
    BOOST_TEST(!loaded.load(broken).ok());
    broken = cache.save();
    broken.numbers.push_back(1);
    BOOST_TEST(!loaded.load(broken).ok());
    broken = cache.save();
    broken.numbers[0] = broken.numbers[3];
    BOOST_TEST(!loaded.load(broken).ok());
    check_products(loaded, {2, 5}, {2, 5, 9});
}

BOOST_AUTO_TEST_SUITE_END()
