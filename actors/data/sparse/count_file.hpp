// Reader of files of counts, LDA-C's or UCI's (documents.hpp), plain or gzip.
//
// A word stands once in a document; counts are 1 to word_count_max. Numbers of words are below those of the vocabulary, if
// there is one, and of the UCI format's second line; lines and entries are as many as the file says.
//
// Errors: as in line_reader.hpp; those of the vocabulary and of the stop words begin with their keys.
// Source: D. Blei: lda-c, readme.txt; UCI Machine Learning Repository: Bag of Words.
#pragma once

#include "actors/data/sparse/documents.hpp"

namespace troupe {

// `vocabulary`: its words, or none. Stop words and short words are left out if it is there.
result<documents> read_count_file(const std::string& path, const named_file& vocabulary,
                                  const word_rules& rules, const vocabulary_bounds& bounds);

} // namespace troupe
