@0xb1e7295fd04c3a61;
# Peers: the replicas of a stage update independently, and from time to time combine their weights.
#
#   stage --JoinPeers--> its peer         once
#   stage --Exchange--> its peer          its peer --Exchanged--> stage       after every so many updates
#   stage --ReadCommon--> its peer        its peer --Common--> stage          between two epochs
#   peer --Meet--> another peer           the other --Met--> peer             elastic averaging, gossip
#   peer --Scatter--> other peers                                             MALT
#   peer --Report--> the first one        the first one --Consensus--> peer   ADMM
#   peer --ReadWeights--> every peer      each --PeerWeights--> peer          gossip, MALT: for Common
#
# If replicas may be lost, another may replace a lost one between two epochs:
#
#   trainer --PeerJoined--> every peer    each --PeerExpected--> trainer
#   stage --JoinPeers, anew--> its peer   its peer --Common--> stage
#   peer --ReadWeights--> the first one   the first one --PeerWeights--> peer
#
# All messages are described from the sender's side. A stage with parameters whose replicas exchange weights has a peer,
# colocated on the same node and device, and communicates with no other; the peers of all replicas communicate with each
# other. For local SGD the stage's reducer (collective.capnp) replaces the peer: it answers Exchange with the mean of the
# weights of all replicas. The peers of Hogwild send each other nothing: they share memory.
#
# The method (topology.capnp, sync) determines how a peer processes its stage's weights, and which peers it meets when: a
# pure value in actors/peers. Weights are sent between peers as one float32 tensor: running averages, then parameters,
# concatenated.

using Cxx = import "/capnp/c++.capnp";
using Pipeline = import "pipeline.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct PeerOptions {
  # Options of role "peer" (run.capnp), on the stage's device: exchanges the weights of this replica. Peers of Hogwild on one
  # node share their weights by run and stage.
  part @0 :Pipeline.ModelPart;
}

struct JoinPeers $nodeLocal {
  # Stage to its peer, when it has its initial weights and before it reports to the trainer that it is ready. Answered by
  # Common if `anew`, otherwise not answered.
  rank @0 :UInt32;              # the receiver's rank, which is the stage's replica number
  members @1 :List(Run.ActorAddress);  # peers by rank; `anew`: zeros in place of a lost one
  anew @2 :Bool;                # the others are running, and expect the receiver: the first peer's weights replace the
                                # stage's
}                               # attachments: the stage's running averages, then its parameters

struct Exchange $nodeLocal {
  # Stage to its peer (local SGD: its reducer), one at a time. Answered by Exchanged. If the answer replaces the weights, the
  # stage waits for it; if it is added to them, the stage trains on meanwhile.
  last @0 :Bool;                # last exchange of an epoch
  rate @1 :Float32;             # the learning rate of the last update
}                               # attachments: as in JoinPeers

struct Exchanged $nodeLocal {
  # Peer to its stage, the answer to Exchange.
  factor @0 :Float32;           # 0: the attachments replace the stage's weights; otherwise they are multiplied by this and
                                # added to the weights, after the next update
}                               # attachments: as in JoinPeers

struct ReadCommon $nodeLocal {
  # Stage to its peer, between two epochs: request for the weights that all replicas have in common. Answered by Common.
}

struct Common $nodeLocal {
  # Peer to its stage, which evaluates and saves these weights, and trains on with its own; or starts with these (JoinPeers,
  # anew).
}                               # attachments: as in JoinPeers

struct Meet {
  # Peer to a peer that it meets: my weights; move towards them, and report your change. Answered by Met. Elastic averaging:
  # sent to the peer of the first replica, which keeps the centre. Gossip: sent to a randomly drawn peer; not answered if the
  # receiver has sent a Meet to the sender as well, and has the lower rank.
}                               # attachments: [0] the weights

struct Met {
  # Peer to a peer, the answer to Meet: the change by which I have moved towards you; move as much towards me.
}                               # attachments: [0] the change that was added to the sender's weights, or to the centre; none:
                                # the sender is busy

struct Scatter {
  # Peer to its neighbours in the graph, when its stage hands over its weights. Not answered. The receiver keeps the newest
  # weights of each sender until it uses them.
  stamp @0 :UInt64;             # counts the sender's Scatters
}                               # attachments: [0] the weights

struct Report {
  # Peer to the peer of the first replica, when its replica has minimised for a period. Answered by Consensus.
  last @0 :Bool;                # last report of an epoch: the others do not wait for this replica until all have sent theirs
}                               # attachments: [0] the weights plus the dual variables divided by the penalty

struct Consensus {
  # Peer of the first replica to a peer, the answer to Report, when the consensus has changed.
}                               # attachments: [0] the consensus

struct ReadWeights {
  # Peer to every peer, itself included, between two epochs; or to the first one, with whose weights it starts. Answered by
  # PeerWeights.
}

struct PeerWeights {
  # Peer to a peer, the answer to ReadWeights.
}                               # attachments: [0] the weights of its replica, or the centre or consensus that it keeps

struct PeerJoined {
  # Trainer to the remaining peers of a stage, between two epochs: from now on this peer replaces a lost one. Answered by
  # PeerExpected.
  rank @0 :UInt32;
  member @1 :Run.ActorAddress;
}

struct PeerExpected {
  # Peer to trainer, the answer to PeerJoined.
  rank @0 :UInt32;
}

# ---- device work ----

# Trace label (trace.capnp, compute) of a peer's device work, recorded with the minibatch: concatenating and moving the
# weights; also of its stage's addition of the answer.

const exchangeWork :Text = "exchange";
