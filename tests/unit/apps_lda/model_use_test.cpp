// What is asked of a result.
#include <fstream>

#include <boost/test/unit_test.hpp>

#include "actors/scheduled/data_pieces.hpp"
#include "apps/lda/lda.hpp"
#include "apps/lda/model_use.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/apps_lda/lda_runs.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

// Rows in memory, two at a time.
class few_rows final : public scheduled::piece_source {
  public:
    explicit few_rows(test::matrix_rows rows) : rows_{std::move(rows)} {}

    scheduled::data_shape shape() const override {
        return {rows_.rows(), rows_.columns, rows_.values.size(), rows_.is_sparse()};
    }
    std::uint64_t row_work(std::uint64_t) const override { return 1; }
    std::uint64_t column_work(std::uint64_t) const override { return 1; }
    result<std::optional<scheduled::rows_piece>> next(std::uint64_t, memory_pool& memory) override {
        if (done_ == rows_.rows())
            return std::optional<scheduled::rows_piece>{};
        const std::uint64_t count = std::min<std::uint64_t>(2, rows_.rows() - done_);
        const auto first = static_cast<std::size_t>(rows_.starts[done_]),
                   end = static_cast<std::size_t>(rows_.starts[done_ + count]);
        std::vector<std::int64_t> starts;
        for (std::uint64_t r = done_; r <= done_ + count; ++r)
            starts.push_back(rows_.starts[r] - rows_.starts[done_]);
        auto made = scheduled::payload_of(
            memory, starts, std::span{rows_.indices}.subspan(first, end - first),
            std::span{rows_.values}.subspan(first, end - first), std::vector<double>(count));
        done_ += count;
        return std::optional{scheduled::rows_piece{done_ - count, count, std::move(*made)}};
    }
    result<void> rewind() override {
        done_ = 0;
        return {};
    }

  private:
    test::matrix_rows rows_;
    std::uint64_t done_ = 0;
};

struct lines final : scheduled::prediction_table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> texts; // of each line
    std::vector<std::vector<double>> all;

    result<void> begin(const std::vector<std::string>& names) override {
        columns = names;
        return {};
    }
    result<void> add(std::span<const std::string> names, std::span<const double> line) override {
        texts.emplace_back(names.begin(), names.end());
        all.emplace_back(line.begin(), line.end());
        return {};
    }
};

// A model of two topics: the words a and b, and c and d.
struct used_model {
    test::temporary_folder folder;
    memory_pool memory{1u << 20};
    std::unique_ptr<few_rows> rows;
    scheduled::result_use use;

    explicit used_model(const std::vector<std::vector<std::int32_t>>& documents,
                        std::uint64_t words = 4) {
        write("summary.json",
              R"({"program": "lda", "topics": 2, "words": 4, "alpha": 0.1, "beta": 0.01})");
        std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (4, 2), }";
        header.resize(117, ' ');
        const std::int32_t counts[] = {100, 0, 300, 0, 0, 200, 0, 200};
        write("word_topics.npy",
              std::string{"\x93NUMPY\x01\0\x76\0", 10} + header + '\n' +
                  std::string{reinterpret_cast<const char*>(counts), sizeof counts});
        write("words.txt", "a\nb\nc\nd\n");
        rows = std::make_unique<few_rows>(test::rows_of(documents, words));
        use.rows = rows.get();
        use.memory = &memory;
        use.data = rows->shape();
        use.directory = folder.path();
        use.seed = 1;
    }
    void write(const char* name, const std::string& text) const {
        std::ofstream{folder.path() / name, std::ios::binary} << text;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(lda_model_use)

BOOST_AUTO_TEST_CASE(documents_get_the_shares_of_their_topics) {
    const used_model m{{{0, 0, 1, 1, 1}, {2, 3, 3, 3}, {}}};
    lines table;
    BOOST_REQUIRE(lda_program().predict(m.use, table).ok());
    BOOST_TEST((table.columns == std::vector<std::string>{"document", "topic 0", "topic 1"}));
    BOOST_REQUIRE(table.all.size() == 3u);
    BOOST_TEST((table.texts == std::vector<std::vector<std::string>>{{"0"}, {"1"}, {"2"}}));
    BOOST_TEST(table.all[0][0] == 5.1 / 5.2, boost::test_tools::tolerance(0.01));
    BOOST_TEST(table.all[1][1] == 4.1 / 4.2, boost::test_tools::tolerance(0.01));
    BOOST_TEST(table.all[2][0] == 0.5, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(words_are_known_by_their_names) {
    used_model m{{{1, 1, 1, 0}}, 3};
    m.use.column_names = {"unheard", "c", "a"};
    lines table;
    BOOST_REQUIRE(predict(m.use, table).ok());
    BOOST_TEST(table.all[0][1] == 3.1 / 3.2, boost::test_tools::tolerance(0.01));
    used_model none{{{1, 1, 1, 0}}, 3};
    none.use.column_names = {"x", "y", "z"};
    BOOST_TEST((predict(none.use, table).failure().code() == errc::usage));
    // Spelled otherwise, or as a version with other tables of letters did.
    used_model other{{{0, 0, 1, 1, 1}}, 2};
    other.write("words.txt", "\u01afớc\nước\nΣΑΣ\ncafe\u0301\n");
    other.use.column_names = {"caf\u00e9", "σας"};
    BOOST_REQUIRE(predict(other.use, table).ok());
    BOOST_TEST(table.all[1][1] == 5.1 / 5.2, boost::test_tools::tolerance(0.01));
    used_model exact{{{0, 0, 0}}, 1};
    exact.write("words.txt", "WORD\nx\nword\ny\n");
    exact.use.column_names = {"word"}; // is there as it is
    BOOST_REQUIRE(predict(exact.use, table).ok());
    BOOST_TEST(table.all[2][1] == 3.1 / 3.2, boost::test_tools::tolerance(0.01));
    // By number.
    used_model few{{{1, 1, 1, 0}}, 2}, many{{{1, 1, 1, 0}}, 5};
    BOOST_TEST(predict(few.use, table).ok());
    BOOST_TEST(predict(many.use, table).failure().message().starts_with("the data has 5 columns"));
}

BOOST_AUTO_TEST_CASE(a_score_is_the_perplexity) {
    const std::vector<std::int32_t> document(100, 2);
    const used_model m{{document, {0}}};
    const auto numbers = lda_program().score(m.use);
    BOOST_REQUIRE(numbers.ok());
    BOOST_TEST((*numbers)[0][0].name == "perplexity");
    BOOST_TEST((*numbers)[0][0].value == 2, boost::test_tools::tolerance(0.02));
    BOOST_TEST((*numbers)[0][1].value == 2);
    BOOST_TEST((*numbers)[0][2].value == 101);
    const used_model short_ones{{{0}, {1}}};
    BOOST_TEST(score(short_ones.use).failure().message().starts_with("no document of the data"));
}

BOOST_AUTO_TEST_CASE(what_are_no_counts_is_refused) {
    used_model m{{{0, 0, 1, 1, 1}}};
    auto rows = test::rows_of({{0, 1}}, 4);
    rows.values[1] = 0.5F;
    few_rows weights{rows};
    m.use.rows = &weights;
    BOOST_TEST((score(m.use).failure().code() == errc::data));
    rows.values[1] = 1e9F;
    few_rows long_ones{rows};
    m.use.rows = &long_ones;
    BOOST_TEST(score(m.use).failure().message().starts_with("a document has more than"));
    m.write("words.txt", "a\n");
    BOOST_TEST(!score(m.use).ok());
}

BOOST_AUTO_TEST_SUITE_END()
