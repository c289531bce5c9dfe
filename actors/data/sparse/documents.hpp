// Documents as counts of words: a sparse matrix with a row for each document and a column for each word, for topic models.
//
//   counts      LDA-C: a document a line, N WORD:COUNT ..., words from 0. UCI bags of words: three lines with the numbers of
//               documents, words and entries, then a line DOCUMENT WORD COUNT for each entry, from 1, in the order of
//               documents. Told apart by the first line. Words are called by their numbers, unless a vocabulary names them
//               (count_file.hpp)
//   text        a folder: each of its files, and of the folders in it, in the order of their paths; hidden ones are passed
//               over (document_texts.hpp)
//   lines       a file, each line of which is a document (document_texts.hpp)
//   dictionary  of the dictd server, NAME.dict.dz or NAME.dict with NAME.index beside it: each entry is a document, once,
//               whatever number of headwords it has; what describes the dictionary is none (dictionary.hpp)
//
// Words of texts are those of text_words.hpp, in lower case (word_forms.hpp). Those in lists of stop words and those that
// are too short are left out, the others cut to their stems, if that is asked for. Spellings that differ in case folding
// alone, such as "straße" and "strasse", are one word, which is shown as most of its tokens are spelled. Then words beyond
// the bounds are left out, those that no document has in any case. Words of texts are in alphabetical order (of their bytes
// in UTF-8), those of counts in the order of their numbers. Documents in which no word is left are left out and counted.
// Counts of up to 2^24 are taken.
//
// Memory: 8 bytes for each entry (a word of a document), and the words; texts are read line by line, dictionaries whole.
//
// Errors: errc::data "FILE: line N: SENTENCE", one line that says what to do; errc::io if a file cannot be read;
// errc::usage for settings that do not fit; errc::exhausted if memory does not suffice. All begin with the key in the app
// file of the file concerned, if it is given.
//
// Threads: values; reading blocks on files, so it is not for an actor's thread.
#pragma once

#include <string>
#include <vector>

#include "actors/data/files/file_names.hpp"
#include "actors/data/sparse/sparse_rows.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// A vocabulary names no longer word. Words of texts are shorter, also with letters that decompose (word_characters_max).
inline constexpr std::size_t word_bytes_max = 2000;

struct documents {
    sparse_rows counts;
    std::vector<std::string> words; // of each column, printable
    // Names of the rows: printable names (paths below the folder, headwords), or numbers in the file from 1.
    std::vector<std::string> names;
    std::vector<std::uint64_t> numbers;
    std::uint64_t tokens = 0;   // the sum of all counts
    std::uint64_t left_out = 0; // documents without words
    // Runs of letters in texts that are longer than a word can be, and are left out.
    std::uint64_t words_too_long = 0;

    // Either of the two, as text.
    std::vector<std::string> row_names() const;
};

enum class document_format { counts, text, lines, dictionary };

struct word_rules {
    bool has_english_stop_words = false;
    named_file stop_words;        // further ones, in the words of each line; or an empty path
    std::uint32_t length_min = 1; // in letters
    std::string stems; // language of Snowball, or empty: words as they are; of texts alone
};

struct vocabulary_bounds {
    std::uint64_t documents_min = 1;
    double documents_max_share = 1; // of all documents that were read
    std::uint64_t words_max =
        0; // those with the largest sums of counts, then the first in order; 0: no bound
};

struct document_settings {
    document_format format = document_format::counts;
    named_file source;
    named_file vocabulary; // of counts: a word a line; or an empty path
    word_rules words;
    vocabulary_bounds bounds;
};

result<documents> read_documents(const document_settings& settings);

} // namespace troupe
