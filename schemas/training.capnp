@0x9be7d2a60f513c01;
# Training control: how a trainer connects the stages of a run, starts its epochs, and receives their results.
#
# Actors: the trainer (in the process of `troupe run`), one profiler per node (well-known actor 5) that measures on the
# node's devices, the stages and their colocated actors, which the nodes' agents spawn, and the data source, colocated with
# the trainer. Spawning and ending of actors is in run.capnp.
#
#   trainer --ProfileModel--> profiler     profiler --LayerTimes | ProfileFailed--> trainer   (for a cut by measured times)
#   trainer --Spawn--> agents              agents --Spawned | SpawnFailed--> trainer          (run.capnp)
#   trainer --ConnectStage--> stage        stage  --StageReady--> trainer
#   trainer --RunEpoch--> data source      every stage --StageEpochDone--> trainer   (see pipeline.capnp for between)
#   trainer --RunEvaluation--> data source last stage  --EvaluationDone--> trainer
#   trainer --TakeSnapshot--> stage        stage  --Snapshot--> trainer
#   trainer --Release--> agents            nothing: the run is over   (run.capnp)
#
# If replicas may be lost (params.capnp): the trainer continues without a lost one, and between two epochs another may
# replace it, whose actors are spawned and connected like the first ones.
#
#   trainer --EndActors--> agents          nothing: its stages and their colocated actors end   (run.capnp)
#   trainer --ReplicaLost--> data source   data source --MinibatchesLost--> trainer
#   trainer --ReplicaJoined--> data source nothing

using Cxx = import "/capnp/c++.capnp";
using App = import "app.capnp";
using Device = import "device.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ConnectStage {
  # Trainer to stage, once, when all actors of the run exist. A `restored` stage starts from the attached weights instead of
  # initial ones: parameters in the stage's order (none for a stage without), then the optimizer state of each, then running
  # averages. Answered by StageReady or StageFailed. The stage accepts its other messages from these actors only.
  previous @0 :List(Run.ActorAddress);  # stage s-1, or the data source; if stages differ in replicas all of them, by number
  next @1 :List(Run.ActorAddress);      # stage s+1, likewise; empty for the last stage
  source @2 :Run.ActorAddress;      # the data source, which sends labels to the last stage
  restored @3 :Bool;
  weightVersion @4 :UInt64;     # version of the attached weights, or of the peers' weights
  companions @5 :List(Companion);
  joins @6 :Bool;               # it replaces a lost replica: the stage starts with its peers' weights, if it has peers
  # Whether the neighbour is computed on this stage's own device, so that tensors sent to it stay in that device's memory.
  previousIsColocated @7 :Bool;
  nextIsColocated @8 :Bool;
  updates @9 :List(UInt64);     # restored: number of optimizer updates of each parameter so far, in the stage's order

  struct Companion {
    # A role of actors that connect the replicas of this stage, beside all of them or some. A stage has one entry for each
    # such role.
    role @0 :Text;              # "reducer", "peer", "shard", "cache" (actors/pipeline/shape/run_roles.hpp)
    own @1 :Run.ActorAddress;   # the actor beside this stage, on its node and of its run; actor 0: there is none
    # The role's actors beside all of this stage's replicas, by replica. Zeros in place of a lost replica's, which does not
    # expect a stage that `joins` and may still live for a while.
    all @2 :List(Run.ActorAddress);
  }
}

struct StageReady {
  # Stage to trainer, the answer to ConnectStage: it has its weights. The run begins when all stages have answered.
  stage @0 :UInt32;
  replica @1 :UInt32;
}

struct StageFailed {
  # Stage, or data source, to trainer, at any time: the sender cannot continue and has ended. The run ends, or continues
  # without that replica.
  stage @0 :UInt32 = 0xffffffff;  # all ones: the data source
  failure @1 :Device.Failure;
  replica @3 :UInt32 = 0xffffffff;  # replica of the stage; all ones: the data source
  lostStage @2 :UInt32 = 0xffffffff;  # the neighbour, or the same stage of another replica, whose loss the sender has seen,
                                # possibly before the trainer; all ones: none
  lostReplica @4 :UInt32 = 0xffffffff;  # replica of lostStage; all ones: none
}

struct RunEpoch {
  # Trainer to data source, when every stage has reported the previous epoch.
  epoch @0 :UInt32;
  firstMinibatch @1 :UInt64;    # id of the first minibatch to run
  skipMinibatches @2 :UInt64;   # number of minibatches of this epoch already done before a resume
}

struct ReplicaLost {
  # Trainer to data source: this replica gets no more minibatches. Answered by MinibatchesLost.
  replica @0 :UInt32;
}

struct MinibatchesLost {
  # Data source to trainer, the answer to ReplicaLost: number of the replica's minibatches that are not trained on in this
  # epoch.
  replica @0 :UInt32;
  minibatches @1 :UInt64;
}

struct ReplicaJoined {
  # Trainer to data source, between two epochs: another replica has replaced a lost one.
  replica @0 :UInt32;
  firstStage @1 :Run.ActorAddress;
  lastStage @2 :Run.ActorAddress;
}

struct RunEvaluation {
  # Trainer to data source, when every stage has reported the epoch: evaluate on the test set. Answered, through the pipeline
  # of the first replica, by EvaluationDone of its last stage.
  epoch @0 :UInt32;
}

struct StopData {
  # Trainer to data source: send no further minibatch; EndOfData follows as usual, and after it the stages' StageEpochDone.
  # Not answered itself; ignored when no epoch is running.
}

struct MinibatchDone {
  # Last stage of a replica to trainer, after the loss of each of its minibatches.
  minibatch @0 :UInt64;
  samples @1 :UInt32;
  lossSum @2 :Float64;
  correct @3 :UInt64;
  counted @4 :UInt64;           # number of labels in lossSum, without the ignored one; number of samples if labels are
                                # numbers
}

struct PoolUse {
  # Statistics of a device's memory pool since the start of its node.
  bytesInUsePeak @0 :UInt64;
  bytesReserved @1 :UInt64;     # held from the system: in use, or kept for reuse
  systemAllocations @2 :UInt64; # number of allocations from the system
}

struct StageEpochDone {
  # Stage to trainer: all updates of the epoch are applied.
  epoch @0 :UInt32;
  stage @1 :UInt32;
  weightVersion @2 :UInt64;     # version after the last update
  minibatches @3 :UInt64;       # number of minibatches in this epoch, of all replicas
  lags @4 :List(UInt64);        # lags[k]: number of minibatches whose update was k versions after the version they were
                                # computed with
  busyNs @5 :Int64;             # device time of the stage in this epoch
  epochNs @6 :Int64;            # from EpochBegin to this message
  memory @7 :PoolUse;           # pool of the stage's device, shared with other stages
  replica @8 :UInt32;
  dropped @9 :UInt64;           # gradients of this replica dropped by its parameter server, as late
}

struct EvaluationDone {
  epoch @0 :UInt32;
  samples @1 :UInt64;
  lossSum @2 :Float64;
  correct @3 :UInt64;
  counted @4 :UInt64;           # as in MinibatchDone
}

struct TakeSnapshot {
  # Trainer to the stages of the first replica, between two epochs. Answered by Snapshot.
}

struct Snapshot {
  # Stage to trainer: references to the weights between two messages. Attachments as in ConnectStage; their names follow from
  # the model.
  stage @0 :UInt32;
  weightVersion @1 :UInt64;
  updates @2 :List(UInt64);     # as in ConnectStage
}

struct ProfileModel {
  # Trainer to a node's profiler, and `troupe plan`, which has no run: measure every layer on this device. Answered by
  # LayerTimes or ProfileFailed, which also rejects a second request on a node while its first is in progress. Abandoned when
  # the sender is gone.
  run @0 :UInt64;
  device @1 :Text;
  batch @2 :UInt32;
  model @3 :App.Model;
}

struct LayerTimes {
  # Profiler to the sender of a ProfileModel, as its answer. The trainer uses it to cut the model and to place the stages.
  run @0 :UInt64;
  nanoseconds @1 :List(UInt64); # forward plus backward, per layer
}

struct ProfileFailed {
  # Profiler to the sender of a ProfileModel, as its answer: the measurement has failed.
  run @0 :UInt64;
  failure @1 :Device.Failure;
}

struct SaveAgain $nodeLocal {
  # Timer of the trainer: it is time to write the last checkpoint once more, which could not be written before.
}
