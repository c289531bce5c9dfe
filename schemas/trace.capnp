@0x9d5e60b1f7c82a01;
# The inspector's protocol: looking at a running node without disturbing it.
#
# An observer (a peer that proved the key and said so) asks the inspector actor of a node (well-known actor 3). All of it
# is read-only. Nothing is collected for an observer before it asks: the trace ring is always on, and a tail costs its
# node something only while it is open.
#
#   observer -- ListActors --> inspector -- ActorList --> observer
#   observer -- ReadTrace  --> inspector -- TraceBatch -> observer        again and again, with the cursor it was given
#   observer -- OpenTail   --> inspector -- TailOpened -> observer
#            <-- TailEvent ...          as messages match, as many as there is credit for
#            --- TailCredit ->           when it has shown them
#            --- CloseTail -->           or its connection ends
#
# Ids: a cursor belongs to one node and lives as long as that. A tail's number is chosen by the observer, unique among
# its open tails, and dies with CloseTail, with the observer, or when TailOpened says that it was not opened.

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
  fromNode @2 :UInt64;        # message: (fromNode, sequence) names it in every trace
  fromActor @3 :UInt64;
  toActor @4 :UInt64;         # on the recording node; compute: the actor that the device worked for
  sequence @5 :UInt64;        # compute: of the message that caused the work
  cause @6 :UInt64;           # sequence of the message whose handler sent this one; 0: none
  causeNode @7 :UInt64;
  traceId @8 :UInt64;
  minibatch @9 :UInt64 = 0xffffffffffffffff;       # all ones: none
  weightVersion @10 :UInt64 = 0xffffffffffffffff;  # all ones: none
  bytes @11 :UInt64;          # message: words and tensors. compute: memory that the device held from the system then
  sentNs @12 :Int64;          # on the clock of the sender's node
  enqueuedNs @13 :Int64;      # arrived in the mailbox; queue time is startedNs - enqueuedNs
  startedNs @14 :Int64;
  endedNs @15 :Int64;
}

# ---- who is there ----

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
    name @1 :Text;            # those of a run are "trainer", "data-source" and "stage-0", "stage-1"...
    mailboxDepth @2 :UInt64;
    messagesHandled @3 :UInt64;
    handlerNs @4 :UInt64;     # time spent in handlers
    paused @5 :Bool;
    deviceNs @6 :UInt64;      # time that devices worked for it
    workers @7 :List(Worker); # that it serves, as a shard of a parameter server does; by their numbers
  }
  struct Worker {
    worker @0 :UInt32;        # a replica's number
    clock @1 :UInt64;         # updates that it has brought
    late @2 :List(UInt64);    # how many of them were 0, 1, ... versions late; the last: so many or more
    waitsFor @3 :UInt32 = 0xffffffff;  # the worker that holds it up; all ones: nobody
  }
  pools @4 :List(MemoryPool);
  struct MemoryPool {
    name @0 :Text;            # of its device, "cpu:0"; "worker" prepares batches and files, "network" takes what arrives
    bytesInUse @1 :UInt64;
    bytesInUsePeak @2 :UInt64;
    bytesReserved @3 :UInt64; # held from the system: in use, or kept for reuse
    bytesMax @4 :UInt64;      # its bound
    systemAllocations @5 :UInt64;  # times that it took memory from the system; at rest once a run is under way
  }
  links @5 :List(Link);       # of this node, to peers that are no observers
}

# ---- what happened ----

struct ReadTrace {
  # Asks for events from a cursor on. Answered by TraceBatch.
  cursor @0 :UInt64;          # 0: the oldest there is
  maxEvents @1 :UInt32 = 4096;  # at most 4096 are given
  filter @2 :Filter;          # all but its fields is looked at; absent: everything
}

struct TraceBatch {
  # Answer to ReadTrace. Every event is in `events`, filtered out, or counted in `lost`.
  node @0 :UInt64;
  nowNs @1 :Int64;            # the node's clock, for the alignment of several nodes
  nextCursor @2 :UInt64;      # for the next ReadTrace
  lost @3 :UInt64;            # overwritten before they were read
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
    name @1 :Text;            # "stage-0"
  }
}

# ---- what happens ----

struct Filter {
  # All given conditions must hold; an absent one always does.
  type @0 :Text;              # name of a message type
  actor @1 :Text;             # name of the receiving actor, or its number
  minibatch @2 :UInt64 = 0xffffffffffffffff;  # all ones: any
  fields @3 :List(Field);     # of the body
  struct Field {
    path @0 :Text;            # "minibatch", "member.name"
    value @1 :Text;           # as it would be printed; numbers are compared as numbers
  }
  senders @4 :List(Sender);   # any of these; none: anybody
  struct Sender {
    node @0 :UInt64;
    actor @1 :UInt64;
  }
}

struct OpenTail {
  # Starts to report matching messages as they are handled. Answered by TailOpened.
  tail @0 :UInt64;
  filter @1 :Filter;
  credit @2 :UInt32 = 256;    # events that may be sent before the next TailCredit; at most 65536
}

struct TailOpened {
  # Answer to OpenTail.
  tail @0 :UInt64;
  problem @1 :Text;           # empty, or why it was not opened: no message can match, as there is no such type or field
}

struct TailEvent {
  # Inspector to observer: one matching message that has just been handled. Takes one credit. Messages of this protocol
  # are never reported.
  tail @0 :UInt64;
  event @1 :TraceEvent;
  typeName @2 :Text;
  actorName @3 :Text;         # the receiver
  body @4 :Text;              # the fields of the body, as text; cut at 4096 bytes
  tensors @5 :Text;           # what is attached: "float32 (64, 32, 14, 14)"
  dropped @6 :UInt64;         # matching messages since the last event that there was no credit for
}

struct TailCredit {
  # Observer to inspector: as many more may be sent.
  tail @0 :UInt64;
  credit @1 :UInt32;
}

struct CloseTail {
  # Ends a tail. Events may be on their way.
  tail @0 :UInt64;
}
