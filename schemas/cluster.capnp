@0xb3c7d2e81f604a01;
# The cluster protocol: who is a member, who is still there, and who wants to know when something ends.
#
# Three layers, each built on the one above it:
#   peers    what the node's endpoint reports: a connection that has proven the cluster's key, or its end. Told to local
#            actors only (Listening, PeerUp, PeerDown, ConnectFailed): marked $nodeLocal, refused from a peer.
#   watches  an actor learns that another one ended, wherever it lives (Watch, Unwatch, Down).
#   members  the cluster actors of all nodes (well-known actor 1) keep one list (Join ... Goodbye) and tell subscribers
#            (Subscribe, NodeJoined, NodeLost).
#
# A node is named by its id, drawn at random when it starts; the id dies with the process. Its name is for people and
# unique among the members. An address is HOST:PORT where the node listens.
#
#   newcomer                       member B (any)                 every other member C
#      |--- Join ------------------->|                                |
#      |<-- Welcome (B, C, ...) -----|                                |      or Refused, then the connection ends
#      |--- connects, Join ------------------------------------------>|
#      |<-- Welcome ---------------------------------------------------|
#      |--- Heartbeat --------------> all members, every interval, and they to it
#      |--- Goodbye ----------------> all members, when it stops in order

using Cxx = import "/capnp/c++.capnp";
using Work = import "device.capnp";
using Role = import "handshake.capnp".Role;
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

# ---- peers: from the runtime of a node to its own actors ----

struct Listening $nodeLocal {
  # Node runtime to subscribed local actors, once: the node has started and may connect to others.
  address @0 :Text;           # HOST:PORT where it listens; empty for a node without a network
}

struct PeerUp $nodeLocal {
  # Node runtime to subscribed local actors: this peer holds the key and may be sent to. Followed by exactly one PeerDown.
  node @0 :UInt64;
  name @1 :Text;
  address @2 :Text;
  role @3 :Role;
}

struct PeerDown $nodeLocal {
  # Node runtime to subscribed local actors: nothing reaches this peer any more, nothing from it follows.
  node @0 :UInt64;
  failure @1 :Work.Failure;   # why; `cancelled`: it closed in order
}

struct ConnectFailed $nodeLocal {
  # Node runtime to subscribed local actors: a connection that was asked for did not come about.
  address @0 :Text;
  failure @1 :Work.Failure;   # `refused`: it answered and said no (wrong key); `unreachable`: nobody answers
}

# ---- watches ----

struct Watch {
  # An actor to the watcher (well-known actor 4) of another node: tell me when your actor ends. Answered by exactly one
  # Down, at once if there is no such actor, unless Unwatch comes first or one of the nodes is lost.
  actor @0 :UInt64;           # on the receiving node
}

struct Unwatch {
  # Ends a Watch. A Down may be on its way; the sender ignores it.
  actor @0 :UInt64;
}

struct Down {
  # Answer to Watch; within a node from the runtime itself, also for the remote actors of a node that is lost. The
  # receiver believes it only of actors on the sender's node or from its own.
  node @0 :UInt64;            # the actor that ended
  actor @1 :UInt64;
  failure @2 :Work.Failure;   # why; `cancelled`: it ended in order
}

# ---- members ----

struct DeviceInfo {
  # Something that computes, owned by one node. Actors are placed on devices.
  name @0 :Text;              # "cpu:0"; unique on its node
  memoryBytes @1 :UInt64;     # bound of its pool
  model @2 :Text;             # of a GPU, "NVIDIA H200"; else empty
}

struct Member {
  node @0 :UInt64;
  name @1 :Text;
  address @2 :Text;
  role @3 :Role;              # member or client; observers do not join
  devices @4 :List(DeviceInfo);
}

struct Join {
  # A cluster actor that has not joined yet to the cluster actor of every peer that comes up: here I am. Answered by
  # Welcome or Refused. A newcomer connects to the member it was told of, then to everybody whom a Welcome names.
  member @0 :Member;          # the sender
}

struct Welcome {
  # Answer to Join: the sender counts the newcomer as a member from now on. The newcomer has joined when it has had a
  # Welcome from every member that any Welcome named, except those it lost meanwhile.
  member @0 :Member;          # the sender
  others @1 :List(Member);    # whom the sender knows besides itself and the newcomer
}

struct Refused {
  # Answer to Join: the newcomer is not taken in (its name is in use, the cluster is full). It says the sentence to its
  # user and leaves. A Join that makes no sense is answered by Rejected.
  text @0 :Text;
}

struct Heartbeat {
  # Every member to every other member, once per interval, whatever else is sent. Not answered. A member from which
  # nothing at all has come for the time-out, neither a message nor a sign that one is on its way (Alive in
  # handshake.capnp), is given up: its connection is ended and NodeLost follows.
  count @0 :UInt64;           # counts from 1 per sender
}

struct HeartbeatDue $nodeLocal {
  # A cluster actor to itself, once per interval: send heartbeats, and see who has been silent for too long.
}

struct Goodbye {
  # Every other member is told by a node that stops in order: do not wait for me. NodeLost follows.
}

# ---- questions and news for everybody ----

struct Subscribe {
  # Any actor to the cluster actor of its node or a peer: tell me about members from now on. Answered by MemberList, then
  # NodeJoined and NodeLost as things happen, until the subscriber ends.
}

struct ListMembers {
  # Any actor to a cluster actor. Answered by MemberList.
}

struct MemberList {
  # Answer to Subscribe and ListMembers: what this node believes, itself included, by node id.
  members @0 :List(Member);
  links @1 :List(Link);       # of this node, to peers that are no observers
}

struct Link {
  # What frames from a node to one of its peers go over.
  node @0 :UInt64;            # the peer
  over @1 :Text;              # for people: "shared memory", "tcp", "rdma (rc_mlx5, mlx5_0:1)"; at most limits::name_bytes_max
}

struct NodeJoined {
  # Cluster actor to subscribers: a member that was not there before.
  member @0 :Member;
}

struct NodeLost {
  # Cluster actor to subscribers: a member is gone. Its id never comes back.
  node @0 :UInt64;
  name @1 :Text;
  failure @2 :Work.Failure;   # why; `cancelled`: it said Goodbye
}
