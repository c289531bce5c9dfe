#include "tests/support/matrix_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using table = std::vector<std::vector<double>>;

class csv_files : public data_files {
  public:
    matrix_settings csv(const std::string& text, const std::string& target = {},
                        std::optional<bool> has_header = {}) const {
        return {.features = {plain("a", text), ""},
                .targets = {},
                .target_column = target,
                .has_header = has_header};
    }
    std::string refused_text(const std::string& text, const std::string& target = {},
                             std::optional<bool> has_header = {}) const {
        return refused(csv(text, target, has_header));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(csv_rows, csv_files)

BOOST_AUTO_TEST_CASE(the_first_line_has_the_separator) {
    const table wanted{{1, -2.5f, 3e4f}, {0, 5, 6}};
    for (const char* separator : {",", ";", "\t", " , ", "\t ", " ;"}) {
        const std::string s = separator;
        BOOST_TEST((rows_of(csv("1" + s + "-2.5" + s + "+3e4\n0" + s + "5" + s + "6\n")) == wanted),
                   separator);
    }
    BOOST_TEST((rows_of(csv("a,b;c\n1;2\n")) == table{{1, 2}}));
    BOOST_TEST((rows_of(csv("\"a;b\",c\n1,2\n")) == table{{1, 2}}));
    BOOST_TEST((rows_of(csv("7\n8\n")) == table{{7}, {8}}));
}

BOOST_AUTO_TEST_CASE(line_ends_blank_lines_quotes_and_marks_are_no_part_of_numbers) {
    BOOST_TEST((rows_of(csv("\xef\xbb\xbf"
                            "1,2\r\n\r\n  \n3,\"4\" \r\n5,6")) == table{{1, 2}, {3, 4}, {5, 6}}));
    BOOST_TEST((rows_of(features_in(gzip("a.gz", "1,2\n3,4\n"))) == table{{1, 2}, {3, 4}}));
}

BOOST_AUTO_TEST_CASE(lines_longer_than_a_buffer_are_read) {
    std::string text;
    constexpr std::size_t columns = 100'000;
    for (int row = 0; row < 3; ++row)
        for (std::size_t i = 0; i < columns; ++i)
            text += std::to_string(row * 1000 + i % 1000) + (i + 1 < columns ? "," : "\n");
    const table rows = rows_of(csv(text));
    BOOST_TEST(rows.size() == 3u);
    BOOST_TEST(rows[2].size() == columns);
    BOOST_TEST(rows[2][columns - 1] == 2999);
}

BOOST_AUTO_TEST_CASE(a_first_line_without_numbers_names_the_columns) {
    auto named = open_matrix(csv("\"fixed acidity\";pH;quality\n7.4;3.51;5\n", "quality"));
    BOOST_REQUIRE(named.ok());
    BOOST_TEST((named->shape().column_names == std::vector<std::string>{"fixed acidity", "pH"}));
    BOOST_TEST((values_of(*named).rows == table{{7.4, 3.51}}));
    BOOST_TEST(open_matrix(csv("1,2\n3,4\n"))->shape().column_names.empty());
    const auto of_numbers = open_matrix(csv("0,1\n3,4\n5,6\n", "", true));
    BOOST_REQUIRE(of_numbers.ok());
    BOOST_TEST((of_numbers->shape().column_names == std::vector<std::string>{"0", "1"}));
    BOOST_TEST(of_numbers->shape().rows == 2u);
    BOOST_TEST((open_matrix(csv("a\x1b[31m\n1\n"))->shape().column_names ==
                std::vector<std::string>{"a\\x1b[31m"}));
}

BOOST_AUTO_TEST_CASE(the_targets_are_a_column_by_name_or_number) {
    for (const char* target : {"b", "1", "-2"}) {
        auto source = open_matrix(csv("a,b,c\n1,1e300,3\n4,0.1,6\n", target));
        BOOST_REQUIRE(source.ok());
        const matrix_values values = values_of(*source);
        BOOST_TEST((values.rows == table{{1, 3}, {4, 6}}));
        BOOST_TEST((values.targets == std::vector<double>{1e300, 0.1}));
        BOOST_TEST((source->shape().column_names == std::vector<std::string>{"a", "c"}));
        BOOST_TEST((source->shape().columns == 2 && source->shape().has_targets));
    }
    auto last = open_matrix(csv("1,2\n", "-1"));
    BOOST_TEST((values_of(*last).targets == std::vector<double>{2}));
}

BOOST_AUTO_TEST_CASE(a_number_that_is_the_name_of_another_column_is_noted) {
    const auto named = open_matrix(csv("a,0,c\n1,2,3\n4,5,7\n", "0", true));
    BOOST_REQUIRE(named.ok());
    BOOST_TEST(
        named->notes() ==
            std::vector<std::string>{"target_column 0 is the name of column 1 from 0, which "
                                     "goes before the number; if column 0 is meant, give -3"},
        boost::test_tools::per_element());
    const auto same = open_matrix(csv("0,1,2\n1,2,3\n4,5,7\n", "1", true));
    BOOST_TEST((same.ok() && same->notes().empty()));
}

BOOST_AUTO_TEST_CASE(numbers_that_differ_by_less_than_float64_holds_are_noted) {
    const auto close = open_matrix(csv("t,y\n1700000000.000000001,1\n1700000000.000000002,2\n"));
    BOOST_REQUIRE((close.ok() && !close->notes().empty()));
    BOOST_TEST(close->notes().front() ==
               "column 0 (t): its numbers, such as 1700000000.000000001, differ by less than "
               "float64 can tell; subtract from all of them what they have in common");
    for (const char* rows : {"1.000000000000000000e+00,1\n2.000000000000000000e+00,2\n",
                             "1.000000000000000000e+00,1\n1.000000000000000000e+00,2\n"}) {
        const auto apart = open_matrix(csv(std::string{"t,y\n"} + rows));
        BOOST_TEST((apart.ok() && apart->notes().empty()));
    }
}

BOOST_AUTO_TEST_CASE(target_columns_that_are_not_there_are_refused_with_those_that_are) {
    const auto refused_text = [&](const std::string& text, const std::string& target) {
        return refusal_of(open_matrix(csv(text, target)), errc::usage)
            .substr(folder().string().size() + 1);
    };
    BOOST_TEST(
        refused_text("price,area\n1,2\n", "prise") ==
        "a: line 1: no target column \"prise\"; did you mean \"price\"? there are price, area, "
        "or numbers from 0 to 1");
    BOOST_TEST(
        refused_text("1,2\n", "2") ==
        "a: line 1: no target column \"2\"; columns count from 0 to 1, or from -1 at the end");
    BOOST_TEST(refused_text("1,2\n", "-3").find("no target column \"-3\"") != std::string::npos);
    BOOST_TEST(refused_text("a,a\n1,2\n", "a") ==
               "a: line 1: two columns have the name \"a\"; name "
               "the one with the targets by its number from 0");
    BOOST_TEST(csv_files::refused_text("1\n2\n", "0") == "a: line 2: the file holds no features");
}

BOOST_AUTO_TEST_CASE(a_mark_of_comments_and_a_blank_before_the_names_are_no_part_of_them) {
    for (const auto& [text, name] :
         std::vector<std::pair<std::string, std::string>>{{"# a,b\n1,2\n", "a"},
                                                          {"# \"a\",b\n1,2\n", "a"},
                                                          {"# ,b\n1,2\n", ""},
                                                          {"#a,b\n1,2\n", "#a"},
                                                          {"\"# a\",b\n1,2\n", "# a"},
                                                          {"#\tb\n1\t2\n", "#"}}) {
        const auto source = open_matrix(csv(text, "b"));
        BOOST_REQUIRE(source.ok());
        BOOST_TEST((source->shape().column_names == std::vector<std::string>{name}), text);
        BOOST_TEST(open_matrix(csv(text, name)).ok());
    }
}

BOOST_AUTO_TEST_CASE(rows_of_another_length_are_refused_with_their_line) {
    BOOST_TEST(refused_text("1,2,3\n4,5,6\n\n7,8\n") ==
               "a: line 4: 2 numbers, but the first row has 3; give every row as many");
    BOOST_TEST(refused_text("1,2\n4,5,6\n") ==
               "a: line 2: 3 numbers, but the first row has 2; give every row as many");
    BOOST_TEST(refused_text("a,b\n4\n") ==
               "a: line 2: 1 number, but the header names 2; give every row as many");
}

BOOST_AUTO_TEST_CASE(what_is_no_finite_number_is_refused_with_its_line_and_column) {
    BOOST_TEST(refused_text("1,2\n3,x\x1b\n") ==
               "a: line 2: column 1: \"x\\x1b\" is not a number; write decimals with a point, as "
               "-1.5 or 1e-3");
    BOOST_TEST(refused_text("a,b,y\n1,2,3\n3,,5\n", "y") ==
               "a: line 3: column 1 (b): a number is missing; fill it in, or leave the row out");
    BOOST_TEST(refused_text("y,b\n1,2\nnan,5\n", "y") ==
               "a: line 3: column 0 (the target): \"nan\" is not a number; fill in missing values, "
               "or leave the row out");
    BOOST_TEST(
        refused_text("1,2\n1e39,-1\n") ==
        "a: line 2: column 0: 1e39 is no finite 32-bit number; scale the column, or leave the "
        "row out");
    for (const char* wrong : {"inf", "-Infinity", "1e999", "1.5.2", "1,5", "0x10", "--1", "+-1",
                              "1e", "+", "1 2", "1_000"})
        BOOST_TEST(!open_matrix(csv(std::string{"1;2\n"} + wrong + ";2\n")).ok(), wrong);
    BOOST_TEST(
        (rows_of(csv("1\n1e-999\n1e-40\n16777217\n")) == table{{1}, {0}, {1e-40}, {16777217}}));
}

BOOST_AUTO_TEST_CASE(a_first_line_that_may_be_a_header_is_asked_about) {
    BOOST_TEST(
        refused_text("2020,total\n1,2\n") ==
        "a: line 1: \"total\" is not a number; write decimals with a point, as -1.5 or 1e-3; "
        "if this line has the names of the columns, set header: yes");
    BOOST_TEST(refused_text("a,b\n1,2\n", "", false).find("\"a\" is not a number") !=
               std::string::npos);
    BOOST_TEST(rows_of(csv("2020,total\n1,2\n", "", true)).size() == 1u);
}

BOOST_AUTO_TEST_CASE(files_without_rows_are_refused) {
    BOOST_TEST(refused_text("") == "a: line 1: the file holds no rows");
    BOOST_TEST(refused_text("\n \n") == "a: line 2: the file holds no rows");
    BOOST_TEST(refused_text("a,b\n") == "a: line 1: the file holds no rows");
    BOOST_TEST(refused_text(std::string{"\x7f"
                                        "ELF\0\1",
                                        6}) ==
               "a: line 1: a NUL byte, so that this is no text in UTF-8; if it is in UTF-16, "
               "convert it by iconv -f UTF-16 -t UTF-8, else give a file in a format that is read");
    BOOST_TEST(refused_text(std::string{"1,2\n3,\0\n", 8}).find("a: line 2: a NUL byte") == 0);
    for (const char* mark : {"\xff\xfe", "\xfe\xff"})
        BOOST_TEST(refused_text(mark + std::string{"a\0\n\0", 4}) ==
                   "a: line 1: the file is in UTF-16; convert it by iconv -f UTF-16 -t UTF-8");
}

BOOST_AUTO_TEST_CASE(blanks_do_not_separate) {
    const std::string why = "blanks between numbers or names; CSV has commas, semicolons or tabs: "
                            "convert it by sed 's/^ *//; s/  */,/g'";
    BOOST_TEST(refused_text("1 2  3\n4 5 6\n") == "a: line 1: " + why);
    BOOST_TEST(refused_text("a b c\n4 5 6\n") == "a: line 2: column 0 (a b c): " + why);
    BOOST_TEST(refused_text("a y\n4 5\n", "y") == "a: line 1: " + why);
    BOOST_TEST((rows_of(csv("my column\n4\n")) == table{{4}}));
}

BOOST_AUTO_TEST_CASE(names_are_without_their_quotes) {
    auto source = open_matrix(csv("\"a\",\"b \"\"c\"\"\",\"d,e\",\"y\"\n1,2,3,4\n", "y"));
    BOOST_REQUIRE(source.ok());
    BOOST_TEST((source->shape().column_names == std::vector<std::string>{"a", "b \"c\"", "d,e"}));
    BOOST_TEST(source->shape().has_targets);
}

BOOST_AUTO_TEST_CASE(damaged_gzip_is_refused_with_the_byte) {
    std::string packed = read(gzip("a.gz", "1,2\n3,4\n"));
    BOOST_TEST(refused(features_in(plain("cut.gz", packed.substr(0, packed.size() - 4))))
                   .find("cut.gz: byte ") == 0);
}

BOOST_AUTO_TEST_CASE(a_target_column_that_is_not_needed_may_be_missing) {
    matrix_settings with = csv("a,y,b\n1,2,3\n", "y");
    with.needs_target_column = false;
    BOOST_TEST((rows_of(with) == table{{1, 3}}));
    matrix_settings without = csv("a,b\n1,3\n", "y");
    BOOST_TEST(refused(without, errc::usage).find("no target column \"y\"") != std::string::npos);
    without.needs_target_column = false;
    BOOST_TEST((rows_of(without) == table{{1, 3}}));
    matrix_settings other = features_in(plain("b", "1 1:5\n"));
    other.target_column = "y";
    BOOST_TEST(!refused(other, errc::usage).empty());
    other.needs_target_column = false;
    BOOST_TEST((rows_of(other) == table{{5}}));
}

BOOST_AUTO_TEST_CASE(a_target_column_that_is_not_needed_may_hold_anything) {
    const auto passed_over = [this](const std::string& text, const std::string& column) {
        matrix_settings settings = csv(text, column);
        settings.needs_target_column = false;
        return settings;
    };
    const std::string named = "a,y,b\n1,?,3\n4,,6\n7,\"x, y\",9\n10,5\" pipe,12\n";
    BOOST_TEST(refused_text(named) != "");
    BOOST_TEST((rows_of(passed_over(named, "y")) == table{{1, 3}, {4, 6}, {7, 9}, {10, 12}}));
    BOOST_TEST((rows_of(passed_over("1,2,cat\n3,4,dog\n", "-1")) == table{{1, 2}, {3, 4}}));
    const auto source = open_matrix(passed_over("a,y\n1,2\n", "y"));
    BOOST_REQUIRE(source.ok());
    BOOST_TEST(!source->shape().has_targets);
    BOOST_TEST(source->shape().columns == 1u);
    // The features are read as ever.
    BOOST_TEST(refused(passed_over("a,y,b\n1,?,x\n", "y")).find("column 2 (b): ") !=
               std::string::npos);
    BOOST_TEST(refused(passed_over("1,x,cat\n", "-1")).find("header: yes") != std::string::npos);
    BOOST_TEST(
        refused(passed_over("a,y\n1,?,3\n", "y")).find("3 numbers, but the header names 2") !=
        std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
