// The contract of readers (tests/support/file_forms.hpp): CSV.
#include "tests/support/file_forms.hpp"
#include "tests/support/matrix_forms.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(contract_of_csv)

BOOST_AUTO_TEST_CASE(forms) {
    const table_of csv{
        "CSV",
        {
            {"commas", "1,2\n3,4\n", "1 2 / 3 4"},
            {"semicolons", "1;2\n3;4\n", "1 2 / 3 4"},
            {"tabs", "1\t2\n3\t4\n", "1 2 / 3 4"},
            {"blanks around numbers", " 1 ,2\n3, 4 \n", "1 2 / 3 4"},
            {"blanks between numbers", "1 2\n3 4\n", "", "CSV has commas, semicolons or tabs"},
            {"names", "a,b\n1,2\n", "1 2"},
            {"names behind a mark of comments", "# a,b\n1,2\n", "1 2"},
            {"a mark of the order of bytes",
             "\xef\xbb\xbf"
             "a,b\n1,2\n",
             "1 2"},
            {"lines of Windows", "a,b\r\n1,2\r\n", "1 2"},
            {"lines of Windows, converted twice", "a,b\r\r\n1,2\r\r\n", "1 2"},
            {"lines of old Macs", "1,2\r3,4\r", "", "line 1: the lines end by carriage returns"},
            {"lines of old Macs, and a newline", "1,2\r3,4\r\n", "", "carriage returns alone"},
            {"no newline at the end", "1,2\n3,4", "1 2 / 3 4"},
            {"blank lines", "\n1,2\n\n  \n3,4\n\n", "1 2 / 3 4"},
            {"UTF-16",
             std::string{"\xff\xfe"
                         "1\0,\0"
                         "2\0\n\0",
                         10},
             "", "the file is in UTF-16; convert it by iconv"},
            {"NUL bytes", std::string{"1,2\n3,\0\n", 8}, "", "line 2: a NUL byte"},
            {"Latin-1 in a name",
             "gr\xf6\xdf"
             "e,b\n1,2\n",
             "1 2"},

            {"quoted numbers", "\"1\",\"2\"\n\"3\", \"4\" \n", "1 2 / 3 4"},
            {"names with separators", "\"a,b\",\"c \"\"d\"\"\"\n1,2\n", "1 2"},
            {"a name of two lines", "\"a\nb\",c\n1,2\n", "1 2"},
            {"a name of two lines of Windows", "\"a\r\nb\",c\r\n1,2\r\n", "1 2"},
            {"a first name of two lines", "\"a\n;b\";c\n1;2\n", "1 2"},
            {"a name with a mark of inches", "5\" pipe,c\n1,2\n", "1 2"},
            {"a quotation mark without an end", "a,b\n1,2\n\"3,4\n5,6\n", "",
             "line 3: a quotation mark that begins a cell has no end"},
            {"a separator in a quoted number", "1,2\n\"3,4\",5\n", "",
             "line 2: column 0: \"3,4\" is not a number; write decimals with a point, and nothing "
             "between thousands"},

            {"exponents and signs", "+1,-2.5e3\n.5,5.\n-0,1E-2\n", "1 -2500 / 0.5 5 / -0 0.01"},
            {"too small", "1,2\n1e-999,1\n", "1 2 / 0 1"},
            {"too large", "1,2\n1e999,1\n", "", "line 2: column 0: 1e999 is no finite"},
            {"decimal commas", "a;b\n1,5;2,5\n", "",
             "line 2: column 0 (a): \"1,5\" is not a number"},
            {"decimal commas without names", "1,5;2,5\n3;4\n", "",
             "line 1: \"1,5\" is not a number; write decimals with a point, and nothing between "
             "thousands"},
            {"thousands apart", "1;2\n1 000;3\n", "", "nothing between thousands"},
            {"thousands with apostrophes", "1;2\n1'000;3\n", "", "nothing between thousands"},
            {"hexadecimal", "1,2\n0x10,3\n", "", "\"0x10\" is not a number"},
            {"exponents of Fortran", "1,2\n1d3,3\n", "", "\"1d3\" is not a number"},
            {"units", "1,2\n5%,3\n", "", "\"5%\" is not a number"},
            {"truth values", "1,2\nTRUE,3\n", "", "\"TRUE\" is not a number"},
            {"dates", "1,2\n2020-01-02,3\n", "", "\"2020-01-02\" is not a number"},
            {"texts", "a,b\n1,2\n3,cat\n", "", "line 3: column 1 (b): \"cat\" is not a number"},

            {"nothing in a cell", "1,2\n,3\n", "", "line 2: column 0: a number is missing"},
            {"NA", "1,2\nNA,3\n", "", "\"NA\" is not a number; fill in missing values"},
            {"nan", "1,2\nnan,3\n", "", "\"nan\" is not a number; fill in missing values"},
            {"null", "1,2\nnull,3\n", "", "\"null\" is not a number; fill in missing values"},
            {"?", "1,2\n?,3\n", "", "\"?\" is not a number; fill in missing values"},
            {"inf", "1,2\n-inf,3\n", "", "\"-inf\" is not finite; give it a number"},
            {"missing values in the first line", "NA,\n1,2\n", "",
             "line 1: \"NA\" is not a number; fill in missing values, or leave the row out; if "
             "this line has the names of the columns, set header: yes"},
            {"separators at the end of lines", "1,2,\n3,4,\n", "", "line 1: a number is missing"},
            {"separators at the end of rows", "a,b,\n1,2,\n", "",
             "line 2: column 2 (): a number is missing; fill it in, or leave the row out; if the "
             "lines end with separators, take these off"},
            {"fewer cells", "1,2\n3\n", "", "line 2: 1 number, but the first row has 2"},
            {"more cells", "a,b\n1,2,3\n", "", "line 2: 3 numbers, but the header names 2"},
            {"lines of comments", "# of today\n1,2\n", "", "line 1: a comment before the table"},
            {"one name behind a mark of comments", "# a\n1\n", "1"},
            {"a title above the names", "My table\na,b\n1,2\n", "",
             "line 2: column 0 (My table): \"a\""},
            {"names that are partly numbers", "2020,total\n1,2\n", "",
             "line 1: \"total\" is not a number; write decimals with a point, as -1.5 or 1e-3; if "
             "this line has the names of the columns, set header: yes"},

            {"names counted by pandas", "0,1,2\n0.5,1.5,2.5\n", "0.5 1.5 2.5", "",
             "the first line, 0, 1, 2, is taken for the names of the columns"},
            {"names counted by pandas, of whole numbers", "0,1,2\n7,8,9\n", "7 8 9", "",
             "set header: no if it is a row"},
            {"names counted by pandas behind an index", ",0,1\n0,0.5,1.5\n", "0 0.5 1.5", "",
             "is taken for the names of the columns", "column 0 has no name"},
            {"two names counted by pandas", "0,1\n0.5,2\n", "0.5 2", "", "taken for the names"},
            {"names counted by pandas, as decimals", "0.0,1.0,2.0\n0.5,7,2.5\n", "0.5 7 2.5", "",
             "the first line, 0.0, 1.0, 2.0, is taken for the names of the columns"},
            {"decimals that count on", "0.0,1.0,2.0\n3.0,4.0,5.0\n", "0 1 2 / 3 4 5"},
            {"decimals 0.0 and 1.0", "0.0,1.0\n0.5,2\n", "0 1 / 0.5 2", "",
             "the first line, 0.0, 1.0, is taken for a row; set header: "},
            {"two whole decimals above fractions", "10.0,20.0\n0.5,1.5\n", "10 20 / 0.5 1.5"},
            {"whole decimals above fractions", "1.0,2.0,3.0\n0.5,1.5,4.0\n1,1,2.5\n",
             "1 2 3 / 0.5 1.5 4 / 1 1 2.5", "", "is taken for a row"},
            {"whole decimals above some fractions", "1.0,2.0,3.0\n0.5,1.5,4.0\n",
             "1 2 3 / 0.5 1.5 4"},
            {"years as decimals", "2019.0,2020.0\n1,2\n", "2019 2020 / 1 2", "",
             "the first line, 2019.0, 2020.0, is taken for a row; set header: yes"},
            {"years from the last one", "2020,2019\n1,2\n", "2020 2019 / 1 2", "",
             "is taken for a row; set header: yes"},
            {"rows of years from the last one", "2020,2019\n2021,2020\n", "2020 2019 / 2021 2020"},
            {"rows that count on", "0,1,2\n3,4,5\n", "0 1 2 / 3 4 5"},
            {"rows of 0 and 1", "0,1\n1,1\n", "0 1 / 1 1", "", "is taken for a row; set header: "},
            {"years", "2019,2020\n1,2\n3,4\n", "2019 2020 / 1 2 / 3 4", "",
             "the first line, 2019, 2020, is taken for a row; set header: yes if it has the names"},
            {"rows of years", "2019,2020\n2020,2021\n", "2019 2020 / 2020 2021"},
            {"whole numbers above fractions", "10,20\n0.5,1\n2,1.5\n", "10 20 / 0.5 1 / 2 1.5", "",
             "is taken for a row"},
            {"whole numbers above some fractions", "10,20\n0.5,1\n", "10 20 / 0.5 1"},
            {"an index without a name", ",a,b\n0,1,2\n1,3,4\n", "0 1 2 / 1 3 4", "",
             "column 0 has no name, as an index that pandas or R has written"},
            {"an index that pandas has read", "Unnamed: 0,a,b\n0,1,2\n1,3,4\n", "0 1 2 / 1 3 4", "",
             "column 0 has no name, as an index that pandas or R has written"},

            {"nothing", "", "", "the file holds no rows"},
            {"blanks alone", " \n\t\n\n", "", "the file holds no rows"},
            {"names alone", "a,b\n", "", "the file holds no rows"},
            {"separators alone", ",,\n", "", "a number is missing"},
            {"JSON", "[{\"a\": 1},\n {\"a\": 2}]\n", "", "line 2: "},
        }};
    csv.check([](const std::string& path) { return matrix_in(features_in(path)); });
}

BOOST_AUTO_TEST_CASE(forms_with_targets) {
    const table_of csv{
        "CSV",
        {
            {"the last column", "a,b,y\n1,2,3\n", "1 2 -> 3"},
            {"a quoted name with a separator", "a,\"b,c\",y\n1,2,3\n", "1 2 -> 3"},
            {"missing", "a,y\n1,NA\n", "", "column 1 (the target): \"NA\" is not a number"},
            {"a class", "a,y\n1,cat\n", "", "column 1 (the target): \"cat\" is not a number"},
            {"names counted by pandas", "0,1,2\n7,8,9\n", "7 8 -> 9", "", "taken for the names"},
        }};
    csv.check([](const std::string& path) {
        matrix_settings settings = features_in(path);
        settings.target_column = "-1";
        return matrix_in(settings);
    });
    const table_of passed_over{
        "CSV",
        {
            {"a text of two lines", "a,b,y\n1,2,\"Bonnie\n& Clyde, they\"\n3,4,x\n", "1 2 / 3 4"},
            {"quotation marks within a text", "a,b,y\n1,2,5\" pipe\n3,4,\"6\"\" pipe\"\n",
             "1 2 / 3 4"},
            {"nothing", "a,b,y\n1,2,\n", "1 2"},
        }};
    passed_over.check([](const std::string& path) {
        matrix_settings settings = features_in(path);
        settings.target_column = "y";
        settings.needs_target_column = false;
        return matrix_in(settings);
    });
}

BOOST_AUTO_TEST_CASE(gzip) {
    const data_files files;
    const auto packed = [&](const std::string& text) {
        return files.read(files.gzip("made.gz", text));
    };
    const table_of forms{
        "CSV",
        {
            {"one member", packed("1,2\n3,4\n"), "1 2 / 3 4"},
            {"two members", packed("1,2\n") + packed("3,4\n"), "1 2 / 3 4"},
            {"zeros behind it", packed("1,2\n3,4\n") + std::string(600, '\0'), "1 2 / 3 4"},
            {"nothing in it", packed(""), "", "the file holds no rows"},
            {"rows behind it", packed("1,2\n") + "3,4\n", "",
             "byte 4: what follows is behind the packed data, and not packed; pack the whole file"},
            {"cut", packed("1,2\n3,4\n").substr(0, 20), "", "truncated gzip data"},
            {"cut in its checksum", packed("1,2\n3,4\n").substr(0, 24), "", "truncated gzip data"},
            {"another checksum", packed("1,2\n").replace(packed("1,2\n").size() - 8, 1, "x"), "",
             "damaged gzip data"},
        }};
    forms.check([](const std::string& path) { return matrix_in(features_in(path)); });
}

BOOST_AUTO_TEST_CASE(a_header_that_is_said_is_not_guessed) {
    const data_files files;
    for (const bool has_header : {true, false}) {
        matrix_settings settings = features_in(files.plain("file", "0,1,2\n0.5,1.5,2.5\n"));
        settings.has_header = has_header;
        const reading found = matrix_in(settings);
        BOOST_TEST(found.read == (has_header ? "0.5 1.5 2.5" : "0 1 2 / 0.5 1.5 2.5"));
        BOOST_TEST(found.notes.empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
