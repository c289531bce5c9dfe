@0x9d5e60b1f7c82a01;
# The inspector's protocol: observation of a running node without disturbing it.
#
# An observer (a peer that has proven a key which is for this role) queries the inspector actor of a node (well-known actor
# 3). All queries are read-only. Nothing is collected specially for an observer: the trace ring is always on, and a tail
# costs its node something only while it is open.
#
#   observer -- ListActors --> inspector -- ActorList --> observer
#   observer -- ReadTrace  --> inspector -- TraceBatch -> observer        again and again, with the cursor it was given
#   observer -- OpenTail   --> inspector -- TailOpened -> observer
#            <-- TailEvent ...          as messages match, as many as there is credit for
#            --- TailCredit ->           when it has shown them
#            --- CloseTail -->           or its connection ends
#
# Ids: a cursor belongs to one node and is valid as long as the node lives. A tail's number is chosen by the observer, unique
# among its open tails, and ends with CloseTail, with the observer, or when TailOpened reports that it was not opened.

using Cxx = import "/capnp/c++.capnp";
using Link = import "cluster.capnp".Link;
$Cxx.namespace("troupe::proto");

enum TraceKind {
  message @0;     # an actor handled a message
  compute @1;     # a device worked for an actor
}

struct TraceEvent {
  # One step of an actor or a device. Times are nanoseconds on the clock of the node that recorded it.
  kind @0 :TraceKind;
  type @1 :UInt64;            # message: type id of the body. compute: index into TraceBatch.labels
  fromNode @2 :UInt64;        # message: (fromNode, sequence) identifies it in every trace
  fromActor @3 :UInt64;
  toActor @4 :UInt64;         # actor on the recording node; compute: the actor for which the device worked
  sequence @5 :UInt64;        # compute: sequence of the message that caused the work
  cause @6 :UInt64;           # sequence of the message whose handler sent this one; 0: none
  causeNode @7 :UInt64;
  traceId @8 :UInt64;
  work @9 :UInt64 = 0xffffffffffffffff;            # as in the envelope; all ones: none
  stateVersion @10 :UInt64 = 0xffffffffffffffff;   # likewise
  bytes @11 :UInt64;          # message: words and tensors. compute: memory that the device held from the system at that time
  sentNs @12 :Int64;          # time on the clock of the sender's node
  enqueuedNs @13 :Int64;      # arrival in the mailbox; queue time is startedNs - enqueuedNs
  startedNs @14 :Int64;
  endedNs @15 :Int64;
  run @16 :UInt64;            # 0: of no run
}

# ---- actors and memory ----

struct ListActors {
  # Answered by ActorList.
}

struct ActorList {
  # Answer to ListActors: the living actors of this node, by number, and its memory pools. Counters are since the actor's
  # or the pool's start, so two lists give rates.
  node @0 :UInt64;
  nodeName @1 :Text;
  nowNs @2 :Int64;            # the node's clock
  actors @3 :List(Actor);
  struct Actor {
    number @0 :UInt64;
    name @1 :Text;            # actors of a run are called RUN/ROLE: "5c6879d3/trainer", "5c6879d3/stage-0"
    mailboxDepth @2 :UInt64;
    messagesHandled @3 :UInt64;
    handlerNs @4 :UInt64;     # time spent in handlers
    paused @5 :Bool;
    deviceNs @6 :UInt64;      # device time spent on its work
    workers @7 :List(Worker); # workers served, for example by a shard of a parameter server; by their numbers
    run @8 :UInt64;           # that it belongs to; 0: to none
    facts @9 :List(Fact);     # what it says of itself, in its own order; names are unique
    milestones @10 :List(Milestone); # the last ones of its run, if it is the run's root; the latest as the last
  }
  struct Milestone {
    number @0 :UInt32;        # counts from 0
    sinceStartNs @1 :UInt64;  # time since the run began
    numbers @2 :List(Number);
    struct Number {
      name @0 :Text;          # "objective"
      value @1 :Float64;
    }
  }
  struct Fact {
    name @0 :Text;            # "phase"
    text @1 :Text;            # "1742"; for people
  }
  struct Worker {
    worker @0 :UInt32;        # number of a replica, or with node_servers of a node
    clock @1 :UInt64;         # number of updates received from it
    late @2 :List(UInt64);    # late[k]: number of updates that were k versions late; the last entry: that many or more
    waitsFor @3 :UInt32 = 0xffffffff;  # the worker for which it waits; all ones: none
  }
  pools @4 :List(MemoryPool);
  struct MemoryPool {
    name @0 :Text;            # name of its device, "cpu:0"; "io" prepares batches and files, "network" receives messages
    bytesInUse @1 :UInt64;
    bytesInUsePeak @2 :UInt64;
    bytesReserved @3 :UInt64; # held from the system: in use, or kept for reuse
    bytesMax @4 :UInt64;      # its limit
    systemAllocations @5 :UInt64;  # number of allocations from the system; constant once a run is under way
  }
  links @5 :List(Link);       # links of this node to peers that are not observers
}

# ---- recorded events ----

struct ReadTrace {
  # Requests events, starting at a cursor. Answered by TraceBatch.
  cursor @0 :UInt64;          # 0: the oldest available event
  maxEvents @1 :UInt32 = 4096;  # maximum number of events, at most 4096
  filter @2 :Filter;          # its fields are ignored; absent: everything
}

struct TraceBatch {
  # Answer to ReadTrace. Every event is in `events`, filtered out, or counted in `lost`.
  node @0 :UInt64;
  nowNs @1 :Int64;            # the node's clock, for the alignment of several nodes
  nextCursor @2 :UInt64;      # cursor for the next ReadTrace
  lost @3 :UInt64;            # events overwritten before they were read
  events @4 :List(TraceEvent);
  labels @5 :List(Text);      # names of device work, by number
  types @6 :List(TypeName);   # names of the message types among the events
  struct TypeName {
    id @0 :UInt64;
    name @1 :Text;            # "Activation"
  }
  actors @7 :List(ActorName); # names of the receivers among the events; they may have ended since
  struct ActorName {
    number @0 :UInt64;
    name @1 :Text;            # "5c6879d3/stage-0"
  }
}

# ---- live events ----

struct Filter {
  # All conditions that are set must hold; an absent condition always holds.
  type @0 :Text;              # name of a message type
  actor @1 :Text;             # name of the receiving actor, with or without its run, or its number
  work @2 :UInt64 = 0xffffffffffffffff;  # all ones: any
  fields @3 :List(Field);     # fields of the body
  struct Field {
    path @0 :Text;            # "minibatch", "member.name"
    value @1 :Text;           # in printed form; numbers are compared as numbers
  }
  run @5 :UInt64;             # 0: any
  senders @4 :List(Sender);   # any of these; none: any sender
  struct Sender {
    node @0 :UInt64;
    actor @1 :UInt64;
  }
}

struct OpenTail {
  # Starts reporting matching messages as they are handled. Answered by TailOpened.
  tail @0 :UInt64;
  filter @1 :Filter;
  credit @2 :UInt32 = 256;    # number of events that may be sent before the next TailCredit; at most 65536
}

struct TailOpened {
  # Answer to OpenTail.
  tail @0 :UInt64;
  problem @1 :Text;           # empty, or the reason for which it was not opened: no message can match, as there is no such
                              # type or field
}

struct TailEvent {
  # Inspector to observer: one matching message that has just been handled. Uses one credit. Messages of this protocol are
  # never reported.
  tail @0 :UInt64;
  event @1 :TraceEvent;
  typeName @2 :Text;
  actorName @3 :Text;         # the receiver
  body @4 :Text;              # the fields of the body, as text; cut at 4096 bytes
  tensors @5 :Text;           # the attachments: "float32 (64, 32, 14, 14)"
  dropped @6 :UInt64;         # matching messages since the last event for which there was no credit
}

struct TailCredit {
  # Observer to inspector: grants this many further events.
  tail @0 :UInt64;
  credit @1 :UInt32;
}

struct CloseTail {
  # Ends a tail. Events may still be in transit.
  tail @0 :UInt64;
}
