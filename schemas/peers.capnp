@0xb1e7295fd04c3a61;
# Peers: the replicas of a stage update on their own, and now and then bring their weights together.
#
#   stage --JoinPeers--> its peer         once
#   stage --Exchange--> its peer          its peer --Exchanged--> stage       after every so many updates
#   stage --ReadCommon--> its peer        its peer --Common--> stage          between two epochs
#   peer --Meet--> another peer           the other --Met--> peer             elastic averaging, gossip
#   peer --Scatter--> other peers                                             MALT
#   peer --Report--> the first one        the first one --Consensus--> peer   ADMM
#   peer --ReadWeights--> every peer      each --PeerWeights--> peer          gossip, MALT: for Common
#
# Where replicas may be lost, another may take a lost one's place between two epochs:
#
#   trainer --PeerJoined--> every peer    each --PeerExpected--> trainer
#   stage --JoinPeers, anew--> its peer   its peer --Common--> stage
#   peer --ReadWeights--> the first one   the first one --PeerWeights--> peer
#
# Everything is told from the sender's side. A stage with parameters whose replicas exchange weights has a peer beside it,
# on the same node and device, and speaks with no other; the peers of all replicas speak with each other. For local SGD the
# stage's reducer (collective.capnp) takes the peer's place: it answers Exchange by the mean of what all replicas handed it.
# The peers of Hogwild send each other nothing: they share memory.
#
# What a peer does with what it is handed, and whom it meets when, is the method's (topology.capnp, sync): a pure value in
# actors/peers. Weights between peers are one float32 tensor: running averages and then parameters, all in a row.

using Cxx = import "/capnp/c++.capnp";
using Pipeline = import "pipeline.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct PeerOptions {
  # Of role "peer" (run.capnp), on the stage's device: exchanges the weights of this replica. Those of Hogwild on one node
  # share them by run and stage.
  part @0 :Pipeline.ModelPart;
}

struct JoinPeers $nodeLocal {
  # Stage to its peer, when it has its first weights and before it tells the trainer that it is ready. Answered by Common if
  # `anew`, else not.
  rank @0 :UInt32;              # of the receiver, which is the stage's replica
  members @1 :List(Run.ActorAddress);  # peers by rank; `anew`: zeros in place of one that is lost
  anew @2 :Bool;                # the others are at work, and expect the receiver: what the first one has takes the place of
                                # the stage's weights
}                               # attachments: the stage's running averages, then its parameters

struct Exchange $nodeLocal {
  # Stage to its peer (local SGD: its reducer), one at a time. Answered by Exchanged. Where the answer takes the place of the
  # weights the stage waits for it; where it is added to them the stage trains on meanwhile.
  last @0 :Bool;                # of an epoch
  rate @1 :Float32;             # the learning rate of the last update
}                               # attachments: as of JoinPeers

struct Exchanged $nodeLocal {
  # Peer to its stage, the answer to Exchange.
  factor @0 :Float32;           # 0: the attached take the place of the stage's weights; else so many times they are added
                                # to them, after the next update
}                               # attachments: as of JoinPeers

struct ReadCommon $nodeLocal {
  # Stage to its peer, between two epochs: what do all replicas together have? Answered by Common.
}

struct Common $nodeLocal {
  # Peer to its stage, which evaluates and saves these, and trains on with its own; or begins with these (JoinPeers, anew).
}                               # attachments: as of JoinPeers

struct Meet {
  # Peer to one that it meets: here are my weights; move towards them, and tell me by how much. Answered by Met. Elastic
  # averaging: to the peer of the first replica, which keeps the centre. Gossip: to one drawn by lot; not answered where the
  # receiver has sent the sender the same, and has the lower rank.
}                               # attachments: [0] the weights

struct Met {
  # Peer to a peer, the answer to Meet: by so much I have moved towards you; move as much towards me.
}                               # attachments: [0] what was added to the sender's weights, or the centre; none: it is busy

struct Scatter {
  # Peer to those that the graph says, when its stage hands over its weights. Not answered. The receiver keeps the newest of
  # each sender until it uses it.
  stamp @0 :UInt64;             # counts the sender's
}                               # attachments: [0] the weights

struct Report {
  # Peer to that of the first replica, when its replica has minimised for a while. Answered by Consensus.
  last @0 :Bool;                # of an epoch: this replica holds up nobody until all have sent theirs
}                               # attachments: [0] the weights plus the dual variables divided by the penalty

struct Consensus {
  # Peer of the first replica to a peer, the answer to Report, when the common weights have changed.
}                               # attachments: [0] the common weights

struct ReadWeights {
  # Peer to every peer, itself too, between two epochs; or to the first one, by whose weights it begins. Answered by
  # PeerWeights.
}

struct PeerWeights {
  # Peer to a peer, the answer to ReadWeights.
}                               # attachments: [0] the weights of its replica, or the centre or common weights that it keeps

struct PeerJoined {
  # Trainer to the peers of a stage that live, between two epochs: from now on this one has the place of a lost one. Answered
  # by PeerExpected.
  rank @0 :UInt32;
  member @1 :Run.ActorAddress;
}

struct PeerExpected {
  # Peer to trainer, the answer to PeerJoined.
  rank @0 :UInt32;
}

# ---- device work ----

# What a peer's device does stands in its node's trace (trace.capnp, compute) under this name, with the minibatch: puts the
# weights in a row, moves them; and that its stage adds what came back.

const exchangeWork :Text = "exchange";
