// Errors as they travel in messages: the Failure of schemas/device.capnp, and why a message was rejected.
//
// Reasons go to terminals and logs, so they are bounded and printable whatever a peer has written.
#pragma once

#include <string>

#include "schemas/base/error.hpp"
#include "schemas/device.capnp.h"
#include "schemas/envelope.capnp.h"

namespace troupe {

void write_failure(proto::Failure::Builder to, const error& why);

// A peer's sentence for people.
std::string read_reason(capnp::Text::Reader from);

// A code that this build does not know becomes errc::protocol.
error read_failure(proto::Failure::Reader from);

// Gives errc::protocol.
error read_failure(proto::Rejected::Reader from);

} // namespace troupe
