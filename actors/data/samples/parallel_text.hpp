// Pairs of sentences from two files, line by line, or from one file with a tab between the sentences of a line; plain or
// gzip.
//
// Text after a second tab is skipped, as are pairs with an empty sentence. Errors: as in input_file.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

struct sentence_pair {
    std::string_view source;
    std::string_view target;
};

struct parallel_text {
    std::vector<std::uint8_t> source_bytes; // `pairs` points into these
    std::vector<std::uint8_t> target_bytes;
    std::vector<sentence_pair> pairs; // not empty
};

// `target` is empty if `source` has both languages.
result<parallel_text> read_parallel_text(const std::filesystem::path& source,
                                         const std::filesystem::path& target);

} // namespace troupe
