// Whether numbers of the app file that came from another process keep the ranges of their schema. Those that a user
// writes are checked by the loader (app_file.hpp).
#pragma once

#include <capnp/dynamic.h>

#include "actors/app_file/app_kind.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// Looks at every number of `value` and of what it holds, lists left out; `members`: those of its open unions. errc::protocol
// with the key and its range, or with the name of what is no member.
result<void> check_ranges(capnp::DynamicStruct::Reader value, app_members members = {});

} // namespace troupe
