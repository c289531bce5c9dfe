// The messages of programs of scheduled parameters, for the nodes that have its actors.
#pragma once

#include "actors/runtime/message_types.hpp"
#include "schemas/scheduled.capnp.h"

namespace troupe::scheduled {

using scheduled_messages =
    message_list<proto::SchedulerOptions, proto::ProgramWorkerOptions, proto::Piece,
                 proto::PieceTaken, proto::StartProgram, proto::ProgramReady, proto::BeginPhases,
                 proto::ReplaceWorkers, proto::WorkersReplaced, proto::PeerLost,
                 proto::LostPairsDue, proto::CommitComplete, proto::Phase, proto::Partial,
                 proto::PhasePassed, proto::BlockTurn, proto::Deltas, proto::PhasesDone,
                 proto::ProbeDone, proto::MarkPhase, proto::StateSaved, proto::ProgramEnded,
                 proto::CommitDue, proto::TimeIsUp, proto::WriteEnd>;

} // namespace troupe::scheduled
