// Pairs of sentences from two files, line by line, or from one file with a tab between the sentences of a line; plain or
// gzip, in UTF-8.
//
// Text after a second tab is skipped, as are pairs of which a sentence is empty or blank; a note says how many. Tables,
// markup and JSON are refused where they can be told from sentences. Errors: as in line_reader.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

struct sentence_pair {
    std::string_view source;
    std::string_view target;
};

struct parallel_text {
    std::vector<char> source_text; // `pairs` points into these
    std::vector<char> target_text;
    std::vector<sentence_pair> pairs; // not empty
    std::vector<std::string>
        notes; // what was skipped, or may be meant in another way; without the file's name
};

// `target` is empty if `source` has both languages.
result<parallel_text> read_parallel_text(const std::string& source, const std::string& target);

} // namespace troupe
