#include "tests/support/matrix_values.hpp"

#include "actors/data/matrix/libsvm_rows.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using table = std::vector<std::vector<double>>;

class libsvm_files : public data_files {
  public:
    matrix_settings libsvm(const std::string& text) const { return features_in(plain("a", text)); }
    std::string refused_text(const std::string& text) const { return refused(libsvm(text)); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(libsvm_rows, libsvm_files)

BOOST_AUTO_TEST_CASE(lines_are_sparse_rows_with_their_labels) {
    auto source =
        open_matrix(libsvm("# a comment\n+1 1:0.5 4:-2\n\n-1\t2:1e3 3:0 # another\n-1\r\n"));
    BOOST_REQUIRE(source.ok());
    const matrix_shape& shape = source->shape();
    BOOST_TEST((shape.rows == 3 && shape.columns == 4 && shape.entries == 4));
    BOOST_TEST((shape.is_sparse && shape.has_targets && shape.column_names.empty()));
    const matrix_values values = values_of(*source);
    BOOST_TEST((values.rows == table{{0.5f, 0, 0, -2}, {0, 1000, 0, 0}, {0, 0, 0, 0}}));
    BOOST_TEST((values.targets == std::vector<double>{1, -1, -1}));
    BOOST_TEST((rows_of(features_in(gzip("a.gz", "1 2:3\n"))) == table{{0, 3}}));
}

BOOST_AUTO_TEST_CASE(it_is_told_from_csv_by_what_is_behind_a_label) {
    for (const char* text : {"1 1:2", "-1 2:1 3:2\n", "# 1\n\n0.5\t10:1", "1\n2\n3 1:1\n",
                             "1 qid:1 1:2", "cat 1:2 3:0.5", "1:2 3:4"})
        BOOST_TEST(looks_like_libsvm(text), text);
    for (const char* text : {"", "1 2:", "1", "time 12:30,1\n", "1;2\n", "1 x:2", "1 2", "a:1 2:3",
                             "cat 1:x", "cat", "time 12:30,1 1:2"})
        BOOST_TEST((looks_like_libsvm(text) == (std::string_view{text} == "1 2:")), text);
}

BOOST_AUTO_TEST_CASE(wrong_labels_are_refused) {
    BOOST_TEST(refused_text("1 1:1\nx 1:2\n") ==
               "a: line 2: the label: \"x\" is not a number; write "
               "decimals with a point, as -1.5 or 1e-3");
    BOOST_TEST(
        refused_text("cat 1:2 3:1\n1 1:2\n").starts_with("a: line 1: the label: \"cat\" is"));
    BOOST_TEST(refused_text("1 1:1\n1,2 1:2\n") ==
               "a: line 2: a list of labels \"1,2\"; a row has one");
    BOOST_TEST(refused_text("1 1:1\n1:2 3:4\n") ==
               "a: line 2: no label before \"1:2\"; a line begins with one");
}

BOOST_AUTO_TEST_CASE(wrong_indices_are_refused) {
    BOOST_TEST(refused_text("1 0:1\n") ==
               "a: line 1: an index of 0; indices count from 1: add 1 to all (scikit-learn writes "
               "such a file with zero_based=False)");
    BOOST_TEST(refused_text("1 1:1\n1 5:1 3:2\n") ==
               "a: line 2: the index 3 after 5; write the pairs in the order of their indices");
    BOOST_TEST(refused_text("1 5:1 5:2\n") ==
               "a: line 1: the index 5 twice; leave one of them out");
    BOOST_TEST(refused_text("1 1:1\n1 -5:1\n") ==
               "a: line 2: the index \"-5\"; indices are 1 to 134217728");
    BOOST_TEST(refused_text("1 134217729:1\n") ==
               "a: line 1: the index \"134217729\"; indices are 1 to 134217728");
    BOOST_TEST(refused_text("1 1:1\n1 x:1\n") ==
               "a: line 2: the index \"x\" is not a whole number");
    BOOST_TEST(refused_text("1 1:1 99999999999999999999:1\n") ==
               "a: line 1: the index \"99999999999999999999\" is not a whole number");
    BOOST_TEST(refused_text("1 qid:3 1:1\n") ==
               "a: line 1: queries (qid) are for ranking, which no program does; leave them out");
    BOOST_TEST(
        refused_text("1 1:1 7\n") ==
        "a: line 1: \"7\" is no INDEX:VALUE; separate an index and its value by a colon, and "
        "pairs by blanks");
}

BOOST_AUTO_TEST_CASE(wrong_values_are_refused) {
    BOOST_TEST(refused_text("1 3:nan\n") ==
               "a: line 1: the value of index 3: \"nan\" is not a number; "
               "fill in missing values, or leave the row out");
    BOOST_TEST(refused_text("1 1:\n") ==
               "a: line 1: the value of index 1: a number is missing; fill "
               "it in, or leave the row out");
    BOOST_TEST(!open_matrix(libsvm("1 1:1:1\n")).ok());
    BOOST_TEST(!open_matrix(libsvm("1 1: 1\n")).ok());
}

BOOST_AUTO_TEST_SUITE_END()
