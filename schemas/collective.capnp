@0xc8f0b1d24e6a7301;
# All-reduce: the replicas of a stage sum what each of them has, gradients or weights.
#
#   stage --JoinReduction--> its reducer          once
#   stage --Reduce--> its reducer                 its reducer --Reduced--> stage        gradients
#   stage --Exchange--> its reducer               its reducer --Exchanged--> stage      weights: local SGD (peers.capnp)
#   reducer <--ReduceChunk--> reducers of the other replicas
#
# Everything is told from the sender's side. A stage with parameters of which there are several replicas has a reducer
# beside it, on the same node and device. Which rank sends which segments to which rank in which round is computed by every
# reducer for itself (actors/collective/all_reduce.hpp); so a chunk needs no answer, and one that fits no round ends its
# receiver and the run: summing the wrong numbers would silently compute nonsense.
#
# What is summed is cut into slices, each of which takes the rounds by itself; a rank begins slice 0 first, which has the
# last elements, and has several under way. So the order of all collectives is the same on all ranks, whatever is ready first.
#
# Gradients that a codec sends as products of thin matrices P and Q are summed as others are, all P in the first slices, all Q
# in those after them, which begin when the sums of P are there.
#
# Other gradients are compressed by the stage, on its device and while the backward pass runs, or at its end where a codec
# wants the norm of all. Payloads that are sparse, of
# indices and values, are summed on their way in one slice, by rounds that every rank computes for itself, too
# (actors/collective/sparse_reduce.hpp). Where their values are rounded (`values:` of the codec), sums on their way are
# float32; one to which nothing is added any more is rounded once, by the one rank that has made it, which adds what is lost
# to the next sum. Those of bf16 and f16 are summed as others are, but in 16 bits, with more than two
# ranks or where the app file names the algorithm. Others, and sparse ones where that is faster, are gathered: they go from every rank to
# all others as they get ready, whatever the others do, and everyone decodes and sums them in the order of the ranks; tensors
# that are not compressed are summed beside them, in the first slices, as without a codec. Sufficient factors, which linear
# layers give in place of a gradient, are gathered, too.
#
# Of many ranks that would be more than no codec sends. Payloads that can be cut (of int8, one_bit, threshold, tern_grad and
# qsgd) go by blocks then: each tensor is cut into one for each rank, which owns it. A rank gives every owner the payloads of
# its blocks as they get ready; an owner sums each of its blocks in the order of the ranks when it has it of all, encodes the
# sum again, and sends it to all. What that loses the owner adds to the block's next sum, where the codec does so; what is
# drawn by lot it draws as a sender of its own. Sums of tern_grad have seven levels and are not clipped; those of threshold have
# a word for every threshold that they count, or are float32 numbers where that is less. All ranks, the owner too, take what
# the encoded sums tell. Who owns what every rank computes for itself (actors/collective/block_layout.hpp).
#
# Which of these it is is the same on all ranks (actors/collective/compressed_exchange.hpp).
#
# Ids: `reduction` counts from 0 over the run, the same on all ranks; a reducer works on one at a time, and its peers may be
# at most one ahead of it. It dies at a rank with Reduced. An Exchange is one, too.
# `slice` counts within a reduction, `round` within a slice.

using Cxx = import "/capnp/c++.capnp";
using Pipeline = import "pipeline.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ReducerOptions {
  # Of role "reducer" (run.capnp), on the stage's device: sums gradients, or with local SGD weights, of this replica.
  part @0 :Pipeline.ModelPart;
}

struct JoinReduction $nodeLocal {
  # Stage to its reducer, before it tells the trainer that it is ready: your peers. Not answered.
  rank @0 :UInt32;              # of the receiver, which is the stage's replica
  members @1 :List(Run.ActorAddress);  # reducers by rank
}

struct Reduce $nodeLocal {
  # Stage to its reducer, one reduction at a time. Answered by Reduced; nobody writes what is attached any more. What is ready
  # later may come later, in further messages of the same reduction, from the last tensors to the first.
  reduction @0 :UInt64;
  scale @1 :Float32 = 1;        # what the sum is multiplied with; that of a reduction's first message counts
  first @2 :UInt32;             # the number of the first tensor that is attached
}                               # attachments: float32 tensors, in all of a reduction's messages together of the same shapes
                                # on all ranks and in all reductions of a run, or what a codec sends in their place; none at
                                # all: this rank has zeros to add

struct GradientsReady $nodeLocal {
  # Stage to itself, from the thread of its device while a backward pass runs: what its reducer can begin with. Not answered.
  first @0 :UInt32;             # the number of the first parameter
}                               # attachments: of parameters one after the other gradients, or what is sent in their place; the
                                # last ones come first

struct Reduced $nodeLocal {
  # Reducer to its stage, the answer to Reduce.
  reduction @0 :UInt64;
}                               # attachments: the sums, which nobody writes; peers may still read them

struct ReduceChunk {
  # Reducer to a reducer of another replica, as the rounds of the algorithm say, or when it has what is gathered.
  reduction @0 :UInt64;
  round @1 :UInt32;
  slice @2 :UInt32;
}                               # attachments: the elements of the round's segments of this slice in a row, float32; where
                                # there are none nothing is sent. Of bf16 and f16, where they are not gathered, uint8, two
                                # bytes for each, but of averages. Otherwise compressed, but for P and Q:
                                #   sparse: of each of the round's segments two rows, first that of the averages and of
                                #           gradients that are sent as they are, then that of all others; each float32
                                #           with all its elements, or a sparse payload (kernels/ops/sparse.hpp). Of rounded
                                #           values the second row of a sum to which nothing is added any more is uint8: the
                                #           numbers of all elements in the codec's form, or a payload that takes fewer
                                #           bytes than these (kernels/codec/sparse_values.hpp)
                                #   gathered: in round 0, the payloads of tensors one after the other; `slice` is the number
                                #           of slices of what is not compressed plus the number of the first of them, among
                                #           those that are; the last ones come first; none: this rank has zeros to add
                                #   by blocks: numbered as gathered ones, but for the receiver's blocks in round 0, payloads
                                #           or none, and for the sender's in round 1, encoded sums, which are of this
                                #           reduction; without blocks nothing is sent

# ---- work ----

# What a reducer computes stands in its node's trace (trace.capnp, compute) under this name, with the minibatch: takes what
# arrives in a round of a slice, by adding it or by putting it in its place.

const sumWork :Text = "sum";

# Where gradients are compressed, its device decodes and sums what has come under that name, too, and makes P and Q, or the
# sums of its own blocks, under this one. What a stage compresses is part of its backward pass.

const encodeWork :Text = "encode";
