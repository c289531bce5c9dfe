// What must hold of all documents that are read, and of any sparse matrix in memory.
#pragma once

#include <cmath>

#include "actors/data/sparse/documents.hpp"
#include "schemas/base/limits.hpp"
#include "tests/fuzz/target.hpp"

namespace troupe::fuzz {

inline void check_sparse(const sparse_rows& rows, std::uint64_t columns) {
    TROUPE_CHECK(rows.starts.front() == 0 &&
                     rows.starts.back() == static_cast<std::int64_t>(rows.entries()) &&
                     rows.indices.size() == rows.values.size(),
                 "entries are where they are said to be");
    for (std::size_t r = 0; r < rows.rows(); ++r) {
        TROUPE_CHECK(rows.starts[r] <= rows.starts[r + 1], "rows follow each other");
        for (auto i = static_cast<std::size_t>(rows.starts[r]);
             i < static_cast<std::size_t>(rows.starts[r + 1]); ++i) {
            TROUPE_CHECK(static_cast<std::uint64_t>(rows.indices[i]) < columns,
                         "columns are there");
            TROUPE_CHECK(static_cast<std::int64_t>(i) == rows.starts[r] ||
                             rows.indices[i - 1] < rows.indices[i],
                         "columns rise");
            TROUPE_CHECK(std::isfinite(rows.values[i]), "values are finite");
        }
    }
}

// Whether there are any.
inline bool check_documents(const result<documents>& read) {
    if (!read) {
        check_refusal(read.failure());
        return false;
    }
    const documents& all = *read;
    check_sparse(all.counts, all.words.size());
    TROUPE_CHECK(all.counts.rows() > 0 && !all.words.empty(), "there are documents and words");
    TROUPE_CHECK(all.row_names().size() == all.counts.rows(), "documents have names");
    std::vector<bool> is_used(all.words.size());
    double tokens = 0;
    for (std::size_t r = 0; r < all.counts.rows(); ++r)
        TROUPE_CHECK(all.counts.starts[r] < all.counts.starts[r + 1], "documents have words");
    for (std::size_t i = 0; i < all.counts.entries(); ++i) {
        TROUPE_CHECK(all.counts.values[i] >= 1, "a word in a document is there");
        is_used[static_cast<std::size_t>(all.counts.indices[i])] = true;
        tokens += static_cast<double>(all.counts.values[i]);
    }
    for (const bool used : is_used)
        TROUPE_CHECK(used, "every word is in a document");
    TROUPE_CHECK(tokens == static_cast<double>(all.tokens), "words are counted");
    for (const std::string& word : all.words)
        TROUPE_CHECK(is_printable_name(word, word_bytes_max), "words are printable");
    for (const std::string& name : all.row_names())
        TROUPE_CHECK(printable(name, name.size()) == name, "names are printable");
    return true;
}

} // namespace troupe::fuzz
