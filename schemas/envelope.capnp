@0xd1f3a7c95be24801;
# The metadata of every message. A frame is an envelope, a body and tensors.

using Cxx = import "/capnp/c++.capnp";
using Tensor = import "tensor.capnp";
$Cxx.namespace("troupe::proto");

struct Envelope {
  # Written by the sender's runtime when the message leaves the actor, except work, stateVersion and a new traceId,
  # which the actor's handler sets. Immutable after that.
  version @0 :UInt16 = 1;     # version of this envelope; a receiver rejects unknown versions
  from :group { node @1 :UInt64; actor @2 :UInt64; }   # actor 0: not sent by an actor (but by a node itself, or a test)
  to :group { node @3 :UInt64; actor @4 :UInt64; }
  sequence @5 :UInt64;        # counts from 1 per sending node; (from.node, sequence) identifies this message permanently
  cause @6 :UInt64;           # sequence of the message whose handler sent this one, on the sender's node; 0: none
  causeNode @7 :UInt64;       # the node whose sequence `cause` refers to
  traceId @8 :UInt64;         # the piece of work this message belongs to; inherited from the cause unless set
  work @9 :UInt64 = 0xffffffffffffffff;  # the piece of work this message is about: of a training run a minibatch; all ones:
                              # none
  stateVersion @10 :UInt64 = 0xffffffffffffffff;  # the version of the run's state this message was computed with: of a training
                              # run that of the weights; all ones: none
  sentNs @11 :Int64;          # the sender's clock at sending, for transmission times
  run @12 :UInt64;            # the run of the sender, or of the cause; 0: of no run
}

struct Frame {
  # The root of every message.
  envelope @0 :Envelope;
  bodyType @1 :UInt64;        # Cap'n Proto type id of `body`; used for dispatch, tracing and filters
  body @2 :AnyPointer;
  tensors @3 :List(Tensor.TensorDescriptor);
}

struct Rejected {
  # Answer to a frame that its receiver could not accept: unknown type, malformed, wrong ids, no such actor; or, sent by the
  # sender's own node, too large to be sent. At most one per frame, never in answer to a Rejected.
  sequence @0 :UInt64;        # sequence of the rejected frame
  bodyType @1 :UInt64;        # its type, 0 if unreadable
  reason @2 :Text;            # one sentence for the log
  gone @3 :Bool;              # the receiver has ended, or never existed; Down reports the same, with the cause, to every
                              # watcher
}
