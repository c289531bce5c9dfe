// The cluster's key, read from a file that only its owner can read.
#pragma once

#include <string>

#include "schemas/base/error.hpp"

namespace troupe {

// The contents of the file without a trailing line end. errc::usage, with advice, if it is not a regular file, others may
// read it, or the key is shorter than limits::key_bytes_min or longer than limits::key_bytes_max.
result<std::string> read_key_file(const std::string& path);

} // namespace troupe
