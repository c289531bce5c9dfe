@0xc8f0b1d24e6a7301;
# All-reduce: the replicas of a stage sum their gradients or weights.
#
#   stage --JoinReduction--> its reducer          once
#   stage --Reduce--> its reducer                 its reducer --Reduced--> stage        gradients
#   stage --Exchange--> its reducer               its reducer --Exchanged--> stage      weights: local SGD (peers.capnp)
#   reducer <--ReduceChunk--> reducers of the other replicas
#
# All messages are described from the sender's side. Each replica of a stage that has parameters and several replicas has a
# reducer, colocated on the same node and device. Every reducer computes for itself which rank sends which segments to which
# rank in which round (actors/collective/all_reduce.hpp); so a chunk needs no answer, and one that fits no round ends its
# receiver and the run: summing the wrong numbers would silently compute nonsense.
#
# The data is cut into slices, each of which passes through all rounds independently; a rank starts with slice 0, which holds
# the last elements, and has several slices in progress. The order of all collectives is therefore the same on all ranks,
# whichever data is ready first.
#
# Gradients that a codec sends as products of thin matrices P and Q are summed like any others: all P in the first slices,
# all Q in the slices after them, which start once the sums of P are available.
#
# Other gradients are compressed by the stage, on its device, while the backward pass runs, or at its end if the codec needs
# the norm of all gradients. Sparse payloads, of indices and values, are summed en route in one slice, again by rounds that
# every rank computes for itself (actors/collective/sparse_reduce.hpp). If the codec rounds values (`values:`), partial sums
# are float32; a finished sum is rounded once, by the rank that completed it, which adds the rounding error to its next sum.
# Payloads of bf16 and f16 are summed like uncompressed gradients, but in 16 bits, with more than two ranks or if the app
# file names the algorithm. All others, and sparse ones if that is faster, are gathered: every rank sends them to all others
# as they become ready, independently of the others, and every rank decodes and sums them in rank order; uncompressed tensors
# are summed alongside, in the first slices, as without a codec. Sufficient factors, which linear layers produce in place of
# a gradient, are gathered, too.
#
# With many ranks gathering would send more than no codec. Payloads that can be split (of int8, one_bit, threshold, tern_grad
# and qsgd) are then reduced by blocks: each tensor is split into one block per rank, which owns it. A rank sends every owner
# the payloads of its blocks as they become ready; an owner sums each of its blocks in rank order once it has them from all
# ranks, encodes the sum again, and sends it to all. The owner adds the encoding error to the block's next sum if the codec
# has error feedback; for stochastic codecs it draws as a sender of its own. Sums of tern_grad have seven levels and are not
# clipped; sums of threshold have one word for every threshold that they count, or are float32 numbers if that is smaller.
# All ranks, the owner included, use the decoded values of the encoded sums. Every rank computes the owners for itself
# (actors/collective/block_layout.hpp).
#
# All ranks select the same one of these methods (actors/collective/compressed_sum.hpp).
#
# Ids: `reduction` counts from 0 over the run, the same on all ranks; a reducer works on one at a time, and the others may
# be at most one ahead of it. It ends at a rank with Reduced. An Exchange counts as a reduction, too. `slice` counts within a
# reduction, `round` within a slice.

using Cxx = import "/capnp/c++.capnp";
using Pipeline = import "pipeline.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ReducerOptions {
  # Options of role "reducer" (run.capnp), on the stage's device: sums this replica's gradients, or with local SGD its
  # weights.
  part @0 :Pipeline.ModelPart;
}

struct JoinReduction $nodeLocal {
  # Stage to its reducer, before it reports to the trainer that it is ready: the addresses of all ranks. Not answered.
  rank @0 :UInt32;              # the receiver's rank, which is the stage's replica number
  members @1 :List(Run.ActorAddress);  # reducers by rank
}

struct Reduce $nodeLocal {
  # Stage to its reducer, one reduction at a time. Answered by Reduced; the attached tensors are no longer written by anyone.
  # Tensors that are ready later may follow in further messages of the same reduction, from the last tensors to the first.
  reduction @0 :UInt64;
  scale @1 :Float32 = 1;        # factor applied to the sum; the value in a reduction's first message counts
  first @2 :UInt32;             # number of the first attached tensor
}                               # attachments: float32 tensors, which over all of a reduction's messages have the same shapes
                                # on all ranks and in all reductions of a run, or their payloads with a codec; none at all:
                                # this rank contributes zeros

struct GradientsReady $nodeLocal {
  # Stage to itself, from its device's thread during a backward pass: gradients with which its reducer can start. Not
  # answered.
  first @0 :UInt32;             # number of the first parameter
}                               # attachments: gradients of consecutive parameters, or their payloads; the last parameters
                                # come first

struct Reduced $nodeLocal {
  # Reducer to its stage, the answer to Reduce.
  reduction @0 :UInt64;
}                               # attachments: the sums, which are no longer written by anyone; others may still read them

struct ReduceChunk {
  # Reducer to a reducer of another replica, as the rounds of the algorithm prescribe, or when gathered data is ready. Of
  # uncompressed data the frame names a place of the receiver (transport/frame/wire.md): reduction, slice and round in 16, 24
  # and 24 bits, the first in the highest. A finished sum that its receiver does not find in the place that it has set aside
  # ends the receiver.
  reduction @0 :UInt64;
  round @1 :UInt32;
  slice @2 :UInt32;
}                               # attachments: the elements of the round's segments of this slice in a row, float32; if there
                                # are none, no message is sent. For bf16 and f16, unless gathered: uint8, two bytes per
                                # element, except averages. Other compressed data, except P and Q:
                                #   sparse: two rows for each of the round's segments, first that of the averages and of
                                #           gradients sent uncompressed, then that of all others; each is float32 with all
                                #           its elements, or a sparse payload (kernels/ops/sparse.hpp). With rounded values
                                #           the second row of a finished sum is uint8: all elements in the codec's form, or a
                                #           payload that takes fewer bytes (kernels/codec/sparse_values.hpp)
                                #   gathered: in round 0, the payloads of consecutive tensors; `slice` is the number of
                                #           slices of the uncompressed data plus the number of the first of these tensors
                                #           among the compressed ones; the last tensors come first; none: this rank
                                #           contributes zeros
                                #   by blocks: numbered like gathered payloads, but for the receiver's blocks in round 0,
                                #           payloads or none, and for the sender's in round 1, encoded sums, which belong to
                                #           this reduction; if there are no blocks, no message is sent

# ---- work ----

# Trace label (trace.capnp, compute) of a reducer's computation, recorded with the minibatch: accepting the data of a round
# of a slice, by adding it or by storing it.

const sumWork :Text = "sum";

# Trace label of a reducer's computation of P and Q, or of the sums of its own blocks, with compressed gradients; decoding
# and summing received payloads is recorded as sumWork, too. Compression in a stage is part of its backward pass.

const encodeWork :Text = "encode";
