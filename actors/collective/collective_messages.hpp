// The messages of sums over replicas, for the nodes that have its actors.
#pragma once

#include "actors/runtime/message_types.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

using collective_messages = message_list<proto::JoinReduction, proto::Reduce, proto::GradientsReady,
                                         proto::Reduced, proto::ReduceChunk, proto::ReducerOptions>;

} // namespace troupe
