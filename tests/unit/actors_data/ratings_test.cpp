// Ratings in files of several formats.
#include "actors/data/sparse/ratings.hpp"

#include "tests/support/data_files.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using numbers = std::vector<std::uint64_t>;
using texts = std::vector<std::string>;

class rating_files : public data_files {
  public:
    rating_settings files(const std::string& train) const {
        return {.train = {plain("tr", train), ""}, .test = {}};
    }
    rating_settings files(const std::string& train, const std::string& test) const {
        return {.train = {plain("tr", train), "train"}, .test = {plain("te", test), "test"}};
    }
    // What is said of it, without the folder.
    std::string refused(const rating_settings& settings, errc code = errc::data) const {
        std::string said = refusal_of(read_ratings(settings), code);
        const std::string shown = folder().string() + "/";
        for (std::size_t at = 0; (at = said.find(shown)) != std::string::npos;)
            said.erase(at, shown.size());
        return said;
    }
    std::string refused(const std::string& train) const { return refused(files(train)); }
};

ratings ratings_of(const rating_settings& settings) {
    auto all = read_ratings(settings);
    BOOST_REQUIRE_MESSAGE(all.ok(), (all.ok() ? "" : all.failure().message()));
    BOOST_TEST(all->train.rows() == all->users.size());
    if (all->test)
        BOOST_TEST(all->test->rows() == all->users.size());
    return std::move(*all);
}

// "user item rating" of all.
texts shown(const ratings& all, const sparse_rows& rows) {
    texts lines;
    for (std::size_t r = 0; r < rows.rows(); ++r)
        for (auto i = static_cast<std::size_t>(rows.starts[r]);
             i < static_cast<std::size_t>(rows.starts[r + 1]); ++i)
            lines.push_back(std::to_string(all.users[r]) + " " +
                            std::to_string(all.items[static_cast<std::size_t>(rows.indices[i])]) +
                            " " + std::to_string(static_cast<int>(rows.values[i] * 10)));
    return lines;
}

texts shown(const ratings& all) {
    return shown(all, all.train);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(ratings_of_items, rating_files)

BOOST_AUTO_TEST_CASE(all_formats_give_the_same_ratings) {
    const texts expected{"1 10 35", "1 40 50", "3 10 10"};
    const texts formats{
        "3\t10\t1\t881250949\n1\t40\t5\t881250950\n1\t10\t3.5\t881250951\n",
        "3::10::1::978300760\n1::40::5::978302109\n1::10::3.5::978301968\n",
        "userId,movieId,rating,timestamp\r\n1,10,3.5,1\r\n1,40,5.0,2\r\n3,10,1.0,3\r\n",
        "1,10,3.5\n3,10,1\n1,40,5\n",
        "\"userId\",\"movieId\",\"rating\"\n\"1\",\"10\",\"3.5\"\n3,10,\"1\"\n1,40,5\n",
        "3 10 1\n\n1  40 5.0\n 1 10 3.5 978301968\n",
        "3,10,1,2005-04-02\n1,40,5,\"2005-04-02 23:53:47\"\n1,10,3.5,\n",
        "3 10 1 2005-04-02T23:53:47Z\n1 40 5 2/4/2005 23:53\n1 10 3.5 1.5e9\n",
        "%%MatrixMarket matrix coordinate real general\n3 40 3\n3 10 1\n1 40 5\n1 10 3.5\n",
    };
    for (const std::string& format : formats) {
        const ratings all = ratings_of(files(format));
        BOOST_TEST((shown(all) == expected), format);
        BOOST_TEST((all.users == numbers{1, 3}));
        BOOST_TEST((all.items == numbers{10, 40}));
        BOOST_TEST(!all.test.has_value());
    }
    rating_settings packed = files("");
    packed.train.path = gzip("tr.gz", formats[1]);
    BOOST_TEST((shown(ratings_of(packed)) == expected));
}

BOOST_AUTO_TEST_CASE(users_and_items_of_either_file_have_rows_and_columns) {
    const ratings all =
        ratings_of(files("5 1 1\n0 7 2\n", "2,1,3\n5,9,4\n18446744073709551615,7,1\n"));
    BOOST_TEST((all.users == numbers{0, 2, 5, 18446744073709551615u}));
    BOOST_TEST((all.items == numbers{1, 7, 9}));
    BOOST_TEST((shown(all) == texts{"0 7 20", "5 1 10"}));
    BOOST_REQUIRE(all.test.has_value());
    BOOST_TEST((shown(all, *all.test) == texts{"2 1 30", "5 9 40", "18446744073709551615 7 10"}));
}

BOOST_AUTO_TEST_CASE(a_second_rating_of_an_item_is_refused_with_its_line) {
    BOOST_TEST(refused("1 2 3\n1 1 3\n1 2 4\n") ==
               "tr: line 3: user 1 rates item 2 a second time; leave one of them out");
    BOOST_TEST(refused(files("1 2 3\n", "2 2 1\n1 3 1\n2 2 1\n")) ==
               "test: te: line 3: user 2 rates item 2 a second time; leave one of them out");
    BOOST_TEST(refused(files("1 2 3\n", "2 2 1\n1 2 1\n")) ==
               "test: te: line 2: user 1 rates item 2 for training, too; leave it out of one of "
               "the files");
    BOOST_TEST(refused("%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 3\n1 1 4\n") ==
               "tr: line 4: row 1, column 1 a second time; leave one of them out");
}

BOOST_AUTO_TEST_CASE(lines_that_are_no_ratings_are_refused) {
    BOOST_TEST(refused("1 2\n") ==
               "tr: line 1: a rating is USER ITEM RATING, as in the first line");
    BOOST_TEST(refused("1\t2\t3\n1 2 3\n") ==
               "tr: line 2: a rating is USER <tab> ITEM <tab> RATING, as in the first line");
    BOOST_TEST(refused("1::2::3\n1::2\n") ==
               "tr: line 2: a rating is USER::ITEM::RATING, as in the first line");
    BOOST_TEST(refused("1 2 3\n-1 2 3\n") ==
               "tr: line 2: the user \"-1\" is below 0; give users numbers from 0 on");
    BOOST_TEST(refused("1 2 3\n1 3 -2e9\n") ==
               "tr: line 2: the rating -2e+09 is beyond 1e9; leave it out, or divide all "
               "ratings");
    BOOST_TEST(refused("1 3 1e50\n") == "tr: line 1: the rating: 1e50 is no finite 32-bit number; "
                                        "leave it out, or divide all ratings");
    BOOST_TEST(refused("1 B00 3\n") ==
               "tr: line 1: the item \"B00\" is not a whole number; give items numbers");
    BOOST_TEST(refused("1 18446744073709551616 3\n") ==
               "tr: line 1: the item \"18446744073709551616\" is beyond 2^64 - 1; give items "
               "numbers from 0 on");
    BOOST_TEST(refused("1 2.0 3\n") == "tr: line 1: the item \"2.0\" is not a whole number; write "
                                       "it without a point, with pandas by astype(int)");
    BOOST_TEST(refused("1 007 3\n") == "tr: line 1: the item \"007\" begins with a zero, which a "
                                       "number does not keep; give items numbers that begin with "
                                       "none");
    BOOST_TEST(refused("1 2 3\n1 3 4 5 stars\n") ==
               "tr: line 2: \"5 stars\" behind the rating is no time, such as 978300760 or "
               "2000-12-31; leave it out");
    for (const std::string rest : {"x", "5 7", "2005-04-02 noon", "-", "1,000"})
        BOOST_TEST(refused("1,2,3," + rest + "\n").find("behind the rating is no time") !=
                   std::string::npos);
    BOOST_TEST(refused("1 2 nan\n") ==
               "tr: line 1: the rating: \"nan\" is not a number; fill in missing values, or leave "
               "the row out");
    BOOST_TEST(refused("1,2,\n").starts_with("tr: line 1: a rating is USER,ITEM,RATING"));
    BOOST_TEST(refused("1 2 1e99\n").starts_with("tr: line 1: the rating: 1e99 is no finite"));
    BOOST_TEST(refused("movie,title,year\n1,2,3\n") ==
               "tr: line 1: the columns \"movie\", \"title\", \"year\"; the first three are the "
               "user, the item and the rating: if they are, name them so, or leave this line out");
    BOOST_TEST(refused("") == "tr: line 1: the file holds no ratings");
    BOOST_TEST(refused("userId,movieId,rating\n") == "tr: the file holds no ratings");
    BOOST_TEST(refused(files("1 2 3\n", "\n")) == "test: te: line 1: the file holds no ratings");
    BOOST_TEST(refused("%%MatrixMarket matrix array real general\n1 1\n4\n")
                   .ends_with(": an array; save ratings as coordinates"));
    BOOST_TEST(refused("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n") ==
               "tr: line 1: a pattern says who has rated what, and not how; save ratings with the "
               "field real or integer");
    BOOST_TEST(refused("%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 2\n")
                   .starts_with("tr: line 1: a symmetric matrix has the same users as items; "));
    BOOST_TEST(refused("\xff\xfe") ==
               "tr: line 1: the file is in UTF-16; convert it by iconv -f UTF-16 -t UTF-8");
    rating_settings missing = files("1 2 3\n");
    missing.test = {folder() / "none", "test"};
    BOOST_TEST(refused(missing, errc::io) == "test: none: no such file");
}

BOOST_AUTO_TEST_SUITE_END()
