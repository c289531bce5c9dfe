// The messages of training runs, for the nodes that have its actors.
#pragma once

#include "actors/runtime/message_types.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

using training_control_messages =
    message_list<proto::ConnectStage, proto::StageReady, proto::StageFailed, proto::RunEpoch,
                 proto::RunEvaluation, proto::StopData, proto::MinibatchDone, proto::StageEpochDone,
                 proto::EvaluationDone, proto::TakeSnapshot, proto::Snapshot, proto::ProfileModel,
                 proto::LayerTimes, proto::ProfileFailed, proto::ReplicaLost,
                 proto::MinibatchesLost, proto::ReplicaJoined, proto::SaveAgain>;

// All messages between the actors of a training run.
std::vector<message_type> training_messages();

} // namespace troupe
