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
    if ((a + b) % 3 == 0 && a != b)
        return 0;
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
    // Of two workers: one has a quarter of all, the other the rest of those that are not 0.
    std::vector<double> quarter, rest;
    std::vector<std::int64_t> numbers;
    for (const double all : products) {
        quarter.push_back(all / 4);
        if (all == 0)
            continue;
        numbers.push_back(static_cast<std::int64_t>(quarter.size()) - 1);
        rest.push_back(all - all / 4);
    }
    const std::vector<gram_part> parts{{quarter, {}, true}, {rest, numbers, false}};
    BOOST_TEST(cache.keep(request, parts, [](std::int32_t) { return 1.0; }));
}

gram_request ask(gram_cache& cache, const variables& chosen, const columns& partners,
                 const gram_cache::use& u) {
    cache.make_room(chosen, partners, u);
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
    gram_cache cache{10};
    answer(cache, ask(cache, {1, 3}, {}, {0, 0}));
    answer(cache, ask(cache, {4, 6}, {}, {1, 1}));
    BOOST_TEST(cache.entries() == 8u);
    answer(cache, ask(cache, {1, 7}, {}, {2, 2}));
    BOOST_TEST(cache.entries() == 8u);
    BOOST_TEST(!cache.gather(variables{1}, columns{3}).ok());
    check_products(cache, {1}, {7});
    check_products(cache, {4}, {6});
    BOOST_TEST(cache.room(0, {3, 1}) == 1u); // beside what is needed
    BOOST_TEST(cache.room(0, {3, 3}) == 3u);
    answer(cache, ask(cache, {8, 9, 10}, {}, {3, 3}));
    BOOST_TEST(cache.entries() <= 10u);
    BOOST_TEST(!cache.gather(variables{4}, columns{6}).ok());
    check_products(cache, {8, 9, 10}, {8, 9, 10});
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
        const std::size_t room = cache.room(partners.size(), use);
        variables chosen = all;
        for (std::size_t i = chosen.size(); i > 1; --i)
            std::swap(chosen[i - 1], chosen[random.below(i)]);
        chosen.resize(std::min<std::size_t>(room, number % 4 == 0 ? 4 : 30));
        const gram_request request = ask(cache, chosen, partners, use);
        answer(cache, request);
        check_products(cache, chosen, partners);
        BOOST_TEST(cache.entries() <= 150u);
        least = std::min(least, room);
        most = std::max(most, room);
    }
    BOOST_TEST(least < 4u);
    BOOST_TEST(most == 8u);
}

BOOST_AUTO_TEST_CASE(products_that_are_0_take_no_memory) {
    gram_cache cache{1u << 20};
    variables many;
    for (std::int64_t j = 0; j < 100; ++j)
        many.push_back(j);
    const std::vector<double> few{5};
    const gram_request request = ask(cache, many, {}, {0, 0});
    const std::vector<std::int64_t> numbers{3}; // of columns 3 and 0
    const std::vector<gram_part> parts{{few, numbers, false}, {{}, {}, false}};
    BOOST_TEST(cache.keep(request, parts, [](std::int32_t) { return 2.0; }));
    BOOST_TEST(cache.entries() < 300u);
    BOOST_TEST(cache.gather(variables{3}, columns{0, 1, 2})->front() == 1.25);
    const auto among = cache.among(many);
    BOOST_REQUIRE(among.ok());
    BOOST_TEST(among->entries() == 102u);
    BOOST_TEST(among->at(0, 3) == 1.25);
    BOOST_TEST(among->at(3, 1) == 0);
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
    broken.numbers[0] = broken.numbers[5];
    BOOST_TEST(!loaded.load(broken).ok());
    check_products(loaded, {2, 5}, {2, 5, 9});
}

BOOST_AUTO_TEST_SUITE_END()
