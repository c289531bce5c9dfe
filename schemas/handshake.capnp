@0xb7d03c6e11a94f02;
# What two nodes say on the TCP connection between them, once each has proven to the other that it holds the cluster's
# key. The proof itself is not a schema: it has fixed sizes and comes first (transport/handshake/handshake.md).
#
#   both               -> Hello          what the sender is, and what frames to and from it can go over
#   both               -> Sight          from here on both know the way of their frames: shared memory where each sees the
#                                        other's, else RDMA where both have it, else TCP
#   both               -> Worker         where frames of that way are to go
#   lower node id      -> Verdict        accepted: both now report the peer up, and frames may flow
#   both               -> Wired          frames have a way to the receiver
#   either, meanwhile  -> Alive          frames to the receiver are under way
#   whoever closes     -> Goodbye        the other answers by closing, once it has all frames
#   whoever gives up   -> givenUp        the sender closes at once
#
# The connection stays open: its end is the sign that the peer's process has ended.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::proto");

struct Control {
  union {
    hello @0 :Hello;
    verdict @1 :Verdict;
    goodbye @2 :Goodbye;
    alive @3 :Void;           # twice a second while frames to the receiver are under way and not stuck: a large one is not
                              # silence
    wired @4 :Void;           # once, before Goodbye: UCX has set up the way of frames to the receiver. Only where both have
                              # said so does each give back what UCX holds for the other when the connection ends
    givenUp @5 :Text;         # why the sender ends the connection though both processes live; at most
                              # limits::reason_bytes_max, for people. Last of all, if it can be sent without waiting
    sight @6 :Sight;
    worker @7 :Worker;
  }

  struct Goodbye {
    # The sender sends no frame after this. Of a connection; that of schemas/cluster.capnp is of a member.
    frames @0 :UInt64;        # how many it has sent on this connection; the receiver waits for the last of them
  }
}

struct Hello {
  # Sent once by each side. Refused where version is unknown, node is 0 or the receiver's own, or a text empty, too
  # long or not printable.
  version @0 :UInt16 = 1;     # of frames (transport/frame/wire.md) and of everything above: 4. The default is the first one
                              # for good: readers of every version then agree about the number
  node @1 :UInt64;            # drawn at random when the node starts; dies with it
  name @2 :Text;              # for people; at most limits::name_bytes_max
  address @3 :Text;           # HOST:PORT where the sender listens; at most limits::address_bytes_max
  role @4 :Role;
  memory @5 :MemoryMark;      # absent: the sender uses no shared memory
  rdma @6 :Bool;              # the sender has RDMA devices that UCX can use, and may
  tcp @7 :Bool;               # the sender may use TCP. Refused by who may use nothing that the sender may
  ucxMajor @8 :UInt16;        # the sender's UCX is of this version; refused by whose is of another, as they do not work together:
  ucxMinor @9 :UInt16;        # 1.13 and 1.22 lose each other or do not connect
}

struct MemoryMark {
  # How the receiver finds out whether it shares memory with the sender: it does if this descriptor of this process is, in the
  # receiver's /proc, unnamed memory that is called by the token, and the process is in the receiver's namespaces of IPC and
  # of the network.
  process @0 :UInt32;
  descriptor @1 :UInt32;
  token @2 :Data;             # 32 bytes, drawn at random when the sender starts
}

struct Sight {
  # Sent once by each side, as soon as it has the other's Hello.
  memory @0 :Bool;            # the sender sees the memory that the other's Hello names
}

struct Worker {
  # Sent once by each side, as soon as it has the other's Sight.
  address @0 :Data;           # of the UCX worker that the sender keeps for this connection; at most
                              # limits::worker_address_bytes_max
}

enum Role {
  # What a node is there for. Agrees with troupe::peer_role.
  member @0;      # may carry actors of a run
  client @1;      # a run: places actors on members, carries its own trainer
  observer @2;    # an inspector: reads, nothing depends on it
}

struct Verdict {
  # Sent once, by the node with the lower id, on every connection of the pair.
  union {
    accepted @0 :Void;
    duplicate @1 :Void;       # the pair has a connection already; the receiver drops this one
  }
}
