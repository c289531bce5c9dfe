// The cluster's key from its file.
#pragma once

#include <string>

#include "schemas/base/error.hpp"
#include "transport/handshake/key_file.hpp"

namespace troupe::cli {

// Empty without a file, which only nodes on loopback addresses accept.
inline result<std::string> cluster_key(const std::string& file) {
    if (file.empty())
        return std::string{};
    return read_key_file(file);
}

} // namespace troupe::cli
