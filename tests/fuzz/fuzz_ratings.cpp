// Fuzz target: arbitrary bytes as ratings, for training and held out; plain or gzip.
#include "actors/data/sparse/ratings.hpp"
#include "tests/fuzz/document_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

namespace {

bool check_ratings(const result<ratings>& read) {
    if (!read) {
        check_refusal(read.failure());
        return false;
    }
    TROUPE_CHECK(read->train.rows() == read->users.size() && read->train.entries() > 0,
                 "users have rows");
    check_sparse(read->train, read->items.size());
    if (read->test) {
        TROUPE_CHECK(read->test->rows() == read->users.size() && read->test->entries() > 0,
                     "users have rows that are held out");
        check_sparse(*read->test, read->items.size());
    }
    for (const auto& numbers : {read->users, read->items})
        for (std::size_t i = 1; i < numbers.size(); ++i)
            TROUPE_CHECK(numbers[i - 1] < numbers[i], "numbers rise");
    return true;
}

} // namespace

bool read(std::span<const std::byte> in) {
    static const test::data_files files;
    static const std::string other = files.plain("other", "1 2 3\n7 7 1\n");
    static memory_file file;
    const std::string name = file.with(in);
    bool taken = check_ratings(read_ratings({.train = {name, "train"}, .test = {}}));
    taken |= check_ratings(read_ratings({.train = {other, "train"}, .test = {name, "test"}}));
    return taken;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    std::vector<std::string> all{
        "3\t10\t1\t881250949\n1\t40\t5\t881250950\n1\t10\t3.5\t881250951\n",
        "3::10::1::978300760\n1::40::5::978302109\r\n",
        "userId,movieId,rating,timestamp\n1,10,3.5,1\n1,40,5.0,2\n",
        "3 10 1\n\n1  40 -5.0\n 18446744073709551615 10 3.5 2000-12-31 12:30:05\n",
        "%%MatrixMarket matrix coordinate real general\n% x\n3 4 3\n3 1 1\n1 4 5\n1 1 3.5\n"};
    all.push_back(files.read(files.gzip("x.gz", all[0])));
    return all;
}

} // namespace troupe::fuzz
