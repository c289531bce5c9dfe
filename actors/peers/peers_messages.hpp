// The messages of replicas that exchange weights, for the nodes that have its actors.
#pragma once

#include "actors/runtime/message_types.hpp"
#include "schemas/peers.capnp.h"

namespace troupe {

using peers_messages =
    message_list<proto::JoinPeers, proto::Exchange, proto::Exchanged, proto::ReadCommon,
                 proto::Common, proto::Meet, proto::Met, proto::Scatter, proto::Report,
                 proto::Consensus, proto::ReadWeights, proto::PeerWeights, proto::PeerJoined,
                 proto::PeerExpected, proto::PeerOptions>;

} // namespace troupe
