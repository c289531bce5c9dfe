// The messages of all families, for nodes of tests.
#pragma once

#include <memory>

#include "actors/runtime/message_types.hpp"

namespace troupe::test {

std::shared_ptr<const message_catalog> all_messages();

} // namespace troupe::test
