// The bytes of a regular file, unpacked if it is gzip, whatever its name is.
//
// Gzip may have several members, one after the other (RFC 1952), and zeros behind the last one, as gzip(1) allows them.
// Anything else behind it is refused, as what has been appended to a packed file would be lost.
//
// Errors: as in input_file.hpp, without the file's name.
#pragma once

#include <memory>

#include "actors/data/files/input_file.hpp"

namespace troupe {

// `stored_bytes`: the file's length.
result<std::unique_ptr<byte_source>> open_file_source(const std::filesystem::path& path,
                                                      std::uint64_t stored_bytes);

} // namespace troupe
