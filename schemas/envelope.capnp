@0xd1f3a7c95be24801;
# What every message carries. A frame is one of these plus its tensors.

using Cxx = import "/capnp/c++.capnp";
using Tensor = import "tensor.capnp";
$Cxx.namespace("troupe::proto");

struct Envelope {
  # Written by the sender's runtime when the message leaves the actor, but for minibatch, weightVersion and a new traceId,
  # which its handler sets. Nobody changes it after that.
  version @0 :UInt16 = 1;     # of this envelope; a receiver refuses what it does not know
  from :group { node @1 :UInt64; actor @2 :UInt64; }   # actor 0: sent by no actor (a node itself, a test)
  to :group { node @3 :UInt64; actor @4 :UInt64; }
  sequence @5 :UInt64;        # counts from 1 per sending node; (from.node, sequence) names this message for ever
  cause @6 :UInt64;           # sequence of the message whose handler sent this one, on the sender's node; 0: none
  causeNode @7 :UInt64;       # node that gave `cause` its number
  traceId @8 :UInt64;         # the piece of work this belongs to; inherited from the cause unless set
  minibatch @9 :UInt64 = 0xffffffffffffffff;   # the minibatch this is about; all ones: none
  weightVersion @10 :UInt64 = 0xffffffffffffffff;  # the weight version it was computed with; all ones: none
  sentNs @11 :Int64;          # the sender's clock at sending, for wire times
}

struct Frame {
  # The root of every message.
  envelope @0 :Envelope;
  bodyType @1 :UInt64;        # Cap'n Proto type id of `body`; dispatch, tracing and filters go by it
  body @2 :AnyPointer;
  tensors @3 :List(Tensor.TensorDescriptor);
}

struct Rejected {
  # Answer to a frame that its receiver could not take: unknown type, malformed, wrong ids, no such actor; or, by the
  # node of its sender, that is too large to be sent. Sent at most once per frame, never in answer to a Rejected.
  sequence @0 :UInt64;        # of the frame that is refused
  bodyType @1 :UInt64;        # its type, 0 if unreadable
  reason @2 :Text;            # one sentence for the log
  gone @3 :Bool;              # its receiver has ended, or never was: Down says so too, with the cause, to whoever watches it
}
