// Files of formats that Troupe does not read, by what they begin with, so that a reader can say what a file is in place of
// what it is not. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

// As many bytes as tell all of them.
inline constexpr std::size_t foreign_beginning_bytes = 262;

// Names the format of a file with this beginning, and how it is converted, as a sentence without an end: "a Parquet file;
// convert it by ..."; empty if it is none of them. Zip archives are among them. A file that ends within such a beginning,
// which is all there is of it then, is truncated.
std::string why_foreign(std::string_view beginning);

} // namespace troupe
