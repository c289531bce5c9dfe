// What a run leaves in its result's folder besides the files of its program.
#include "actors/scheduled/result_mark.hpp"

#include <filesystem>
#include <fstream>

#include <capnp/message.h>

#include "tests/support/data_files.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

class result_folder : public test::data_files {
  public:
    proto::ProgramData::Builder data() { return message_.getRoot<proto::ProgramData>(); }
    std::string file(const std::string& name, const std::string& text = "x") {
        return plain(name, text);
    }
    std::filesystem::path folder() {
        return std::filesystem::path{plain("..any", "")}.parent_path();
    }

    std::string refusal_of_run(const std::string& program = "lasso") {
        const auto checked = check_result_folder(folder(), program);
        return checked ? "" : checked.failure().message();
    }
    std::string refusal_of_use(const std::string& program = "lda") {
        const auto checked = check_result_mark(folder(), program, data());
        return checked ? "" : checked.failure().message();
    }
    void mark(const std::string& program = "lda") {
        BOOST_REQUIRE(
            write_result_mark(folder(), result_mark_of(program, data()).value(), {}).ok());
    }

  private:
    capnp::MallocMessageBuilder message_;
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(marks_of_results, result_folder)

BOOST_AUTO_TEST_CASE(a_run_writes_into_no_folder_of_others) {
    BOOST_TEST(check_result_folder(folder() / "new", "lasso").ok());
    std::filesystem::create_directory(folder() / "below");
    BOOST_TEST(refusal_of_run() == ""); // hidden files and folders are there
    file("notes.txt");
    file("mine.txt");
    BOOST_TEST(refusal_of_run() == "result.directory: " + folder().string() +
                                       ": has files that are no result of lasso, such as mine.txt; "
                                       "name a new folder, or empty this one");
    mark("lasso");
    BOOST_TEST(refusal_of_run() == "");
    BOOST_TEST(has(refusal_of_run("lda"),
                   "has a result of the program \"lasso\", which lda would write over"));
    for (const char* damaged : {"", "[]", "{\"program\": 1}", "{\"program\""}) {
        file("result.json", damaged);
        BOOST_TEST(has(refusal_of_run(), "such as mine.txt"));
        BOOST_TEST(has(refusal_of_use(), "result.json: is not what a run leaves"));
    }
}

BOOST_AUTO_TEST_CASE(a_result_is_used_by_its_own_program) {
    BOOST_TEST(has(refusal_of_use(), "has no result.json; give the folder that lda wrote"));
    mark();
    BOOST_TEST(refusal_of_use() == "");
    BOOST_TEST(has(refusal_of_use("lasso"), "RESULT: "));
    BOOST_TEST(has(refusal_of_use("lasso"), "is a result of the program \"lda\""));
}

BOOST_AUTO_TEST_CASE(words_are_those_of_the_same_rules) {
    auto documents = data().initDocuments();
    documents.setLines("any");
    documents.setStem(proto::Stemming::ENGLISH);
    documents.setLengthMin(3);
    documents.setStopWordsFile(file("stop", "one two"));
    mark();
    BOOST_TEST(refusal_of_use() == "");
    documents.setStopWordsFile(file("same", "one two"));
    documents.setLines("other");
    documents.setDocumentsMin(7); // few documents need not have the words that many have
    BOOST_TEST(refusal_of_use() == "");

    documents.setStem(proto::Stemming::PORTER);
    BOOST_TEST(refusal_of_use() == "data.documents.stem: is not that of the words in " +
                                       folder().string() +
                                       ", which is english; give the same for data and result");
    documents.setStem(proto::Stemming::ENGLISH);
    documents.setLengthMin(2);
    BOOST_TEST(has(refusal_of_use(), "data.documents.length_min: "));
    BOOST_TEST(has(refusal_of_use(), ", which is 3;"));
    documents.setLengthMin(3);
    documents.setStopWords(proto::StopWords::ENGLISH);
    BOOST_TEST(has(refusal_of_use(), "data.documents.stop_words: "));
    documents.setStopWords(proto::StopWords::NONE);
    documents.setStopWordsFile(file("other", "one"));
    BOOST_TEST(has(refusal_of_use(), "data.documents.stop_words_file: "));
    documents.setStopWordsFile("/nowhere");
    BOOST_TEST(has(refusal_of_use(), "data.documents.stop_words_file: /nowhere: "));

    // Counts whose vocabulary has stems are as good as texts, and a matrix has no rules.
    data().initDocuments().setCounts("any");
    BOOST_TEST(refusal_of_use() == "");
    data().initMatrix();
    BOOST_TEST(refusal_of_use() == "");
}

BOOST_AUTO_TEST_SUITE_END()
