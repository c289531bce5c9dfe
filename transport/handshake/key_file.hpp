// The keys of a cluster, read from a file that only its owner can read.
//
// The file holds one key, which lets everybody in: all of its contents but a trailing line end. Or it holds keys for roles,
// each on a line of its own: "member KEY" lets in nodes, "run KEY" runs, "observe KEY" those who only look. Empty lines mean
// nothing, and KEY has no spaces.
//
// Threads: any.
#pragma once

#include <string>

#include "schemas/base/error.hpp"
#include "transport/handshake/cluster_keys.hpp"

namespace troupe {

// errc::usage, with advice, if it is not a regular file, if others may read it, or if a line is wrong: no role, a key
// shorter than limits::key_bytes_min or longer than limits::key_bytes_max, a key that the file has twice, more than
// cluster_keys::number_max of them. errc::io. No sentence quotes a key.
result<cluster_keys> read_key_file(const std::string& path);

} // namespace troupe
