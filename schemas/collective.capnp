@0xc8f0b1d24e6a7301;
# All-reduce: the replicas of a stage sum what each of them has, gradients or weights.
#
#   stage --JoinReduction--> its reducer          once
#   stage --Reduce--> its reducer                 its reducer --Reduced--> stage
#   reducer <--ReduceChunk--> reducers of the other replicas
#
# Everything is told from the sender's side. A stage with parameters of which there are several replicas has a reducer
# beside it, on the same node and device. Which rank sends which segments to which rank in which round is computed by every
# reducer for itself (actors/collective/all_reduce.hpp); so a chunk needs no answer, and one that fits no round ends its
# receiver and the run: summing the wrong numbers would silently compute nonsense.
#
# Ids: `reduction` counts from 0 over the run, the same on all ranks; a reducer works on one at a time, and its peers may be
# at most one ahead of it. It dies at a rank with Reduced. `round` counts within a reduction.

using Cxx = import "/capnp/c++.capnp";
using Training = import "training.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct JoinReduction $nodeLocal {
  # Stage to its reducer, before it tells the trainer that it is ready: your peers. Not answered.
  rank @0 :UInt32;              # of the receiver, which is the stage's replica
  members @1 :List(Training.ActorAddress);  # reducers by rank
}

struct Reduce $nodeLocal {
  # Stage to its reducer, one at a time. Answered by Reduced; until then nobody writes what is attached.
  reduction @0 :UInt64;
  scale @1 :Float32 = 1;        # what the sum is multiplied with
}                               # attachments: float32 tensors, of the same shapes on all ranks and in all reductions of a
                                # run; none: this rank has zeros to add

struct Reduced $nodeLocal {
  # Reducer to its stage, the answer to Reduce.
  reduction @0 :UInt64;
}                               # attachments: the sums; nobody else holds their memory

struct ReduceChunk {
  # Reducer to a reducer of another replica, as the rounds of the algorithm say.
  reduction @0 :UInt64;
  round @1 :UInt32;
}                               # attachments: the round's segments in their order, float32, without those that are empty

# ---- device work ----

# What a reducer's device does for its stage stands in its node's trace (trace.capnp, compute) under this name, with the
# minibatch: puts the elements in a row, adds what arrives in a round, scales the sum.

const sumWork :Text = "sum";
