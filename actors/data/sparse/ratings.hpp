// Ratings of items by users: a sparse matrix with a row for each user and a column for each item, and ratings that are held
// out, for factorizations.
//
//   MovieLens      u.data, u1.base: USER ITEM RATING TIME separated by tabs; ratings.dat: by "::"; ratings.csv: by commas
//   other tables   separated by semicolons or bars
//   LIBMF          USER ITEM RATING separated by blanks
//   Matrix Market  coordinate: a row for each user, a column for each item (matrix_market_rows.hpp)
//
// plain or gzip, told apart by the first line, which may have the names of the columns; lines are in any order. Behind a
// rating there may be a time, which is passed over: seconds, or a date with or without the time of day. Lines without
// anything are passed over, too. Users and items are whole numbers of 64 bits, from 0 or 1 on, with gaps or without. Rows
// and columns are those that any of the two files has, in the rising order of these numbers: users and items that only the
// test has are kept, without ratings to learn from. Ratings are float32, up to rating_max. A user rates an item once: a
// second rating is refused, and one of the test that is also there for training.
//
// Memory: 20 bytes for each rating while they are read, then 8.
//
// Errors: errc::data "FILE: line N: SENTENCE", one line that says what to do; errc::io if a file cannot be read;
// errc::exhausted if memory does not suffice. All begin with the key in the app file of the file concerned, if it is given.
//
// Threads: values; reading blocks on files, so it is not for an actor's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/data/files/file_names.hpp"
#include "actors/data/sparse/sparse_rows.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// Without sign. The square of an error, and sums of many, are finite float32.
inline constexpr float rating_max = 1e9F;

struct ratings {
    sparse_rows train;
    std::optional<sparse_rows> test;  // as many rows
    std::vector<std::uint64_t> users; // numbers in the files, of each row
    std::vector<std::uint64_t> items; // of each column
    // Notes on what may not be intended, a sentence each, which begins with the key of the file.
    std::vector<std::string> notes;
};

struct rating_settings {
    named_file train;
    named_file test; // or an empty path
};

result<ratings> read_ratings(const rating_settings& settings);

} // namespace troupe
