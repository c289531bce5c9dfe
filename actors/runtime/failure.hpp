// Errors as they travel in messages: the Failure of schemas/device.capnp.
#pragma once

#include "schemas/base/error.hpp"
#include "schemas/device.capnp.h"

namespace troupe {

void write_failure(proto::Failure::Builder to, const error& why);

// A code that this build does not know becomes errc::protocol.
error read_failure(proto::Failure::Reader from);

} // namespace troupe
