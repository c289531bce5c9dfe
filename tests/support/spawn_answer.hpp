// What a test's actor answers that stands for an agent and an actor of it.
#pragma once

#include "actors/messages.hpp"
#include "schemas/run.capnp.h"

namespace troupe::test {

// The actor that is asked for is there.
inline frame_builder<proto::Spawned> spawned_at(proto::Spawn::Reader asked, actor_address where) {
    frame_builder<proto::Spawned> there;
    there.body().setRun(asked.getRun());
    there.body().setRequest(asked.getRequest());
    write_address(there.body().initAddress(), where);
    return there;
}

} // namespace troupe::test
