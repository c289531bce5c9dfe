#include <fstream>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "apps/lda/lda.capnp.h"
#include "apps/lda/lda_scheduler.hpp"
#include "apps/lda/result_files.hpp"
#include "apps/lda/topic_model.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/apps_lda/lda_runs.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream{path, std::ios::binary}.rdbuf();
    return text.str();
}

void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream{path, std::ios::binary} << text;
}

struct finished {
    test::lda_case c;
    test::matrix_rows rows = test::made_documents(50, 40, 4);
    std::unique_ptr<test::lda_result> ended; // holds the memory of the run
    scheduled::ended_run run;
    capnp::MallocMessageBuilder message;
    scheduled::result_site site;
    test::temporary_folder folder;

    finished() {
        c.run.workers = 2;
        auto made = test::run_lda(c, rows);
        BOOST_REQUIRE(made.ok());
        ended = std::make_unique<test::lda_result>(std::move(*made));
        run.schedulers = ended->saved;
        run.workers = ended->saved_workers;
        run.blocks = ended->blocks;
        message.initRoot<proto::LdaSettings>().setTopics(c.topics);
        site.settings = message.getRoot<capnp::AnyPointer>().asReader();
        site.data = {rows.rows(), rows.columns, rows.values.size(), true};
        site.workers = 2;
        site.blocks = test::ranges_of(rows.columns, 4);
        site.directory = folder.path();
        for (std::uint64_t w = 0; w < rows.columns; ++w)
            site.column_names.push_back(w == 3 ? "a \"b\", c" : "w" + std::to_string(w));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(lda_result_files)

BOOST_AUTO_TEST_CASE(are_read_back_as_the_model) {
    const finished f;
    const auto names = write_result(f.site, f.run);
    BOOST_REQUIRE(names.ok());
    BOOST_TEST(
        (*names == std::vector<std::string>{"word_topics.npy", "topics.csv", "topic_totals.npy",
                                            "summary.json", "words.txt"}));
    const auto model = load_model(f.folder.path());
    BOOST_REQUIRE(model.ok());
    BOOST_TEST(model->topics == 5u);
    BOOST_TEST(model->words == 40u);
    BOOST_TEST(model->priors.alpha == 0.1);
    BOOST_TEST(model->priors.beta == 0.01);
    BOOST_TEST(model->names == f.site.column_names, boost::test_tools::per_element());
    const auto standing = read_standing(f.run.schedulers.front());
    BOOST_TEST(model->totals == standing->totals, boost::test_tools::per_element());
    std::vector<std::int32_t> words(40), expected(40);
    for (std::size_t i = 0; i < f.rows.values.size(); ++i)
        expected[static_cast<std::size_t>(f.rows.indices[i])] +=
            static_cast<std::int32_t>(f.rows.values[i]);
    for (std::size_t i = 0; i < model->counts.size(); ++i)
        words[i / 5] += model->counts[i];
    BOOST_TEST(words == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(have_no_words_of_an_earlier_run) {
    finished f;
    BOOST_REQUIRE(write_result(f.site, f.run).ok());
    f.site.column_names.clear();
    const auto names = write_result(f.site, f.run);
    BOOST_REQUIRE(names.ok());
    BOOST_TEST(names->back() == "summary.json");
    BOOST_TEST(!std::filesystem::exists(f.folder.path() / "words.txt"));
    BOOST_TEST(load_model(f.folder.path()).value().names.empty());
}

BOOST_AUTO_TEST_CASE(have_the_words_with_most_tokens_first) {
    const finished f;
    BOOST_REQUIRE(write_result(f.site, f.run).ok());
    const auto model = load_model(f.folder.path()).value();
    std::istringstream lines{text_of(f.folder.path() / "topics.csv")};
    std::string line;
    std::getline(lines, line);
    BOOST_TEST(line == "topic,rank,word,count");
    std::getline(lines, line);
    std::int32_t most = 0;
    for (std::size_t w = 0; w < 40; ++w)
        most = std::max(most, model.counts[w * 5]);
    BOOST_TEST(line.starts_with("0,1,"));
    BOOST_TEST(line.ends_with("," + std::to_string(most)));
    const std::string summary = text_of(f.folder.path() / "summary.json");
    BOOST_TEST(summary.find("\"sweeps\": 5") != std::string::npos);
    BOOST_TEST(summary.find("\"sampler\": \"exact\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(are_refused_where_they_cannot_be_written_or_do_not_fit) {
    finished f;
    f.site.directory = "/nowhere/at/all";
    BOOST_TEST((write_result(f.site, f.run).failure().code() == errc::io));
    f.site.directory = f.folder.path();
    f.run.blocks.pop_back();
    BOOST_TEST((write_result(f.site, f.run).failure().code() == errc::protocol));
    f.run.schedulers.clear();
    BOOST_TEST(!write_result(f.site, f.run).ok());
}

BOOST_AUTO_TEST_CASE(that_do_not_fit_each_other_are_no_model) {
    const finished f;
    BOOST_REQUIRE(write_result(f.site, f.run).ok());
    const auto refusal = [&] {
        const auto model = load_model(f.folder.path());
        BOOST_REQUIRE(!model.ok());
        return model.failure().message();
    };
    write(f.folder.path() / "words.txt", "one\ntwo\n");
    BOOST_TEST(refusal().find("has 2 words instead of 40") != std::string::npos);
    write(f.folder.path() / "words.txt", std::string(40 * 2100, 'a'));
    BOOST_TEST(refusal().find("is too long for 40 words") != std::string::npos);
    std::string twice;
    for (std::size_t w = 0; w < 40; ++w)
        twice += w == 7 ? "w6\n" : f.site.column_names[w] + "\n";
    write(f.folder.path() / "words.txt", twice);
    BOOST_TEST(refusal().find("has the word \"w6\" twice") != std::string::npos);
    std::string summary = text_of(f.folder.path() / "summary.json");
    write(f.folder.path() / "summary.json",
          summary.replace(summary.find("\"words\": 40"), 11, "\"words\": 41"));
    BOOST_TEST(refusal().find("other counts than summary.json says") != std::string::npos);
    for (const char* const wrong :
         {R"({"program": "lda", "topics": 2.5, "words": 40, "alpha": 0.1, "beta": 0.1})",
          R"({"program": "lasso", "topics": 5, "words": 40, "alpha": 0.1, "beta": 0.1})",
          R"({"topics": 5, "words": 40, "alpha": 0.1, "beta": 0.1})"}) {
        write(f.folder.path() / "summary.json", wrong);
        BOOST_TEST(refusal().find("is no summary of topics") != std::string::npos);
    }
    write(f.folder.path() / "summary.json", std::string(1u << 17, ' '));
    BOOST_TEST(refusal().find("is too long for a summary") != std::string::npos);
    write(f.folder.path() / "summary.json", "{\"topics\": 1e300");
    BOOST_TEST(refusal().find("is no summary of topics") != std::string::npos);
    BOOST_TEST((load_model("/nowhere").failure().code() == errc::io));
}

BOOST_AUTO_TEST_SUITE_END()
