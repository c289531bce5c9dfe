@0xb7d03c6e11a94f02;
# The messages of two nodes on the first TCP connection between them, after each has proven to the other that it holds a key
# of the cluster. The proof comes first and is not in this schema, because it has fixed sizes
# (transport/handshake/handshake.md).
#
#   both               -> Hello          identity of the sender with its proof, and the transports that it supports
#   both               -> Sight          from here on both know the transport of their frames: shared memory if each sees
#                                        the other's and their UCX is of one kind there, else RDMA if both have it, else TCP
#   both               -> Worker         not over TCP: destination address of UCX for frames over that transport
#   lower node id      -> Verdict        accepted: both now report the peer up, and frames may flow
#   acceptor           -> frames         over TCP: the connector is to connect again, for frames
#   both               -> Wired          the way for frames to the receiver is there
#   either, meanwhile  -> Alive          frames to the receiver are in transit
#   closing side       -> Goodbye        the other side answers by closing, once it has all frames
#   side that gives up -> givenUp        the sender closes immediately
#
# The connection stays open: its end indicates that the peer's process has ended.
#
# On a connection for frames, after the same proof, the connector sends frames and nothing else; what follows in both
# directions are frames (transport/frame/wire.md).

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::proto");

struct Control {
  union {
    hello @0 :Hello;
    verdict @1 :Verdict;
    goodbye @2 :Goodbye;
    alive @3 :Void;           # twice a second while frames to the receiver are in transit and making progress: a large frame
                              # is not silence
    wired @4 :Void;           # once, before Goodbye: frames can reach the receiver. When the connection ends, each side
                              # releases UCX's resources for the other only if both have sent this
    givenUp @5 :Text;         # reason for which the sender ends the connection although both processes live; for people, at
                              # most limits::reason_bytes_max. The last message, sent only if that needs no waiting
    sight @6 :Sight;
    worker @7 :Worker;
    frames @8 :Data;          # 16 bytes: the token of frames from the connector to the acceptor. From the acceptor with
                              # the verdict; from the connector, on the connection for frames, as its only message
  }

  struct Goodbye {
    # The sender sends no frame after this. It concerns this connection; the Goodbye of schemas/cluster.capnp concerns a
    # member.
    frames @0 :UInt64;        # number of frames sent on this connection; the receiver waits for the last of them
  }
}

struct Hello {
  # Sent once by each side. Refused if the version is unknown, if the identity is not proven or the receiver's own, if the
  # key that was proven is not for the role, or if a text is empty, too long or not printable.
  version @0 :UInt16 = 1;     # version of frames (transport/frame/wire.md) and of everything above. The default stays at
                              # the first version for good, so that readers of every version agree about the number
  identity @1 :Data;          # public key of 32 bytes, drawn at random when the node starts, of which its id is made;
                              # invalid once its process ends
  name @2 :Text;              # for people; at most limits::name_bytes_max
  address @3 :Text;           # HOST:PORT on which the sender listens; at most limits::address_bytes_max
  role @4 :Role;              # one that the key which was proven lets in
  memory @5 :MemoryMark;      # absent: the sender uses no shared memory
  rdma @6 :Bool;              # the sender has RDMA devices that UCX can use, and may use them
  tcp @7 :Bool;               # the sender may use TCP. A receiver that may use none of the sender's transports refuses
  ucxMajor @8 :UInt16;        # version of the sender's UCX. Between two versions frames travel over TCP alone, as 1.13 and 1.22
                              # lose each other or do not connect
  ucxMinor @9 :UInt16;
  signature @10 :Data;        # 64 bytes by which the sender proves that the identity is its own, on this connection
                              # (transport/handshake/handshake.md)
  seals @11 :Bool;            # the sender would seal the frames of this pair, if they travel over TCP: it sees the receiver at
                              # an address that is no loopback one. They are sealed if one of the two would
  plain @12 :Bool;            # the sender was told to seal none. If the receiver would, both refuse, whatever frames would
                              # travel over
}

struct MemoryMark {
  # Lets the receiver find out whether it shares memory with the sender. It does if, in the receiver's /proc, this descriptor
  # of this process is anonymous memory named by the token, and the process is in the receiver's IPC and network namespaces.
  process @0 :UInt32;
  descriptor @1 :UInt32;
  token @2 :Data;             # 32 bytes, drawn at random when the sender starts
}

struct Sight {
  # Sent once by each side, as soon as it has the other's Hello.
  memory @0 :Bool;            # the sender sees the memory named in the other side's Hello, and has room for a link there
  workerKind @1 :Data;        # 32 bytes, if it has: a hash of what the addresses of two workers must have in common so that
                              # UCX connects them over shared memory. Empty: not said; the addresses are checked in any case
}

struct Worker {
  # Sent once by each side, as soon as it has the other's Sight, where frames travel over UCX.
  address @0 :Data;           # address of the UCX worker that the sender keeps for this connection; at most
                              # limits::worker_address_bytes_max
}

enum Role {
  # Purpose of a node. Must agree with troupe::peer_role.
  member @0;      # may host actors of a run
  client @1;      # a run: places actors on members, hosts its own trainer
  observer @2;    # an inspector: reads only, nothing depends on it
}

struct Verdict {
  # Sent once, by the node with the lower id, on every connection of the pair.
  union {
    accepted @0 :Void;
    duplicate @1 :Void;       # the pair is already connected; the receiver drops this connection. Accepted although the
                              # receiver has one that stands: it gives this one up (givenUp)
  }
}
