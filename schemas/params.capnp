@0xd5b27c3e91f04801;
# A parameter server: its shards keep the weights of a stage that has replicas; the replicas are its workers.
#
#   stage --JoinServer--> its cache               its cache --ServerJoined--> stage         once
#   cache of worker k --KeepShard--> shard k      nothing: the shard on its node starts with these weights
#   stage --EnterEpoch--> its cache               its cache --Fetched--> stage              when an epoch begins
#   cache --Pull--> every shard                   shard --Pulled--> cache
#   stage --Offer--> its cache                    its cache --Fetched--> stage              per minibatch
#   cache --Push, Pull--> every shard             shard --Pulled--> cache
#   shard --PullAgain--> cache                    cache --Pull--> shard, or nothing         value-bounded, if others wait
#   stage --FinishEpoch--> its cache              its cache --EpochFinished--> stage        at the end of its epoch
#   cache --WorkerDone--> every shard             shard --WorkerDoneTaken--> cache          when all have ended
#   stage --Refresh--> its cache                  its cache --Fetched--> stage              between two epochs
#   cache --ReadShard--> every shard              shard --ShardRead--> cache
#   trainer --WorkerLost--> every shard           nothing: that worker is no longer waited for
#   trainer --WorkerJoined--> every shard         shard --WorkerExpected--> trainer   between two epochs: a replacement
#
# If weights are sent with reduced precision (topology.capnp, pulls), Pulled has the encoded weights, and Fetched the values
# that the cache has decoded. The shards keep float32, which ShardRead carries, and Fetched after Refresh.
#
# All messages are described from the sender's side. A stage has a colocated cache on its node; with node_servers all
# replicas of the stage on a node share one, which queries the shards once all of them have asked, and pushes the sum of
# their gradients. Shard k of the stage, if there are that many, is on the node of replica k. Within a node tensors are
# passed by reference.
#
# Ids: `worker` is the number of a cache: with node_servers that of a node, otherwise that of its replica. `clock` counts a
# worker's pushes from 0 within an epoch. A shard applies a push once, identified by (epoch, worker, clock): a repeated push
# is ignored, one out of order ends the shard and the run.

using Cxx = import "/capnp/c++.capnp";
using Pipeline = import "pipeline.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ShardOptions {
  # Options of role "shard" (run.capnp): the shard of the part's replica, on the device of its stage, or on the node's worker
  # if it has one.
  part @0 :Pipeline.ModelPart;
  samples @1 :UInt64;           # as in StageOptions
  workers @2 :UInt32 = 1;       # number of workers of the server
}

struct CacheOptions {
  # Options of role "cache" (run.capnp): the cache of the part's replica, or of several replicas of which that is the first;
  # placed like a shard.
  part @0 :Pipeline.ModelPart;
  workers @1 :UInt32 = 1;       # number of workers of the server
  members @2 :UInt32 = 1;       # number of replicas that form this worker
}

struct JoinServer $nodeLocal {
  # Stage to its cache, when it has its initial weights. Answered by ServerJoined.
  worker @0 :UInt32;
  shards @1 :List(Run.ActorAddress);
  weightVersion @2 :UInt64;
  keeps @3 :Run.ActorAddress;  # the colocated shard, which receives the stage's initial weights; actor 0: none
  updates @4 :List(UInt64);     # number of optimizer updates of each of the stage's parameters so far
}                               # attachments: the stage's parameters, then the optimizer state of each

struct ServerJoined $nodeLocal {
  # Cache to its stage: the shard on this node has its weights.
}

struct KeepShard $nodeLocal {
  # Cache to the shard on its node, once, before any push. Not answered.
  weightVersion @0 :UInt64;
  updates @1 :List(UInt64);     # as in JoinServer, of the shard's parameters
}                               # attachments: the shard's parameters, then the optimizer state of each

struct EnterEpoch $nodeLocal {
  # Stage to its cache, before it uses any weights in an epoch: other workers may have pushed after its last pull. Answered
  # by Fetched.
  epoch @0 :UInt32;
}

struct Offer $nodeLocal {
  # Stage to its cache, one at a time: a minibatch's gradients. Answered by Fetched, when the server's consistency rule
  # allows it.
  epoch @0 :UInt32;
  clock @1 :UInt64;             # clock of this gradient
  minibatch @2 :UInt64;         # determines the learning rate
  fetchesLate @3 :UInt32;       # 0: computed with the weights of the last Fetched; 1: with those of the Fetched before it;
                                # of this epoch
  push @4 :Bool = true;         # false: no gradients, only a request for weights
  fetch @5 :Bool = true;        # false: no weights are requested, and this is not answered
}                               # attachments: gradients of the stage's parameters, or their sufficient factors; none: this
                                # worker has no minibatch now

struct Fetched $nodeLocal {
  # Cache to its stage, the answer to EnterEpoch, Offer and Refresh: the stage's current weights on the shards, or their
  # rounded values as in Pulled.
  staleness @0 :UInt64;         # updates of the first shard between the weights that the gradient was computed with and the
                                # gradient's own update
  weightVersion @1 :UInt64;     # version of the first shard
  dropped @2 :UInt32;           # gradients of this worker that the first shard has dropped since the last Fetched
  updates @3 :List(UInt64);     # as in JoinServer; only after Refresh
}                               # attachments: the stage's parameters; after Refresh, then the optimizer state of each

struct Push {
  # Cache to a shard. Applied once, or dropped by the consistency rule. Not answered itself: the Pull that follows is
  # answered. One that comes before the shard has weights (KeepShard) ends the shard.
  worker @0 :UInt32;
  epoch @1 :UInt32;
  clock @2 :UInt64;
  minibatch @3 :UInt64;
  weightVersion @4 :UInt64;     # version of this shard with which the gradients were computed
}                               # attachments: for each of the shard's parameters the gradient, or with a codec its payload;
                                # none: the worker has no minibatch now

struct Pull {
  # Cache to a shard, after the Push of the previous clock, or at clock 0 when it enters the epoch, and once more after
  # PullAgain. Answered by Pulled, when the consistency rule permits the read.
  worker @0 :UInt32;
  epoch @1 :UInt32;
  clock @2 :UInt64;             # number of pushes of this worker so far
}

struct Pulled {
  # Shard to a cache, the answer to Pull.
  clock @0 :UInt64;             # echo
  weightVersion @1 :UInt64;     # version of this shard
  staleness @2 :UInt64;         # updates between the version of the worker's last push and its application
  dropped @3 :UInt32;           # pushes of this worker that were dropped since the last Pulled
}                               # attachments: the shard's parameters; with reduced precision a payload of each: uint8, as
                                # described in kernels/ops/codecs.hpp, two bytes per number (bf16), or one, and a float32 per
                                # 512 neighbours (int8). All workers get the same bits of a version.

struct PullAgain {
  # Shard to a cache that it has answered, at most once for each Pulled, with value-bounded consistency: another worker waits
  # here until this one has seen more updates. A cache that still waits for other shards drops the answer and sends its Pull
  # again; one that has all answers ignores this, as its worker computes and pulls afterwards. This prevents a deadlock in
  # which each of two workers waits at one shard for the other, which has its answer from that shard and waits at another.
  epoch @0 :UInt32;             # epoch of the Pull
  clock @1 :UInt64;
}

struct FinishEpoch $nodeLocal {
  # Stage to its cache, instead of another Offer: this worker has no more minibatches in this epoch. Answered by
  # EpochFinished.
  epoch @0 :UInt32;
}

struct EpochFinished $nodeLocal {
  # Cache to its stage, once all shards have acknowledged that, and all workers have ended the epoch.
  epoch @0 :UInt32;
  weightVersion @1 :UInt64;     # last version of the first shard in the epoch
}

struct WorkerDone {
  # Cache to a shard: this worker pushes no more in this epoch, and is no longer waited for. Answered by WorkerDoneTaken.
  worker @0 :UInt32;
  epoch @1 :UInt32;
}

struct WorkerDoneTaken {
  # Shard to every cache, once all workers have ended the epoch and all their pushes are applied.
  epoch @0 :UInt32;
  weightVersion @1 :UInt64;     # last version of the epoch
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
  updates @1 :List(UInt64);     # as in KeepShard; shards may differ in the number of updates
}                               # attachments: as in KeepShard

struct WorkerLost {
  # Trainer to every shard: this worker is lost permanently. Its pushes count, and it is no longer waited for. Not answered.
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

# Trace label (trace.capnp, compute) of a shard's device work, recorded with the minibatch and the version whose successor it
# makes: the sum of the pushes, an update by it, and the encoding of weights with reduced precision. Only the encoding of a
# shard's initial weights is recorded as collective.capnp's encodeWork.

const applyWork :Text = "apply";

# Trace label of a node's sum: with node_servers, the sum of the replicas' gradients and its encoding. With compressed
# gradients, all other encoding in a cache is recorded as collective.capnp's encodeWork.

const nodeSumWork :Text = "node sum";

# Trace label of a cache's decoding of weights with reduced precision, with the minibatch of a stage that requested them.

const decodeWork :Text = "decode";
