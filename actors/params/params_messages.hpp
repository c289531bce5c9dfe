// The messages of parameter servers, for the nodes that have its actors.
#pragma once

#include "actors/runtime/message_types.hpp"
#include "schemas/params.capnp.h"

namespace troupe {

using params_messages =
    message_list<proto::JoinServer, proto::ServerJoined, proto::KeepShard, proto::EnterEpoch,
                 proto::Offer, proto::Fetched, proto::Push, proto::Pull, proto::Pulled,
                 proto::PullAgain, proto::FinishEpoch, proto::EpochFinished, proto::WorkerDone,
                 proto::WorkerDoneTaken, proto::Refresh, proto::ReadShard, proto::ShardRead,
                 proto::WorkerLost, proto::WorkerJoined, proto::WorkerExpected, proto::ShardOptions,
                 proto::CacheOptions>;

} // namespace troupe
