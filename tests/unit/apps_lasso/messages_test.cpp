#include <cmath>

#include <boost/test/unit_test.hpp>

#include "apps/lasso/messages.hpp"

using namespace troupe;
using namespace troupe::lasso;

BOOST_AUTO_TEST_SUITE(lasso_messages)

BOOST_AUTO_TEST_CASE(a_phase_is_described_by_its_first_variables) {
    memory_pool memory{1u << 20};
    const auto description = [&](std::vector<std::int32_t> chosen) {
        return describe_update(to_payload(memory, update_request{std::move(chosen), {}}).value());
    };
    BOOST_TEST(description({17}) == "1 variable: 17");
    BOOST_TEST(description({17, 4, 90}) == "3 variables: 17 4 90");
    BOOST_TEST(description({1, 2, 3, 4, 5, 6, 7, 8, 9}) == "9 variables: 1 2 3 4 5 6 7 8 ...");
    BOOST_TEST(description({}) == "0 variables");
    BOOST_TEST(describe_update({}).starts_with("the chosen variables"));
    BOOST_TEST(refused_text(0.526) == "; refused before: correlation 0.53");
    BOOST_TEST(refused_text(0) == "");
}

BOOST_AUTO_TEST_CASE(messages_are_read_as_they_were_written) {
    memory_pool memory{1u << 20};
    const update_request request{{5, 2}, false, {{{5, 2, 7}, {1}, true}, {{3}, {4, 6}, false}}};
    const auto read = read_update_request(to_payload(memory, request).value(), 8);
    BOOST_REQUIRE(read.ok());
    BOOST_TEST((read->chosen == request.chosen));
    BOOST_TEST(!read->with_products);
    BOOST_TEST((read->gram == request.gram));
    BOOST_TEST(entries_of(read->gram) == 8u);

    const std::vector<double> numbers{1, 2, 3};
    const std::vector<std::int64_t> places{0, 3, 7};
    const auto partial =
        to_payload(memory, update_partial{{}, 4, {numbers, places, false}}).value();
    const auto part = read_update_partial(partial, request);
    BOOST_REQUIRE(part.ok());
    BOOST_TEST(part->residual_sum == 4);
    BOOST_TEST(part->gram.products.size() == 3u);
    BOOST_TEST(part->gram.numbers.back() == 7);
}

BOOST_AUTO_TEST_CASE(columns_that_are_asked_for_come_with_their_rows) {
    memory_pool memory{1u << 20};
    update_request request{{3, 1}, false, {}, true, {1, 3, 8}};
    const payload sent = to_payload(memory, request).value();
    const auto read = read_update_request(sent, 9);
    BOOST_REQUIRE(read.ok());
    BOOST_TEST(read->by_columns);
    BOOST_TEST((read->columns == request.columns));
    BOOST_TEST(!read_update_request(sent, 8).ok());
    request.by_columns = false;
    BOOST_TEST(!read_update_request(to_payload(memory, request).value(), 9).ok());

    const std::vector<std::int64_t> starts{0, 1, 1, 3};
    const std::vector<std::int32_t> rows{4, 0, 4};
    const std::vector<float> values{1, 2, 3};
    auto answer = make_columns_answer(memory, {{}, 0, {}, {5, {}, {}, {}}}, {3, 3}).value();
    std::ranges::copy(starts, answer.starts.begin());
    std::ranges::copy(rows, answer.row_numbers.begin());
    std::ranges::copy(values, answer.values.begin());
    const payload partial = answer.made;
    const auto part = read_update_partial(partial, *read);
    BOOST_REQUIRE(part.ok());
    BOOST_TEST(part->columns.rows == 5u);
    BOOST_TEST(part->columns.starts.back() == 3);
    BOOST_TEST(part->columns.row_numbers.size() == 3u);
    BOOST_TEST(part->columns.values.back() == 3);
    const update_request other{{3, 1}, false, {}, true, {1, 3}};
    BOOST_TEST(!read_update_partial(partial, other).ok());
    BOOST_TEST(!read_update_partial(to_payload(memory, update_partial{}).value(), *read).ok());
}

BOOST_AUTO_TEST_CASE(what_another_build_may_send_is_refused) {
    memory_pool memory{1u << 20};
    using scheduled::payload_of;
    const std::vector<std::int32_t> columns{0, 1, 2}, flags{1, 0}, one_flag{1}, none;
    const auto refused = [](const auto& read) {
        return !read.ok() && read.failure().code() == errc::protocol;
    };
    BOOST_TEST(refused(read_update_request({}, 3)));
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{4, 0, 1}, {-1, 0, 1}, {1, 3, 1}, {1, INT64_MAX, 1}})
        BOOST_TEST(refused(read_update_request(
            payload_of(memory, columns, sizes, columns, flags, none).value(), 3)));
    const std::vector<std::int64_t> fits{1, 2, 0};
    const payload good = payload_of(memory, columns, fits, columns, flags, none).value();
    BOOST_TEST(read_update_request(good, 3).ok());
    BOOST_TEST(refused(read_update_request(good, 2))); // a column that there is not

    const update_request request{{0, 1}, true, {{{0, 1}, {2}, true}}};
    const std::vector<double> two{1, 2}, three{1, 2, 3}, one{1};
    const auto answer = [&](std::span<const double> products, std::span<const double> gram,
                            std::vector<std::int64_t> numbers, bool are_all) {
        return read_update_partial(
            to_payload(memory, update_partial{products, 0, {gram, numbers, are_all}}).value(),
            request);
    };
    BOOST_TEST(answer(two, three, {}, true).ok());
    BOOST_TEST(answer(two, two, {0, 2}, false).ok());
    BOOST_TEST(answer(two, {}, {}, false).ok());
    BOOST_TEST(refused(answer(one, three, {}, true)));
    BOOST_TEST(refused(answer(two, two, {}, true)));
    BOOST_TEST(refused(answer(two, two, {2, 0}, false)));
    BOOST_TEST(refused(answer(two, two, {0, 3}, false)));
    BOOST_TEST(refused(answer(two, two, {-1, 2}, false)));
    BOOST_TEST(refused(answer(two, two, {0}, false)));

    const std::vector<double> numbers(4), none_wide;
    std::vector<double> judged(13, 2.0);
    judged.back() = 1; // constant columns, beside 2 that are used
    BOOST_TEST(read_changes(payload_of(memory, columns, three, three, numbers).value(), 3).ok());
    BOOST_TEST(refused(read_changes(payload_of(memory, columns, two, three, numbers).value(), 3)));
    BOOST_TEST(
        refused(read_changes(payload_of(memory, columns, three, three, numbers).value(), 2)));
    BOOST_TEST(
        read_judgement(
            payload_of(memory, judged, columns, three, three, three, three, none_wide).value(),
            {0, 3})
            .ok());
    for (const double constant : {-1.0, 2.0}) {
        judged.back() = constant;
        BOOST_TEST(refused(read_judgement(
            payload_of(memory, judged, columns, three, three, three, three, none_wide).value(),
            {0, 3})));
    }
    judged.back() = 1;
    BOOST_TEST(refused(
        read_judgement(payload_of(memory, judged, one_flag, one, one, one, one, none_wide).value(),
                       {0, 3}))); // 2 of 1 in use
    BOOST_TEST(refused(read_judgement(
        payload_of(memory, judged, columns, three, two, three, three, none_wide).value(), {0, 3})));
    BOOST_TEST(refused(read_probe_partial({}, {3, true})));
    BOOST_TEST(refused(read_probe_request({})));
}

BOOST_AUTO_TEST_CASE(a_judgement_lists_its_own_variables_once_with_numbers) {
    memory_pool memory{1u << 20};
    struct listed {
        std::vector<std::int32_t> columns{12, 15, 11, 19};
        std::vector<double> gradients{1, 2, 3, 4}, means{0, -1, 0, 0}, squares{1, 1, 0, 1};
        double used = 2, product = -1;
        std::size_t in_use = 2;
    };
    const auto is_read = [&](const listed& l) {
        judgement j;
        j.used = l.used;
        j.product = l.product;
        j.in_use = l.in_use;
        j.columns = l.columns;
        j.gradients = l.gradients;
        j.means = l.means;
        j.squares = l.squares;
        const auto read = read_judgement(to_payload(memory, j).value(), {10, 10});
        BOOST_TEST((read.ok() || read.failure().code() == errc::protocol));
        return read.ok();
    };
    const auto with = [&](auto change) {
        listed l;
        change(l);
        return is_read(l);
    };
    const double nan = std::nan(""), infinity = HUGE_VAL;
    BOOST_TEST(is_read({}));
    for (const double used : {nan, infinity, -1.0, 11.0, 1e300})
        BOOST_TEST(!with([&](listed& l) { l.used = used; }));
    BOOST_TEST(!with([&](listed& l) { l.product = nan; }));
    BOOST_TEST(!with([&](listed& l) { l.in_use = 5; }));
    for (const double x : {nan, infinity, -1.0}) {
        BOOST_TEST(!with([&](listed& l) { l.gradients[1] = x; }));
        BOOST_TEST(!with([&](listed& l) { l.squares[3] = x; }));
    }
    BOOST_TEST(!with([&](listed& l) { l.means[0] = nan; }));
    BOOST_TEST(!with([&](listed& l) { l.columns[0] = 9; })); // of another scheduler
    BOOST_TEST(!with([&](listed& l) { l.columns[3] = 20; }));
    BOOST_TEST(!with([&](listed& l) { l.columns[0] = -1; }));
    BOOST_TEST(!with([&](listed& l) { l.columns[0] = 15; })); // twice
    BOOST_TEST(!with([&](listed& l) { l.columns[3] = 15; })); // in both parts
    BOOST_TEST(!with([&](listed& l) { l.columns[0] = 16; })); // falls
}

BOOST_AUTO_TEST_CASE(changes_are_numbers) {
    memory_pool memory{1u << 20};
    const std::vector<std::int32_t> columns{3};
    const auto is_read = [&](double delta, double decrease, double gap) {
        changes c;
        const std::vector<double> deltas{delta}, before{0};
        c.columns = columns;
        c.deltas = deltas;
        c.before = before;
        c.decrease = decrease;
        c.gap = gap;
        return read_changes(to_payload(memory, c).value(), 10).ok();
    };
    BOOST_TEST(is_read(1, 1, HUGE_VAL));
    BOOST_TEST(!is_read(std::nan(""), 1, 1));
    BOOST_TEST(!is_read(1, HUGE_VAL, 1));
    BOOST_TEST(!is_read(1, 1, std::nan("")));
}

BOOST_AUTO_TEST_SUITE_END()
