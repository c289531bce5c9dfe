// The messages of pipelines, for the nodes that have its actors.
#pragma once

#include "actors/runtime/message_types.hpp"
#include "schemas/pipeline.capnp.h"

namespace troupe {

using pipeline_messages =
    message_list<proto::EpochBegin, proto::Activation, proto::Gradient, proto::PartialNorm,
                 proto::GlobalNorm, proto::Labels, proto::EndOfData, proto::EvaluationBatch,
                 proto::EvaluationLabels, proto::EvaluationTaken, proto::EndOfEvaluation,
                 proto::StageOptions, proto::TurnCame>;

} // namespace troupe
