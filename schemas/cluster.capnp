@0xb3c7d2e81f604a01;
# The cluster protocol: membership, liveness, and notification when an actor or node ends.
#
# Three layers, each built on the one before:
#   peers    reports of the node's endpoint: a connection has proven the cluster's key, or has ended. Sent to local
#            actors only (Listening, PeerUp, PeerDown, ConnectFailed): marked $nodeLocal, rejected from a peer.
#   watches  notify an actor that another one has ended, on any node (Watch, Unwatch, Down).
#   members  the cluster actors of all nodes (well-known actor 1) keep one list (Join ... Goodbye) and notify subscribers
#            (Subscribe, NodeJoined, NodeLost).
#
# A node is identified by its id, which it has proven to each of its peers (schemas/handshake.capnp) and which is invalid once
# the process ends. Its name is for
# people and unique among the members. An address is the HOST:PORT on which the node listens.
#
#   newcomer                       member B (any)                 every other member C
#      |--- Join ------------------->|                                |
#      |<-- Welcome (B, C, ...) -----|                                |      or Refused, then the connection ends
#      |--- connects, Join ------------------------------------------>|
#      |<-- Welcome ---------------------------------------------------|
#      |--- Heartbeat --------------> all members, every interval, and they to it
#      |--- Goodbye ----------------> all members, when it stops in order
#
# Members that have lost each other without a Goodbye look for each other: each connects to the other's address again and
# again, and asks to join once it is connected. So those who were cut off from each other meet again, and hear from the
# Welcomes of the members that have joined meanwhile. Clients (runs) look for nobody, and nobody looks for them.

using Cxx = import "/capnp/c++.capnp";
using Work = import "device.capnp";
using Role = import "handshake.capnp".Role;
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

# ---- peers: from the runtime of a node to its own actors ----

struct Listening $nodeLocal {
  # Node runtime to subscribed local actors, once: the node has started and may connect to others.
  address @0 :Text;           # HOST:PORT on which the node listens; empty for a node without a network
}

struct PeerUp $nodeLocal {
  # Node runtime to subscribed local actors: this peer has proven the key and is reachable. Followed by exactly one PeerDown.
  node @0 :UInt64;
  name @1 :Text;
  address @2 :Text;
  role @3 :Role;
}

struct PeerDown $nodeLocal {
  # Node runtime to subscribed local actors: this peer is no longer reachable, and no further message from it follows.
  node @0 :UInt64;
  failure @1 :Work.Failure;   # reason; `cancelled`: the peer closed in an orderly way
}

struct ConnectFailed $nodeLocal {
  # Node runtime to subscribed local actors: a requested connection was not established.
  address @0 :Text;
  failure @1 :Work.Failure;   # `refused`: the other side rejected it (wrong key); `unreachable`: no answer
}

# ---- watches ----

struct Watch {
  # An actor to the watcher (well-known actor 4) of another node: notify me when your actor ends. Answered by exactly one
  # Down, immediately if there is no such actor, unless Unwatch comes first or one of the nodes is lost.
  actor @0 :UInt64;           # number on the receiving node
}

struct Unwatch {
  # Ends a Watch. A Down may already be in transit; the sender ignores it.
  actor @0 :UInt64;
}

struct Down {
  # Answer to Watch; within a node sent by the runtime itself, also for the remote actors of a lost node. The receiver
  # accepts it only for actors on the sender's node, or from its own node.
  node @0 :UInt64;            # node and number of the actor that ended
  actor @1 :UInt64;
  failure @2 :Work.Failure;   # reason; `cancelled`: it ended in an orderly way
}

# ---- members ----

struct DeviceInfo {
  # A compute device owned by one node. Actors are placed on devices.
  name @0 :Text;              # "cpu:0"; unique on its node
  memoryBytes @1 :UInt64;     # limit of its memory pool
  model @2 :Text;             # model of a GPU, "NVIDIA H200"; empty for other devices
  instructionSet @3 :Text;    # of a processor, as oneDNN names it: "AVX2", and whether bf16 has its own products; its sums
                              # differ in bits from those with another. Empty for other devices.
}

struct Member {
  node @0 :UInt64;
  name @1 :Text;
  address @2 :Text;
  role @3 :Role;              # member or client, as the sender of a Join has proven; observers do not join
  devices @4 :List(DeviceInfo);
}

struct Join {
  # Request to join, from cluster actor to cluster actor: of a newcomer to every peer that connects; of a member to one that
  # it has lost or heard of, once that is connected; and back to a member that has joined by a Join, for its Welcome. Answered
  # by Welcome or Refused. A newcomer connects to the member given to it, then to every member that a Welcome names.
  member @0 :Member;          # the sender
}

struct Welcome {
  # Answer to Join: the sender counts the newcomer as a member from now on. The newcomer has joined once it has received a
  # Welcome from every member named in any Welcome, except those lost meanwhile.
  member @0 :Member;          # the sender
  others @1 :List(Member);    # members known to the sender, besides itself and the newcomer. A member that is told of others
                              # that it does not know looks for them
}

struct Refused {
  # Answer to Join: the newcomer is not admitted (its name is in use, the cluster is full). It shows the sentence to its user
  # and leaves; one that is a member elsewhere asks again. A malformed Join is answered by Rejected.
  text @0 :Text;
}

struct Heartbeat {
  # Every member to every other member, once per interval, whatever else is sent. Not answered. A member is given up when
  # nothing has come from it for the time-out, neither a message nor a sign that one is in transit (Alive in
  # handshake.capnp): its connection is closed and NodeLost follows.
  count @0 :UInt64;           # counts from 1 per sender
}

struct HeartbeatDue $nodeLocal {
  # A cluster actor to itself, once per interval: send heartbeats, and check for members that have been silent for too long.
}

struct Goodbye {
  # A node that stops in an orderly way to every other member: do not wait for me. NodeLost follows.
}

# ---- queries and notifications ----

struct Subscribe {
  # Any actor to the cluster actor of its node or of a peer: notify me of membership changes. Answered by MemberList, then by
  # NodeJoined and NodeLost as they happen, until the subscriber ends.
}

struct ListMembers {
  # Any actor to a cluster actor. Answered by MemberList.
}

struct MemberList {
  # Answer to Subscribe and ListMembers: this node's view of the members, itself included, ordered by node id.
  members @0 :List(Member);
  links @1 :List(Link);       # links of this node to peers that are not observers
}

struct Link {
  # The transport of frames from a node to one of its peers.
  node @0 :UInt64;            # the peer
  over @1 :Text;              # for people: "shared memory", "tcp", "rdma (rc_mlx5, mlx5_0:1)"; at most
                              # limits::name_bytes_max
}

struct NodeJoined {
  # Cluster actor to subscribers: a member has joined, which may have been lost before.
  member @0 :Member;
}

struct NodeLost {
  # Cluster actor to subscribers: a member is gone. The id of one that has sent Goodbye never returns.
  node @0 :UInt64;
  name @1 :Text;
  failure @2 :Work.Failure;   # reason; `cancelled`: it sent Goodbye
}
