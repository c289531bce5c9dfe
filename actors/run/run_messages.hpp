// The messages of runs, of every kind of job, for the nodes that have its actors.
#pragma once

#include "actors/runtime/message_types.hpp"
#include "schemas/run.capnp.h"

namespace troupe {

using run_messages =
    message_list<proto::Spawn, proto::Spawned, proto::SpawnFailed, proto::EndActors, proto::Release,
                 proto::AreYouThere, proto::HereIAm, proto::QuestionDue, proto::RunStarted,
                 proto::RunProgress, proto::RunMilestone, proto::RunNote, proto::RunFinished,
                 proto::StopRun>;

} // namespace troupe
