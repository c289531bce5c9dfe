#include "tests/support/matrix_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using table = std::vector<std::vector<double>>;

class market_files : public data_files {
  public:
    // Of this format, field and symmetry, and with these lines.
    matrix_settings market(const std::string& kind, const std::string& lines) const {
        return features_in(plain("a", "%%MatrixMarket matrix " + kind + "\n" + lines));
    }
    std::string refused_text(const std::string& kind, const std::string& lines) const {
        return refused(market(kind, lines));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(matrix_market_rows, market_files)

BOOST_AUTO_TEST_CASE(coordinates_come_in_any_order) {
    auto source = open_matrix(
        market("coordinate real general", "% a comment\n\n3 4 3\n3 1 5\n1 4 -2.5\n 1\t2  1e2 \n"));
    BOOST_REQUIRE(source.ok());
    const matrix_shape& shape = source->shape();
    BOOST_TEST((shape.rows == 3 && shape.columns == 4 && shape.entries == 3 && shape.is_sparse));
    BOOST_TEST((source->row_entries(0) == 2 && source->row_entries(1) == 0));
    BOOST_TEST((source->column_entries(2) == 0 && source->column_entries(3) == 1));
    BOOST_TEST((values_of(*source).rows == table{{0, 100, 0, -2.5f}, {0, 0, 0, 0}, {5, 0, 0, 0}}));
}

BOOST_AUTO_TEST_CASE(patterns_are_ones_and_symmetric_entries_stand_for_two) {
    BOOST_TEST((rows_of(market("coordinate pattern general", "2 2 2\n1 2\n2 1\n")) ==
                table{{0, 1}, {1, 0}}));
    BOOST_TEST((rows_of(market("coordinate integer symmetric", "3 3 3\n1 1 7\n3 1 5\n3 2 4\n")) ==
                table{{7, 0, 5}, {0, 0, 4}, {5, 4, 0}}));
    BOOST_TEST(
        (rows_of(market("Coordinate PATTERN Symmetric", "2 2 1\n2 1")) == table{{0, 1}, {1, 0}}));
    BOOST_TEST((rows_of(features_in(gzip("a.gz", "%%MatrixMarket matrix coordinate double "
                                                 "general\r\n1 1 1\r\n1 1 3\r\n"))) == table{{3}}));
}

BOOST_AUTO_TEST_CASE(arrays_are_column_by_column) {
    auto source = open_matrix(market("array real general", "2 3\n1\n2\n3\n4\n5\n6\n"));
    BOOST_REQUIRE(source.ok());
    BOOST_TEST((!source->shape().is_sparse && source->shape().entries == 6));
    BOOST_TEST((values_of(*source).rows == table{{1, 3, 5}, {2, 4, 6}}));
    BOOST_TEST((rows_of(market("array integer symmetric", "3 3\n1\n2\n3\n4\n5\n6\n")) ==
                table{{1, 2, 3}, {2, 4, 5}, {3, 5, 6}}));
}

BOOST_AUTO_TEST_CASE(what_is_not_read_is_named) {
    BOOST_TEST(
        refused(features_in(plain("a", "%%MatrixMarket vector coordinate real general\n"))) ==
        "a: line 1: a Matrix Market file begins with %%MatrixMarket matrix FORMAT FIELD "
        "SYMMETRY");
    BOOST_TEST(refused_text("sparse real general", "") ==
               "a: line 1: the format \"sparse\"; coordinate and array are read");
    BOOST_TEST(refused_text("coordinate complex general", "") ==
               "a: line 1: the field \"complex\"; real, integer and pattern are read");
    BOOST_TEST(refused_text("array pattern general", "") ==
               "a: line 1: the field \"pattern\"; of arrays real and integer are read");
    BOOST_TEST(refused_text("coordinate real skew-symmetric", "") ==
               "a: line 1: the symmetry \"skew-symmetric\"; general and symmetric are read");
}

BOOST_AUTO_TEST_CASE(wrong_sizes_are_refused) {
    const char* general = "coordinate real general";
    BOOST_TEST(refused_text(general, "% c\n") ==
               "a: line 2: the file ends before its sizes; fetch it again");
    BOOST_TEST(refused_text(general, "2 2\n") ==
               "a: line 2: the sizes of coordinates are ROWS COLUMNS ENTRIES");
    BOOST_TEST(refused_text("array real general", "2 2 2\n") ==
               "a: line 2: the sizes of an array are ROWS COLUMNS");
    BOOST_TEST(refused_text(general, "2 -2 1\n") ==
               "a: line 2: the size \"-2\" is not a whole number");
    BOOST_TEST(refused_text(general, "0 2 0\n") ==
               "a: line 2: a matrix without rows or columns; save one that has both");
    BOOST_TEST(refused_text(general, "1 999999999 1\n1 1 1\n") ==
               "a: line 2: a matrix of 1 x 999999999; at most 134217728 rows and 134217728 columns "
               "are read");
    BOOST_TEST(refused_text("coordinate real symmetric", "2 3 1\n2 1 1\n") ==
               "a: line 2: a symmetric matrix has as many rows as columns; write general");
    BOOST_TEST(refused_text("coordinate real symmetric", "2 2 4\n1 1 1\n") ==
               "a: line 2: 4 entries in a matrix that has 3 places");
    BOOST_TEST(
        refused_text(general, "100000 100000 9999999999\n1 1 1\n") ==
        "a: line 2: 9999999999 numbers that are not in the order of rows; at most 4294967296 "
        "can be held, so save them row by row");
    BOOST_TEST(refused_text(general, "100000 100000 1000000\n1 1 1\n") ==
               "a: line 2: truncated: the file is too short for 1000000 numbers; fetch it again");
    BOOST_TEST(
        refused_text("array real general", "90000 90000\n1\n") ==
        "a: line 2: truncated: the file is too short for 8100000000 numbers; fetch it again");
}

BOOST_AUTO_TEST_CASE(wrong_entries_are_refused_with_their_line) {
    const char* general = "coordinate real general";
    BOOST_TEST(refused_text(general, "2 2 2\n1 1 1\n1 1 1 1\n") ==
               "a: line 4: an entry is ROW COLUMN VALUE");
    BOOST_TEST(refused_text("coordinate pattern general", "2 2 1\n1 1 1\n") ==
               "a: line 3: an entry of a pattern is ROW COLUMN");
    BOOST_TEST(refused_text(general, "2 3 1\n3 1 1\n") ==
               "a: line 3: the row \"3\"; rows are 1 to 2");
    BOOST_TEST(refused_text(general, "2 3 1\n1 0 1\n") ==
               "a: line 3: the column \"0\"; columns are 1 to 3");
    BOOST_TEST(refused_text(general, "2 2 1\n1 1 inf\n").find("a: line 3: \"inf\" is not finite") ==
               0);
    BOOST_TEST(
        refused_text("coordinate real symmetric", "2 2 1\n1 2 1\n") ==
        "a: line 3: an entry above the diagonal; a symmetric matrix has its lower triangle in "
        "the file");
    BOOST_TEST(refused_text("array real general", "1 2\n1\nx\n").find("a: line 4: \"x\" is not") ==
               0);
}

BOOST_AUTO_TEST_CASE(entries_that_are_there_twice_are_refused_with_the_second_line) {
    BOOST_TEST(refused_text("coordinate real general", "3 3 4\n2 2 1\n1 3 1\n1 1 5\n1 3 1\n") ==
               "a: line 6: row 1, column 3 a second time; leave one of them out");
    BOOST_TEST(refused_text("coordinate real symmetric", "3 3 3\n3 1 1\n2 2 1\n3 1 1\n") ==
               "a: line 5: row 3, column 1 a second time; leave one of them out");
}

BOOST_AUTO_TEST_CASE(fewer_and_more_lines_than_the_sizes_say_are_refused) {
    const std::string kind = "coordinate real general";
    BOOST_TEST(refused_text(kind, "2 2 2\n1 1 1000000\n") ==
               "a: line 3: the file ends after 1 of 2 numbers; fetch it again");
    BOOST_TEST(refused_text(kind, "2 2 1\n1 1 1\n\n1 2 1\n") ==
               "a: line 5: more than the 1 numbers of the sizes; correct these");
}

BOOST_AUTO_TEST_SUITE_END()
