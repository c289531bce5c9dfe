// The contract of readers (tests/support/file_forms.hpp): ratings, and documents as counts or entries.
#include "actors/data/sparse/documents.hpp"
#include "actors/data/sparse/ratings.hpp"
#include "tests/support/file_forms.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// "1 10 3.5 / 2 10 4": user, item and rating
reading ratings_in(const std::string& path) {
    const auto found = read_ratings({.train = {path, ""}, .test = {}});
    if (!found)
        return refusal(found);
    std::string all;
    for (std::size_t r = 0; r < found->train.rows(); ++r)
        for (auto i = static_cast<std::size_t>(found->train.starts[r]);
             i < static_cast<std::size_t>(found->train.starts[r + 1]); ++i)
            all += (all.empty() ? "" : " / ") + std::to_string(found->users[r]) + " " +
                   std::to_string(found->items[static_cast<std::size_t>(found->train.indices[i])]) +
                   " " + shown(found->train.values[i]);
    return {all, {}, found->notes};
}

// "cat dog*2 / dog": words and counts
reading documents_in(const document_settings& settings) {
    const auto found = read_documents(settings);
    if (!found)
        return refusal(found);
    std::string all;
    for (std::size_t r = 0; r < found->counts.rows(); ++r) {
        all += r == 0 ? "" : " / ";
        for (auto i = static_cast<std::size_t>(found->counts.starts[r]);
             i < static_cast<std::size_t>(found->counts.starts[r + 1]); ++i) {
            const bool is_first = i == static_cast<std::size_t>(found->counts.starts[r]);
            all += (is_first ? "" : " ") +
                   found->words[static_cast<std::size_t>(found->counts.indices[i])] +
                   (found->counts.values[i] == 1 ? "" : "*" + shown(found->counts.values[i]));
        }
    }
    return {all, {}};
}

reading counts_in(const std::string& path) {
    return documents_in({.format = document_format::counts, .source = {path, ""}});
}

reading lines_in(const std::string& path) {
    return documents_in({.format = document_format::lines, .source = {path, ""}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_of_sparse_data)

BOOST_AUTO_TEST_CASE(ratings) {
    const std::string two = "1 10 3.5 / 2 10 4";
    const table_of forms{
        "ratings",
        {
            {"tabs and times", "1\t10\t3.5\t881250949\n2\t10\t4\t881250950\n", two},
            {"double colons", "1::10::3.5::978300760\n2::10::4::978300760\n", two},
            {"commas below names", "userId,movieId,rating,timestamp\n1,10,3.5,1\n2,10,4,2\n", two},
            {"tabs below names", "user\titem\trating\n1\t10\t3.5\n2\t10\t4\n", two},
            {"blanks below names", "user item rating\n1 10 3.5\n2 10 4\n", two},
            {"double colons below names", "user::item::rating\n1::10::3.5\n2::10::4\n", two},
            {"a column of scores", "user_id,item_id,score\n1,10,3.5\n2,10,4\n", two},
            {"other names", "\"User-ID\";\"Book\";\"Stars\"\n1;10;\"3.5\"\n\"2\";10;4\n", two},
            {"semicolons", "1;10;3.5\n2;10;4\n", two},
            {"bars", "1|10|3.5\n2|10|4\n", two},
            {"bars and a time", "1|10|3.5|0\n2|10|4|0\n", two},
            {"bars below names", "user|item|rating\n1|10|3.5\n2|10|4\n", two},
            {"slashes", "1/10/3.5\n", "",
             "line 1: \"/\" between numbers; separate USER, ITEM and RATING by \"::\", tabs, bars, "
             "semicolons, commas or blanks"},
            {"single colons", "1:10:3.5\n", "", "line 1: \":\" between numbers; separate"},
            {"commas", "1,10,3.5\n2,10,4\n", two},
            {"blanks", "1 10 3.5\n 2  10  4 \n", two},
            {"dates", "1,10,3.5,2005-04-02\n2,10,4,\"2005-04-02 23:53:47\"\n", two},
            {"lines of Windows and a mark of the order of bytes",
             "\xef\xbb\xbf"
             "1,10,3.5\r\n\r\n2,10,4",
             two},
            {"Matrix Market",
             "%%MatrixMarket matrix coordinate real general\n2 1 2\n1 1 3.5\n2 1 4\n",
             "1 1 3.5 / 2 1 4"},
            {"lines of old Macs", "1,10,3.5\r2,10,4\r", "", "carriage returns alone"},
            {"columns in another order", "movie,user,rating\n1,2,3\n", "",
             "the first three are the user, the item and the rating"},
            {"a time before the rating", "userId,movieId,timestamp,rating\n1,10,97,3\n", "",
             "the columns \"userId\", \"movieId\", \"timestamp\"; the first three"},
            {"a time before the rating, without names", "1,10,978300760,3\n", "",
             "a time stands behind the rating, not before it"},
            {"a rating behind the number of a line", "1,10,0,4\n", "",
             "\"4\" behind the rating is no time"},
            {"an index of pandas without names", "0,1,10,3.5\n", "",
             "\"3.5\" behind the rating is no time"},
            {"a fold behind a rating, by names", "user,item,rating,fold\n1,10,3,2\n", "1 10 3"},
            {"ids of ratings before ratings", "user,item,rating_id,rating\n1,10,7,3\n", "",
             "\"rating_id\"; the first three are the user, the item and the rating"},
            {"times of ratings before ratings", "user,item,ratingTime,rating\n1,10,7,3\n", "",
             "the first three"},
            {"counts of ratings", "user,item,ratings_count\n1,10,7\n", "", "the first three"},
            {"means of ratings", "user,item,avg_rating\n1,10,3.5\n", "1 10 3.5"},
            {"an index of pandas", ",user,item,rating\n0,1,10,3.5\n", "", "the first three are"},
            {"names counted by pandas", "0,1,2\n1,10,3.5\n", "0 1 2 / 1 10 3.5", "",
             "the first line, 0, 1, 2, is taken for a rating"},
            {"names of users", "ann,10,3.5\n1,10,3.5\n", "",
             "the user \"ann\" is not a whole number"},
            {"names of items", "1,B00X,3.5\n", "", "the item \"B00X\" is not a whole number"},
            {"decimal commas", "1;10;3,5\n", "", "the rating: \"3,5\" is not a number; write"},
            {"a missing rating", "1,10,3\n2,10,NA\n", "", "line 2: the rating: \"NA\" is not a"},
            {"two ratings of an item", "1,10,3\n1,10,4\n", "",
             "line 2: user 1 rates item 10 a second time; leave one of them out"},
            {"more columns", "1,10,3,5,7\n", "", "\"5,7\" behind the rating is no time"},
            {"fewer columns", "1,10\n", "", "a rating is USER,ITEM,RATING"},
            {"JSON",
             "{\"user\": 1, \"item\": 10, \"rating\": 3}\n{\"user\": 1, \"item\": 9, \"rating\": "
             "3}\n",
             "", "line 1: the columns"},
            {"names alone", "user,item,rating\n", "", "the file holds no ratings"},
            {"nothing", "", "", "the file holds no ratings"},
            {"blanks alone", " \n\n", "", "the file holds no ratings"},
        }};
    forms.check(ratings_in);
}

BOOST_AUTO_TEST_CASE(counts) {
    const table_of lda{
        "LDA-C",
        {
            {"lines", "2 0:1 3:2\n1 3:1\n", "0 3*2 / 3"},
            {"lines of Windows", "1 0:1\r\n1 0:2\r\n", "0 / 0*2"},
            {"another number of words", "1 0:1 3:2\n", "", "2 words, but the line begins with 1"},
            {"a word twice", "2 1:1 1:2\n", "", "the word 1 twice in a document"},
            {"a count of 0", "1 1:0\n", "", "the count \"0\"; counts are whole numbers from 1"},
            {"a fraction of a count", "1 1:0.5\n", "", "the count \"0.5\""},
            {"negative words", "1 -1:1\n", "", "the word \"-1\"; words are numbers from 0"},
            {"no colon", "1 cat\n", "", "\"cat\" is no WORD:COUNT"},
            {"a text", "the cat\n", "", "\"the\" is no number of words"},
            {"nothing", "", "", "the file is empty"},
        }};
    lda.check(counts_in);
    const table_of uci{
        "UCI bags of words",
        {
            {"entries", "2\n3\n3\n1 1 2\n1 3 1\n2 3 1\n", "1*2 3 / 3"},
            {"words from 0", "1\n3\n1\n1 0 1\n", "", "the word \"0\"; words are numbers from 1"},
            {"documents from 0", "1\n3\n1\n0 1 1\n", "", "the document \"0\"; documents are"},
            {"documents in disorder", "2\n3\n2\n2 1 1\n1 1 1\n", "", "sort the entries by"},
            {"fewer entries", "2\n3\n2\n1 1 1\n", "", "the file ends after 1 of 2 entries"},
            {"more entries", "1\n3\n1\n1 1 1\n1 2 1\n", "", "more than the 1 entries"},
            {"a word twice", "1\n3\n2\n1 1 1\n1 1 2\n", "", "the word 1 twice in a document"},
        }};
    uci.check(counts_in);
}

BOOST_AUTO_TEST_CASE(vocabularies) {
    const table_of forms{
        "vocabulary",
        {
            {"a word a line", "cat\n dog \r\nowl", "cat owl"},
            {"fewer words", "cat\n", "", "line 1: the word \"2\"; words are numbers from 0 to 0"},
            {"a word twice", "cat\ndog\ncat\n", "", "line 3: the word \"cat\" as in line 1"},
            {"blank lines", "cat\n\nowl\n", "", "line 2: the word \"\""},
            {"Latin-1", "caf\xe9\ndog\nowl\n", "", "line 1: the word \"caf\\xe9\""},
            {"nothing", "", "", "no words; give one in each line"},
        }};
    const data_files files;
    const std::string counts = files.plain("counts-of-file", "2 0:1 2:1\n");
    forms.check([&](const std::string& path) {
        document_settings settings{.format = document_format::counts, .source = {counts, ""}};
        settings.vocabulary = {path, ""};
        return documents_in(settings);
    });
}

BOOST_AUTO_TEST_CASE(lines) {
    const table_of forms{"texts",
                         {
                             {"lines", "a cat\ndogs\n", "a cat / dogs"},
                             {"lines of Windows and a mark of the order of bytes",
                              "\xef\xbb\xbf"
                              "a cat\r\ndogs",
                              "a cat / dogs"},
                             {"lines of old Macs", "a cat\rdogs\r", "", "carriage returns alone"},
                             {"UTF-16",
                              std::string{"\xff\xfe"
                                          "a\0\n\0",
                                          6},
                              "", "in UTF-16; convert it by iconv"},
                             {"Latin-1", "a cat\ncaf\xe9\n", "", "line 2"},
                         }};
    forms.check(lines_in);
}

BOOST_AUTO_TEST_CASE(dictionaries) {
    const table_of forms{
        "dictd",
        {
            {"entries", "cat\tA\tE\ndog\tE\tD\n", "meow / owl"},
            {"descriptions of the database", "00-database-info\tA\tE\ndog\tE\tD\n", "owl"},
            {"another index", "cat 0 3\n", "", "an entry is HEADWORD, OFFSET, LENGTH with tabs"},
            {"an entry behind the end", "cat\tA\tZ\n", "", "fetch both files again"},
        }};
    const data_files files;
    const std::string texts = files.plain("file.dict", "meowowl");
    forms.check([&](const std::string& path) {
        std::filesystem::copy_file(path, files.folder() / "file.index",
                                   std::filesystem::copy_options::overwrite_existing);
        return documents_in({.format = document_format::dictionary, .source = {texts, ""}});
    });
}

BOOST_AUTO_TEST_SUITE_END()
