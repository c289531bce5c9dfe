// Pairs of sentences: two files, line by line, or one with a tab between the sentences of a line; plain or gzip.
//
// What stands behind a second tab is left out, as are pairs of which a sentence is empty. Errors: as those of
// input_file.hpp.
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
    std::vector<std::uint8_t> source_bytes; // what `pairs` point into
    std::vector<std::uint8_t> target_bytes;
    std::vector<sentence_pair> pairs; // not empty
};

// `target` is empty where `source` holds both.
result<parallel_text> read_parallel_text(const std::filesystem::path& source,
                                         const std::filesystem::path& target);

} // namespace troupe
