// The smaller parts of lda: rows of words, blocks, tokens, counts of documents, totals.
#include <cmath>

#include <boost/test/unit_test.hpp>

#include "apps/lda/block_rows.hpp"
#include "apps/lda/document_topics.hpp"
#include "apps/lda/likelihood.hpp"
#include "apps/lda/shared_totals.hpp"
#include "apps/lda/word_tokens.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

memory_pool& memory() {
    static memory_pool pool{16u << 20};
    return pool;
}

using numbers = std::vector<std::int32_t>;
constexpr auto unseen = [](std::uint32_t, std::int32_t) {};

numbers packed(const numbers& counts) {
    word_row row{static_cast<std::uint32_t>(counts.size())};
    for (std::uint32_t k = 0; k < counts.size(); ++k)
        for (std::int32_t i = 0; i < counts[k]; ++i)
            row.add(k);
    numbers to;
    row.pack(to, unseen);
    return to;
}

scheduled::payload piece_of(const std::vector<float>& values, std::size_t rows) {
    return scheduled::payload_of(memory(), std::vector<std::int64_t>{}, numbers{}, values,
                                 std::vector<double>(rows))
        .value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(lda_parts)

BOOST_AUTO_TEST_CASE(rows_are_packed_in_the_shorter_form) {
    BOOST_TEST((packed({0, 2, 0, 0, 0}) == numbers{1, 2}));
    BOOST_TEST((packed({0, 2, 0, 1, 0}) == numbers{1, 2, 3, 1}));
    BOOST_TEST((packed({0, 2, 0, 1}) == numbers{0, 2, 0, 1}));
    BOOST_TEST((packed({0, 0, 0, 0}) == numbers{}));
    word_row row{5};
    for (const numbers& counts : {numbers{0, 2, 0, 0, 0}, numbers{1, 2, 3, 0, 0}, numbers(5)}) {
        BOOST_TEST(row.unpack(packed(counts)).ok());
        BOOST_TEST(std::ranges::equal(row.counts(), counts));
        BOOST_TEST(row.remove(1) == (counts[1] > 0));
        row.add(1);
        row.add(4);
        numbers to, visited(5);
        row.pack(to, [&](std::uint32_t k, std::int32_t n) { visited[k] += n; });
        BOOST_TEST(visited[4] == 1);
        BOOST_TEST(visited[1] == std::max(counts[1], 1));
        BOOST_TEST(row.nonzeros() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(rows_of_other_builds_are_refused_and_leave_nothing) {
    word_row row{4};
    for (const numbers& bad :
         {numbers{1}, numbers{1, 2, 3}, numbers{4, 1}, numbers{-1, 1}, numbers{1, 0},
          numbers{1, -2}, numbers{1, INT32_MAX}, numbers{1, 1, 1, -1}, numbers{0, 0, 0, 0, 0}}) {
        BOOST_TEST(!row.unpack(bad).ok());
        BOOST_TEST(row.nonzeros() == 0u);
        BOOST_TEST(std::ranges::equal(row.counts(), numbers(4)));
    }
    word_row wide{9};
    BOOST_TEST(!wide.unpack(numbers{3, 1, 3, 1}).ok()); // a topic twice
}

BOOST_AUTO_TEST_CASE(blocks_are_read_as_they_were_written) {
    block_writer writer;
    word_row row{6};
    writer.append(row, unseen);
    row.add(3);
    writer.append(row, unseen);
    const auto block = writer.finish(memory());
    BOOST_REQUIRE(block.ok());
    const auto read = block_reader::open(*block, 2);
    BOOST_REQUIRE(read.ok());
    BOOST_TEST(read->row(0).empty());
    BOOST_TEST(std::ranges::equal(read->row(1), numbers{3, 1}));
    BOOST_TEST(!block_reader::open(*block, 3).ok());
    BOOST_TEST(!block_reader::open({}, 2).ok());
    using starts = std::vector<std::int64_t>;
    for (const starts& bad : {starts{1, 2, 2}, starts{0, 2, 1}, starts{0, 3, 2}, starts{0, 0, 3}})
        BOOST_TEST(
            !block_reader::open(scheduled::payload_of(memory(), bad, numbers{3, 1}).value(), 2)
                 .ok());
    BOOST_TEST(block_reader::open(empty_block(memory(), 5).value(), 5)->row(4).empty());
}

BOOST_AUTO_TEST_CASE(counts_become_tokens_by_word) {
    token_builder builder{memory(), 3, 2};
    BOOST_REQUIRE(builder.append(piece_of({2, 0, 1, 1}, 2)).ok());
    BOOST_REQUIRE(
        builder
            .append(scheduled::payload_of(memory(), std::vector<std::int64_t>{0, 1}, numbers{1},
                                          std::vector<float>{2}, std::vector<double>(1))
                        .value())
            .ok());
    auto tokens = builder.finish();
    BOOST_REQUIRE(tokens.ok());
    BOOST_TEST(tokens->tokens() == 6u);
    BOOST_TEST(std::ranges::equal(tokens->of(0).documents, numbers{0, 0, 1}));
    BOOST_TEST(std::ranges::equal(tokens->of(1).documents, numbers{1, 2, 2}));
    BOOST_TEST(tokens->of(1).topics[2] == no_topic);
    BOOST_TEST(std::ranges::equal(tokens->sizes(), std::vector<std::uint32_t>{2, 2, 2}));
}

BOOST_AUTO_TEST_CASE(what_are_no_counts_is_refused_in_a_sentence) {
    const auto refusal = [](float value) {
        token_builder builder{memory(), 1, 2};
        const auto taken = builder.append(piece_of({1, value}, 1));
        BOOST_REQUIRE(!taken.ok());
        BOOST_TEST((taken.failure().code() == errc::data));
        return taken.failure().message();
    };
    BOOST_TEST(refusal(0.5F).starts_with("a document has 0.5 of a word, but topics are of counts"));
    BOOST_TEST(refusal(-1).starts_with("a document has -1 of a word"));
    BOOST_TEST(refusal(NAN).find("counts") != std::string::npos);
    BOOST_TEST(refusal(INFINITY).find("counts") != std::string::npos);
    BOOST_TEST(refusal(1e30F).starts_with("a document has more than 2147483647 words"));
    token_builder builder{memory(), 1, 2};
    BOOST_TEST(!builder.append(piece_of({1, 1, 1, 1}, 2)).ok());
    BOOST_TEST(!builder.finish().ok()); // no rows at all
    memory_pool small{100};
    token_builder large{small, 1, 2};
    BOOST_TEST(large.append(piece_of({1000, 1000}, 1)).ok());
    BOOST_TEST((large.finish().failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(counts_of_documents_keep_their_order_when_they_are_saved) {
    const std::vector<std::uint32_t> sizes{4, 0, 2};
    auto counts = document_topics::make(memory(), sizes, 3).value();
    for (const std::uint32_t topic : {2u, 1u, 2u, 2u})
        counts.add(0, topic);
    counts.add(2, 1);
    const auto order = [](const document_topics& d) {
        std::vector<std::uint32_t> all;
        for (std::size_t i = 0; i < d.length(0); ++i)
            all.push_back(d.topic(0, i));
        return all;
    };
    BOOST_TEST((order(counts) == std::vector<std::uint32_t>{2, 1}));
    BOOST_TEST(counts.count(0, 2) == 3);
    auto loaded = document_topics::make(memory(), sizes, 3).value();
    BOOST_REQUIRE(loaded.load(counts.lengths(), counts.order(), 3).ok());
    BOOST_TEST(!loaded.is_complete());
    for (const std::uint32_t topic : {1u, 2u, 2u, 2u})
        BOOST_TEST(loaded.count_again(0, topic));
    BOOST_TEST(loaded.count_again(2, 1));
    BOOST_TEST(loaded.is_complete());
    BOOST_TEST(!loaded.count_again(2, 0));
    BOOST_TEST(!counts.add(1, 0)); // has no tokens
    BOOST_TEST(counts.length(1) == 0);
    BOOST_TEST((order(loaded) == order(counts)));

    const auto loads = [&](numbers lengths, std::vector<std::uint16_t> topics) {
        auto fresh = document_topics::make(memory(), sizes, 3).value();
        return fresh.load(lengths, topics, 3).ok();
    };
    BOOST_TEST(loads({1, 0, 1}, {0, 1}));
    BOOST_TEST(!loads({1, 0}, {0}));
    BOOST_TEST(!loads({4, 0, 0}, {0, 1, 2, 0}));
    BOOST_TEST(!loads({-1, 0, 1}, {0}));
    BOOST_TEST(!loads({1, 0, 1}, {0}));
    BOOST_TEST(!loads({1, 0, 0}, {0, 1}));
    BOOST_TEST(!loads({1, 0, 0}, {3}));
}

BOOST_AUTO_TEST_CASE(a_worker_sees_its_own_changes_once) {
    shared_totals totals{2, 1.0};
    totals.begin();
    totals.counts().change(0, 5);
    BOOST_TEST((totals.end(0) == std::vector<std::int64_t>{5, 0}));
    totals.begin();
    totals.counts().change(0, -1);
    totals.counts().change(1, 1);
    BOOST_TEST((totals.end(1) == std::vector<std::int64_t>{-1, 1}));
    BOOST_TEST(std::ranges::equal(totals.counts().counts(), std::vector<std::int64_t>{4, 1}));
    BOOST_TEST(totals.apply(0, std::vector<std::int64_t>{7, 3}).ok()); // others: 2, 3
    BOOST_TEST(std::ranges::equal(totals.counts().counts(), std::vector<std::int64_t>{6, 4}));
    BOOST_TEST(!totals.apply(3, std::vector<std::int64_t>{0, 0}).ok());
    BOOST_TEST(!totals.apply(1, std::vector<std::int64_t>{0}).ok());

    shared_totals loaded{2, 1.0};
    BOOST_TEST(loaded.load(totals.counts().counts(), totals.phases(), totals.own()).ok());
    BOOST_TEST(loaded.apply(1, std::vector<std::int64_t>{-1, 1}).ok());
    BOOST_TEST(std::ranges::equal(loaded.counts().counts(), std::vector<std::int64_t>{6, 4}));
    BOOST_TEST(!loaded.load(totals.counts().counts(), totals.phases(), {}).ok());
    BOOST_TEST(!loaded.load({}, {}, {}).ok());
}

BOOST_AUTO_TEST_CASE(ratios_of_gamma_functions_are_those_of_the_library) {
    const log_gamma_ratio ratio{0.01, 10};
    for (const int n : {0, 1, 9, 10, 11, 5000})
        BOOST_TEST(ratio(n) == std::lgamma(n + 0.01) - std::lgamma(0.01),
                   boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()
