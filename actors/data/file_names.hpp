// The files that a list of names in the app file stands for.
#pragma once

#include <string>
#include <vector>

#include <capnp/list.h>

#include "schemas/base/error.hpp"

namespace troupe {

struct named_file {
    std::string path;
    std::string key; // of the app file, where its name stands: "data.text.train[0]"
};

// In the order of the list; a name with *, ? or [...] stands for all files that match it, by name. errc::io if none does,
// "KEY: NAME: SENTENCE".
result<std::vector<named_file>> expand_names(capnp::List<capnp::Text>::Reader names,
                                             const std::string& key);

} // namespace troupe
