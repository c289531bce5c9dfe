// Data that app files name, as pieces.
#include "actors/scheduled/open_data.hpp"

#include <cmath>

#include <capnp/message.h>
#include <capnp/schema.h>

#include "actors/scheduled/sparse_pieces.hpp"
#include "kernels/tensor/memory.hpp"
#include "tests/support/data_files.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

class opened_data : public test::data_files {
  public:
    proto::ProgramData::Builder data() { return message_.getRoot<proto::ProgramData>(); }
    std::shared_ptr<piece_source> open() {
        auto opened = open_data(data(), {});
        BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.failure().message()));
        return std::move(*opened);
    }
    memory_pool& memory() { return memory_; }

  private:
    capnp::MallocMessageBuilder message_;
    memory_pool memory_{1u << 20};
};

// "column:value ..." of each row, behind "|" what is held out.
std::vector<std::string> rows_of(piece_source& source, memory_pool& memory,
                                 std::uint64_t rows_max) {
    std::vector<std::string> all;
    const auto shown = [](const matrix_piece& m, std::uint64_t row) {
        std::string text;
        for (auto i = static_cast<std::size_t>(m.starts[row]);
             i < static_cast<std::size_t>(m.starts[row + 1]); ++i)
            text += (text.empty() ? "" : " ") + std::to_string(m.indices[i]) + ":" +
                    std::to_string(static_cast<int>(m.values[i]));
        return text;
    };
    for (;;) {
        const auto piece = source.next(rows_max, memory);
        BOOST_REQUIRE(piece.ok());
        if (!*piece)
            return all;
        BOOST_TEST((*piece)->first == all.size());
        const auto rows = read_matrix_piece((*piece)->tensors, source.shape().columns);
        const auto out = read_held_out((*piece)->tensors, source.shape().columns);
        BOOST_REQUIRE((rows.ok() && out.ok()));
        BOOST_TEST(rows->rows() == (*piece)->count);
        for (std::uint64_t r = 0; r < rows->rows(); ++r)
            all.push_back(shown(*rows, r) + (*out ? "|" + shown(**out, r) : ""));
    }
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(data_of_app_files, opened_data)

BOOST_AUTO_TEST_CASE(documents_are_rows_of_counts_whose_work_is_their_words) {
    auto documents = data().initDocuments();
    documents.setLines(plain("a", "cat dog cat\n\nfish\n"));
    const auto source = open();
    const data_shape shape = source->shape();
    BOOST_TEST((shape.rows == 2 && shape.columns == 3 && shape.entries == 3 && shape.is_sparse));
    BOOST_TEST((source->column_names() == std::vector<std::string>{"cat", "dog", "fish"}));
    BOOST_TEST((source->row_names() == std::vector<std::string>{"1", "3"}));
    BOOST_TEST((source->row_work(0) == 3 && source->row_work(1) == 1));
    BOOST_TEST((source->column_work(0) == 2 && source->column_work(2) == 1));
    BOOST_TEST((source->notes() ==
                std::vector<std::string>{"data.documents.lines: 1 of 3 documents have no words "
                                         "that are kept, and are left out"}));
    for (const std::uint64_t rows_max : {1, 5}) {
        BOOST_TEST(
            (rows_of(*source, memory(), rows_max) == std::vector<std::string>{"0:2 1:1", "2:1"}));
        BOOST_TEST(source->rewind().ok());
    }
}

BOOST_AUTO_TEST_CASE(runs_of_letters_that_are_left_out_are_noted) {
    const std::string run(251, 'x');
    data().initDocuments().setLines(plain("a", "cat " + run + "\ndog " + run + "\n"));
    BOOST_TEST((open()->notes() ==
                std::vector<std::string>{
                    "data.documents.lines: 2 runs of more than 250 characters without a blank are "
                    "no words, and are left out; put blanks between words"}));
}

BOOST_AUTO_TEST_CASE(settings_of_documents_are_those_of_the_app_file) {
    auto documents = data().initDocuments();
    documents.setLines(plain("a", "the cats sat quickly\ncat of it\nzoo cats zoo\n"));
    documents.setStopWords(proto::StopWords::ENGLISH);
    documents.setStopWordsFile(plain("s", "sat"));
    documents.setStem(proto::Stemming::ENGLISH);
    documents.setLengthMin(3);
    BOOST_TEST((open()->column_names() == std::vector<std::string>{"cat", "quick", "zoo"}));
    documents.setWordsMax(2);
    BOOST_TEST((open()->column_names() == std::vector<std::string>{"cat", "zoo"}));
    documents.setDocumentsMaxShare(0.9);
    BOOST_TEST((open()->column_names() == std::vector<std::string>{"quick", "zoo"}));
    documents.setDocumentsMin(2);
    BOOST_TEST(test::refusal_of(open_data(data(), {}))
                   .starts_with("data.documents.lines: " + (folder() / "a").string() +
                                ": the vocabulary is empty"));
    documents.setCounts(plain("b", "1 0:1\n"));
    documents.setVocabulary(folder() / "none");
    BOOST_TEST(test::refusal_of(open_data(data(), {}), errc::io)
                   .starts_with("data.documents.vocabulary: " + (folder() / "none").string()));
}

BOOST_AUTO_TEST_CASE(every_language_of_the_schema_has_stems) {
    auto documents = data().initDocuments();
    documents.setLines(plain("a", "cat\n"));
    for (const auto word : capnp::Schema::from<proto::Stemming>().getEnumerants()) {
        documents.setStem(static_cast<proto::Stemming>(word.getOrdinal()));
        BOOST_TEST(open()->shape().columns == 1u);
    }
}

BOOST_AUTO_TEST_CASE(ratings_are_rows_of_users_whose_test_is_held_out) {
    auto ratings = data().initRatings();
    ratings.setTrain(plain("tr", "7 30 5\n2 10 1\n7 10 2\n"));
    const auto alone = open();
    BOOST_TEST((rows_of(*alone, memory(), 9) == std::vector<std::string>{"0:1", "0:2 1:5"}));
    ratings.setTest(plain("te", "2 20 4\n5 30 3\n"));
    const auto source = open();
    const data_shape shape = source->shape();
    BOOST_TEST((shape.rows == 3 && shape.columns == 3 && shape.entries == 3 && shape.is_sparse));
    BOOST_TEST((source->row_names() == std::vector<std::string>{"2", "5", "7"}));
    BOOST_TEST((source->column_names() == std::vector<std::string>{"10", "20", "30"}));
    BOOST_TEST((source->row_work(2) == 2 && source->row_work(1) == 0));
    BOOST_TEST((source->column_work(0) == 2 && source->column_work(1) == 0));
    BOOST_TEST(
        (rows_of(*source, memory(), 2) == std::vector<std::string>{"0:1|1:4", "|2:3", "0:2 2:5|"}));
}

BOOST_AUTO_TEST_CASE(another_file_takes_the_place_of_the_rows_and_keeps_its_words) {
    auto documents = data().initDocuments();
    documents.setLines("none");
    documents.setLengthMin(3);
    documents.setDocumentsMin(5);
    const data_use use{.file = plain("new", "it is a cat\n")};
    const auto words = open_data(data(), use);
    BOOST_REQUIRE(words.ok());
    BOOST_TEST(((*words)->column_names() == std::vector<std::string>{"cat"}));
    auto ratings = data().initRatings();
    ratings.setTrain("none");
    ratings.setTest("none");
    const auto rated = open_data(data(), {.file = plain("new", "1 2 3\n")});
    BOOST_REQUIRE(rated.ok());
    BOOST_TEST((rows_of(**rated, memory(), 1) == std::vector<std::string>{"0:3"}));
    BOOST_TEST(test::refusal_of(open_data(data(), {.file = plain("new", "1 2\n")}))
                   .starts_with("--data: " + (folder() / "new").string() + ": line 1: "));
}

BOOST_AUTO_TEST_CASE(a_target_column_that_is_not_there_is_told_at_its_key) {
    auto matrix = data().initMatrix();
    matrix.setFeatures(plain("x", "a,b\n1,2\n3,4\n"));
    matrix.setTargetColumn("c");
    BOOST_TEST(test::refusal_of(open_data(data(), {}), errc::usage)
                   .starts_with("data.matrix.target_column: " + (folder() / "x").string() +
                                ": line 1: no target column \"c\""));
}

BOOST_AUTO_TEST_CASE(one_target_of_all_rows_and_two_columns_of_one_name_are_noted) {
    const auto said = [&](const char* table, const char* column, const char* targets = nullptr) {
        auto matrix = data().initMatrix();
        matrix.setFeatures(plain("x", table));
        matrix.setTargetColumn(column);
        if (targets != nullptr) {
            matrix.disownTargetColumn();
            matrix.setTargets(plain("y", targets));
        }
        return open()->notes();
    };
    const std::string same =
        ": all rows have the same target, so that no column says anything of it";
    using notes = std::vector<std::string>;
    BOOST_TEST((said("a,b\n1,2\n3,4\n", "b") == notes{}));
    BOOST_TEST((said("a,b\n1,2\n3,2\n", "b") == notes{"data.matrix.target_column" + same}));
    BOOST_TEST((said("a,b\n1,2\n", "b") == notes{}));
    BOOST_TEST((said("a\n1\n3\n", "", "0\n0\n") == notes{"data.matrix.targets" + same}));
    BOOST_TEST((said("a\n1\n3\n", "", "0\n1\n") == notes{}));
    BOOST_TEST((said("a,b,a,b\n1,2,3,4\n5,6,7,8\n", "3") ==
                notes{"data.matrix.features: two columns have the name \"a\", which results do not "
                      "tell apart"}));
}

BOOST_AUTO_TEST_CASE(each_file_has_a_digest_of_what_it_holds) {
    // The keys whose digests differ from those before.
    std::vector<data_digest> before;
    const auto changed = [&] {
        std::string keys;
        const auto now = open()->digests();
        for (std::size_t i = 0; i < std::max(now.size(), before.size()); ++i) {
            BOOST_REQUIRE(i < now.size());
            if (i >= before.size() || now[i].value != before[i].value)
                keys += now[i].key.substr(now[i].key.rfind('.') + 1) + " ";
        }
        before = now;
        return keys;
    };
    auto matrix = data().initMatrix();
    matrix.setFeatures(plain("x", "1,2\n3,4\n"));
    matrix.setTargets(plain("y", "1\n2\n"));
    BOOST_TEST(changed() == "features targets ");
    BOOST_TEST(before.front().file == (folder() / "x").string());
    plain("y", "1\n3\n");
    BOOST_TEST(changed() == "targets ");
    matrix.setFeatures(plain("elsewhere", "1;2\n3;4\n"));
    BOOST_TEST(changed() == "");
    plain("elsewhere", "1;2\n4;3\n");
    BOOST_TEST(changed() == "features ");

    auto documents = data().initDocuments();
    documents.setLines(plain("a", "cat dog cat\nfish\n"));
    documents.setStopWordsFile(plain("s", "it\n"));
    before.clear();
    BOOST_TEST(changed() == "stop_words_file lines ");
    plain("a", "Cat dog cat!\nfish\n");
    BOOST_TEST(changed() == "");
    plain("a", "cow dog cow\nfish\n");
    BOOST_TEST(changed() == "lines ");
    plain("a", "cow dog\nfish cow\n");
    BOOST_TEST(changed() == "lines ");
    plain("s", "fish\n");
    BOOST_TEST(changed() == "stop_words_file lines ");

    auto ratings = data().initRatings();
    ratings.setTrain(plain("tr", "7 30 5\n2 10 1\n7 10 2\n"));
    ratings.setTest(plain("te", "2 20 4\n5 30 3\n"));
    before.clear();
    BOOST_TEST(changed() == "train test ");
    plain("tr", "7 10 2\n2 10 1\n7 30 5\n");
    BOOST_TEST(changed() == "");
    plain("te", "2 40 4\n5 30 3\n");
    BOOST_TEST(changed() == "test ");
    plain("tr", "7 10 2\n1 10 1\n7 30 5\n");
    BOOST_TEST(changed() == "train ");
    plain("tr", "7 10 2\n1 10 1\n7 30 4\n");
    BOOST_TEST(changed() == "train ");
}

BOOST_AUTO_TEST_CASE(programs_that_need_targets_take_matrices_alone) {
    data().initDocuments().setLines("a");
    BOOST_TEST(test::refusal_of(open_data(data(), {.needs_targets = true}), errc::usage) ==
               "data.documents: has no targets, which the program needs; give it a matrix that "
               "has, as data.matrix");
}

BOOST_AUTO_TEST_CASE(pieces_have_as_many_rows_as_fit_and_what_is_held_out_of_them) {
    sparse_data held;
    held.rows = {{0, 2, 2, 3}, {0, 1, 1}, {1, 2, 3}};
    held.held_out = sparse_rows{{0, 0, 1, 2}, {2, 0}, {4, 5}};
    held.columns = 3;
    const std::vector<std::string> rows{"0:1 1:2|", "|2:4", "1:3|0:5"};
    for (const std::uint64_t bytes_max : {1, 80, 1000}) {
        const auto source = pieces_of(held, bytes_max);
        BOOST_TEST((source->row_work(0) == 2 && source->row_work(1) == 0));
        BOOST_TEST((source->column_work(1) == 2 && source->column_work(2) == 0));
        BOOST_TEST(source->shape().entries == 3u);
        BOOST_TEST((rows_of(*source, memory(), 3) == rows));
        BOOST_TEST(source->rewind().ok());
        const auto first = source->next(3, memory());
        BOOST_REQUIRE((first.ok() && *first));
        BOOST_TEST((*first)->count == (bytes_max == 1 ? 1u : bytes_max == 80 ? 2u : 3u));
    }
}

BOOST_AUTO_TEST_CASE(columns_far_from_0_are_dealt_less_an_offset) {
    auto matrix = data().initMatrix();
    matrix.setFeatures(plain("x", "day,b,y\n2460000.53,1,0\n2460000.71,-1,1\n2460000.12,3,2\n"));
    matrix.setTargetColumn("y");
    const auto opened = open_data(data(), {.takes_offsets = true});
    BOOST_REQUIRE(opened.ok());
    piece_source& source = **opened;
    BOOST_TEST(source.notes().empty());
    const std::vector<double> offsets = source.offsets();
    BOOST_REQUIRE(offsets.size() == 2u);
    for (int pass = 0; pass < 2; ++pass) {
        const auto piece = source.next(3, memory());
        BOOST_REQUIRE((piece.ok() && *piece));
        const auto rows = read_matrix_piece((*piece)->tensors, 2);
        BOOST_REQUIRE(rows.ok());
        const double days[] = {2460000.53, 2460000.71, 2460000.12};
        for (std::size_t r = 0; r < 3; ++r) {
            BOOST_TEST(rows->values[2 * r] == static_cast<float>(days[r] - offsets[0]));
            BOOST_TEST(std::abs(rows->values[2 * r]) < 1);
        }
        BOOST_TEST(rows->values[3] == -1);
        BOOST_REQUIRE(source.rewind().ok());
    }
    const auto as_they_are = open();
    BOOST_TEST(as_they_are->offsets().empty());
    BOOST_REQUIRE(as_they_are->notes().size() == 1u);
    BOOST_TEST(as_they_are->notes().front().find(
                   "the column \"day\" are off by up to 0.3 of its spread") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(sparse_columns_without_zeros_are_dealt_less_an_offset) {
    data().initMatrix().setFeatures(
        plain("x", "0 1:3 2:2460000.53\n1 2:2460000.71\n2 2:2460000.12 3:7\n"));
    const auto opened = open_data(data(), {.takes_offsets = true});
    BOOST_REQUIRE(opened.ok());
    piece_source& source = **opened;
    BOOST_TEST(source.notes().empty());
    const std::vector<double> offsets = source.offsets();
    BOOST_REQUIRE(offsets.size() == 3u);
    // No run goes on with them that a build has begun which dealt them as they are.
    const auto as_they_are = open()->digests().front(), less = source.digests().front();
    BOOST_TEST(as_they_are.value == less.value);
    BOOST_TEST((as_they_are.exact != less.exact && less.has_more_digits));
    const std::vector<float> expected{3, static_cast<float>(2460000.53 - offsets[1]),
                                      static_cast<float>(2460000.71 - offsets[1]),
                                      static_cast<float>(2460000.12 - offsets[1]), 7};
    for (int pass = 0; pass < 2; ++pass) {
        const auto piece = source.next(3, memory());
        BOOST_REQUIRE((piece.ok() && *piece));
        const auto rows = read_matrix_piece((*piece)->tensors, 3);
        BOOST_REQUIRE(rows.ok());
        BOOST_TEST((std::vector<float>(rows->values.begin(), rows->values.end()) == expected));
        BOOST_REQUIRE(source.rewind().ok());
    }
}

BOOST_AUTO_TEST_CASE(what_float32_leaves_of_numbers_is_dealt_to_those_who_take_it) {
    auto matrix = data().initMatrix();
    const auto pieces = [&](const std::string& text, const data_use& use) {
        matrix.setFeatures(plain("x", text));
        const auto opened = open_data(data(), use);
        BOOST_REQUIRE(opened.ok());
        const auto piece = (*opened)->next(3, memory());
        BOOST_REQUIRE((piece.ok() && *piece));
        return (*piece)->tensors;
    };
    const auto shifted =
        pieces("a,b\n100.455,1\n100.1,-1\n99.7,3\n",
               {.ignores_targets = true, .takes_offsets = true, .takes_remainders = true});
    const auto rows = read_matrix_piece(shifted, 2);
    BOOST_REQUIRE((rows.ok() && rows->remainders.size() == 6));
    const auto opened = open_data(data(), {.ignores_targets = true, .takes_offsets = true});
    const double offset = (*opened)->offsets()[0];
    const double numbers[] = {100.455, 100.1, 99.7};
    for (std::size_t r = 0; r < 3; ++r) {
        BOOST_TEST(std::abs(rows->number(2 * r) - (numbers[r] - offset)) < 1e-15);
        BOOST_TEST(rows->remainders[2 * r + 1] == 0);
    }
    const auto sparse = pieces("0 1:0.455 2:1\n1 2:0.1\n", {.takes_remainders = true});
    const auto entries = read_matrix_piece(sparse, 2);
    BOOST_REQUIRE((entries.ok() && entries->remainders.size() == 3));
    BOOST_TEST(std::abs(entries->number(0) - 0.455) < 1e-15);
    BOOST_TEST(entries->remainders[1] == 0);
    // Nothing is left, or nobody takes it.
    BOOST_TEST(pieces("a\n0.5\n-3\n", {.ignores_targets = true, .takes_remainders = true}).size() ==
               4u);
    BOOST_TEST(pieces("a\n0.455\n-3\n", {.ignores_targets = true}).size() == 4u);

    // Sparse columns far from 0, which a note names.
    BOOST_TEST(pieces("0 1:2460000.53\n1 1:2460000.71\n", {.takes_remainders = true}).size() == 4u);

    auto short_one = sparse;
    short_one[4] = short_one[4].rows(0, 2);
    BOOST_TEST(!read_matrix_piece(short_one, 2).ok());
}

BOOST_AUTO_TEST_CASE(ratings_that_float32_cannot_keep_are_noted) {
    data().initRatings().setTrain(plain("r", "1 1 100000000.5\n1 2 100000001.5\n"));
    BOOST_REQUIRE(open()->notes().size() == 1u);
    BOOST_TEST(open()->notes().front().find("are off by 2.2 of their spread") != std::string::npos);
    data().initRatings().setTrain(plain("r", "1 1 4.5\n1 2 1.5\n"));
    BOOST_TEST(open()->notes().empty());
    data().getRatings().setTest(plain("t", "2 1 100000000.5\n2 2 100000001.5\n"));
    BOOST_REQUIRE(open()->notes().size() == 1u);
    BOOST_TEST(open()->notes().front().starts_with("data.ratings.test: the ratings"));
}

BOOST_AUTO_TEST_SUITE_END()
