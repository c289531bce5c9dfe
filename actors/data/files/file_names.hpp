// Files named by a list in the app file.
#pragma once

#include <string>
#include <vector>

#include <capnp/list.h>

#include "schemas/base/error.hpp"

namespace troupe {

struct named_file {
    std::string path;
    // Key of its name in the app file: "data.text.train[0]".
    std::string key;
};

// The error with the key of the file that it is about, where the file has one.
inline error with_key(const named_file& file, const error& why) {
    return file.key.empty() ? why : why.in(file.key);
}

// The files in the order of the list; a name with *, ? or [...] expands to all files that match it, sorted by name.
// errc::io if none matches, "KEY: NAME: SENTENCE".
result<std::vector<named_file>> expand_names(capnp::List<capnp::Text>::Reader names,
                                             const std::string& key);

} // namespace troupe
