@0xd5b27c3e91f04801;
# A parameter server: its shards keep the weights of a stage that has replicas; the replicas are its workers.
#
#   stage --JoinServer--> its cache               its cache --ServerJoined--> stage         once
#   cache of worker k --KeepShard--> shard k      nothing: the shard of its node begins with these weights
#   stage --EnterEpoch--> its cache               its cache --Fetched--> stage              when an epoch begins
#   cache --Pull--> every shard                   shard --Pulled--> cache
#   stage --Offer--> its cache                    its cache --Fetched--> stage              per minibatch
#   cache --Push, Pull--> every shard             shard --Pulled--> cache
#   shard --PullAgain--> cache                    cache --Pull--> shard, or nothing         value-bounded, if others wait for it
#   stage --FinishEpoch--> its cache              its cache --EpochFinished--> stage        when its share of an epoch is done
#   cache --WorkerDone--> every shard             shard --WorkerDoneTaken--> cache          when all have ended it
#   stage --Refresh--> its cache                  its cache --Fetched--> stage              between two epochs
#   cache --ReadShard--> every shard              shard --ShardRead--> cache
#   trainer --WorkerLost--> every shard           nothing: nobody waits for that worker any more
#   trainer --WorkerJoined--> every shard         shard --WorkerExpected--> trainer   between two epochs: another takes its place
#
# Where weights are sent in a form of fewer bits (topology.capnp, pulls), Pulled has them so, and Fetched what the cache has
# decoded of that. The shards keep float32, which is what ShardRead has, and Fetched after Refresh.
#
# Everything is told from the sender's side. A stage has a cache beside it on its node, which with node_servers is one for all
# replicas of the stage there: it asks the shards when all of them have asked it, and pushes the sum of what they offer, and shard k of the stage, if there are
# so many, stands on the node of replica k. Tensors are handed over by reference within a node.
#
# Ids: `worker` is the number of a cache: with node_servers of a node, else its replica's. `clock` counts a worker's pushes from 0 within an epoch. A shard applies a
# push once, by (epoch, worker, clock): one that it has taken before is ignored, one out of turn ends the shard and the run.

using Cxx = import "/capnp/c++.capnp";
using Pipeline = import "pipeline.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ShardOptions {
  # Of role "shard" (run.capnp): that of the part's replica, on the device of its stage, or on the node's worker where it has one.
  part @0 :Pipeline.ModelPart;
  minibatches @1 :UInt64;       # as of StageOptions
  workers @2 :UInt32 = 1;       # of the server
}

struct CacheOptions {
  # Of role "cache" (run.capnp): that of the part's replica, or of several whose first it is; where a shard would be.
  part @0 :Pipeline.ModelPart;
  workers @1 :UInt32 = 1;       # of the server
  members @2 :UInt32 = 1;       # replicas that are this worker
}

struct JoinServer $nodeLocal {
  # Stage to its cache, when it has its first weights. Answered by ServerJoined.
  worker @0 :UInt32;
  shards @1 :List(Run.ActorAddress);
  weightVersion @2 :UInt64;
  keeps @3 :Run.ActorAddress;  # the shard beside the stage, which gets its first weights; actor 0: none
  updates @4 :List(UInt64);     # that the optimizer has made of each of the stage's parameters so far
}                               # attachments: the stage's parameters, then the optimizer's state of each

struct ServerJoined $nodeLocal {
  # Cache to its stage: the shard of this node has its weights.
}

struct KeepShard $nodeLocal {
  # Cache to the shard on its node, once, before any push. Not answered.
  weightVersion @0 :UInt64;
  updates @1 :List(UInt64);     # as in JoinServer, of the shard's parameters
}                               # attachments: the shard's parameters, then the optimizer's state of each

struct EnterEpoch $nodeLocal {
  # Stage to its cache, before it uses any weights in an epoch: others may have pushed after its last pull. Answered by
  # Fetched.
  epoch @0 :UInt32;
}

struct Offer $nodeLocal {
  # Stage to its cache, one at a time: a minibatch's gradients. Answered by Fetched, when the server's consistency allows it.
  epoch @0 :UInt32;
  clock @1 :UInt64;             # of this gradient
  minibatch @2 :UInt64;         # which the learning rate goes by
  fetchesLate @3 :UInt32;       # 0: computed with what the last Fetched brought; 1: with the one before; of this epoch
  push @4 :Bool = true;         # false: nothing is offered, weights are wanted
  fetch @5 :Bool = true;        # false: no weights are wanted, and this is not answered
}                               # attachments: gradients of the stage's parameters, or their sufficient factors; none: this
                                # worker has no minibatch now

struct Fetched $nodeLocal {
  # Cache to its stage, the answer to EnterEpoch, Offer and Refresh: the stage's weights as the shards have them now, or
  # rounded as Pulled has them.
  staleness @0 :UInt64;         # updates that the first shard made between the weights that the gradient is of and its own
  weightVersion @1 :UInt64;     # of the first shard
  dropped @2 :UInt32;           # gradients of this worker that the first shard has dropped since the last Fetched
  updates @3 :List(UInt64);     # as in JoinServer; only after Refresh
}                               # attachments: the stage's parameters; after Refresh, then the optimizer's state of each

struct Push {
  # Cache to a shard. Applied once, or dropped if the rule says so. Not answered by itself: a Pull that follows is.
  worker @0 :UInt32;
  epoch @1 :UInt32;
  clock @2 :UInt64;
  minibatch @3 :UInt64;
  weightVersion @4 :UInt64;     # of this shard, that the gradients were computed with
}                               # attachments: of each of the shard's parameters the gradient, or with a codec its payload;
                                # none: the worker has no minibatch now

struct Pull {
  # Cache to a shard, after the Push of the clock before, or at clock 0 when it enters the epoch, and once more after PullAgain.
  # Answered by Pulled, when the consistency rule lets it read.
  worker @0 :UInt32;
  epoch @1 :UInt32;
  clock @2 :UInt64;             # how many pushes of this worker went before
}

struct Pulled {
  # Shard to a cache, the answer to Pull.
  clock @0 :UInt64;             # echo
  weightVersion @1 :UInt64;     # of this shard
  staleness @2 :UInt64;         # updates between the version of the worker's last push and its own
  dropped @3 :UInt32;           # pushes of this worker that were dropped since the last Pulled
}                               # attachments: the shard's parameters; in a form of fewer bits a payload of each: uint8, as
                                # kernels/ops/codecs.hpp describes it, two bytes for each number (bf16), or one and a
                                # float32 for 512 neighbours (int8). Of one version all workers get the same bits.

struct PullAgain {
  # Shard to a cache that it has answered, at most once for each Pulled, where updates are value-bounded: another worker waits
  # here until this one has seen more. A cache that still waits for other shards drops the answer and sends its Pull again; one
  # that has all answers ignores this, as its worker computes and pulls when it has. Without it one could wait at this shard
  # for a worker that has its answer, and that one at another shard for the first.
  epoch @0 :UInt32;             # of the Pull
  clock @1 :UInt64;
}

struct FinishEpoch $nodeLocal {
  # Stage to its cache, instead of another Offer: this worker has no more minibatches in this epoch. Answered by
  # EpochFinished.
  epoch @0 :UInt32;
}

struct EpochFinished $nodeLocal {
  # Cache to its stage, when all shards have taken that, and all workers have ended the epoch.
  epoch @0 :UInt32;
  weightVersion @1 :UInt64;     # of the first shard: the epoch's last
}

struct WorkerDone {
  # Cache to a shard: this worker pushes no more in this epoch and holds up nobody. Answered by WorkerDoneTaken.
  worker @0 :UInt32;
  epoch @1 :UInt32;
}

struct WorkerDoneTaken {
  # Shard to every cache, when all workers have ended the epoch and all that they pushed is applied.
  epoch @0 :UInt32;
  weightVersion @1 :UInt64;     # the epoch's last
}

struct Refresh $nodeLocal {
  # Stage to its cache, between two epochs. Answered by Fetched.
}

struct ReadShard {
  # Cache to a shard, between two epochs. Answered by ShardRead.
}

struct ShardRead {
  # Shard to a cache.
  weightVersion @0 :UInt64;
  updates @1 :List(UInt64);     # as in KeepShard: shards need not make as many as each other
}                               # attachments: as in KeepShard

struct WorkerLost {
  # Trainer to every shard: this worker is gone for ever. What it has pushed counts, and nobody waits for it. Not answered.
  worker @0 :UInt32;
}

struct WorkerJoined {
  # Trainer to every shard, between two epochs: this worker's number belongs to another cache from now on. Answered by
  # WorkerExpected.
  worker @0 :UInt32;
}

struct WorkerExpected {
  # Shard to trainer, the answer to WorkerJoined.
  worker @0 :UInt32;
}

# ---- device work ----

# What a shard's device does stands in its node's trace (trace.capnp, compute) under this name, with the minibatch and the
# version that it makes the next one of: the sum of what was pushed, an update by it, and what is sent of it in fewer bits.
# That of a shard's first weights alone stands there as collective.capnp's encodeWork.

const applyWork :Text = "apply";

# With node_servers, the sum of what the replicas of a node have offered stands there, too, with its encoding; where gradients
# are compressed, what else a cache encodes stands there as collective.capnp's encodeWork.

const nodeSumWork :Text = "node sum";

# What a cache decodes of weights in fewer bits stands there with the minibatch of a stage that asked for them.

const decodeWork :Text = "decode";
