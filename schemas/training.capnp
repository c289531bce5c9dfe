@0x9be7d2a60f513c01;
# Training control: how a trainer connects the stages of a run, starts its epochs, and learns how they went.
#
# Actors: the trainer (in the process of `troupe run`), one profiler per node (well-known actor 5) that measures on the
# node's devices, the stages and what stands beside them, which the nodes' agents spawn, and the data source beside the
# trainer. How the trainer has actors spawned, and how they end, stands in run.capnp.
#
#   trainer --ProfileModel--> profiler     profiler --LayerTimes | ProfileFailed--> trainer   (if measured times cut the model)
#   trainer --Spawn--> agents              agents --Spawned | SpawnFailed--> trainer          (run.capnp)
#   trainer --ConnectStage--> stage        stage  --StageReady--> trainer
#   trainer --RunEpoch--> data source      every stage --StageEpochDone--> trainer   (see pipeline.capnp for between)
#   trainer --RunEvaluation--> data source last stage  --EvaluationDone--> trainer
#   trainer --TakeSnapshot--> stage        stage  --Snapshot--> trainer
#   trainer --Release--> agents            nothing: the run is over   (run.capnp)
#
# Where replicas may be lost (params.capnp): the trainer goes on without one, and between two epochs another may take its place,
# whose actors are spawned and connected as the first ones were.
#
#   trainer --EndActors--> agents          nothing: its stages end, and what stands beside them   (run.capnp)
#   trainer --ReplicaLost--> data source   data source --MinibatchesLost--> trainer
#   trainer --ReplicaJoined--> data source nothing

using Cxx = import "/capnp/c++.capnp";
using App = import "app.capnp";
using Device = import "device.capnp";
using Run = import "run.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ConnectStage {
  # Trainer to stage, once, when all actors of the run are there. A stage that is `restored` starts from the attached weights instead
  # of fresh ones: parameters in the stage's order (none for a stage without), then the optimizer's state of each, then running averages.
  # Answered by StageReady or StageFailed. The stage takes its other messages from these actors only.
  previous @0 :List(Run.ActorAddress);  # stage s-1, or the data source; where stages differ in replicas all of them, by number
  next @1 :List(Run.ActorAddress);      # stage s+1, likewise; empty for the last stage
  source @2 :Run.ActorAddress;      # the data source, which sends labels to the last stage
  restored @3 :Bool;
  weightVersion @4 :UInt64;     # of the attached weights, or of those that the peers have
  reducers @5 :List(Run.ActorAddress);  # of this stage in all replicas, in their order; empty where they reduce nothing
  shards @6 :List(Run.ActorAddress);    # of this stage's parameter server; empty where there is none
  # Of this stage in all replicas, in their order; empty where there are none. Where the stage `joins`, zeros in place of that of
  # a replica that is lost: it expects nobody, and may live for a while yet.
  peers @7 :List(Run.ActorAddress);
  joins @8 :Bool;               # in the place of a lost replica: the stage begins with what its peers have, where it has peers
  # Whether it is computed on this stage's own device, so that what goes to it stays in that device's memory.
  previousIsBeside @9 :Bool;
  nextIsBeside @10 :Bool;
  updates @11 :List(UInt64);    # restored: that the optimizer has made of each parameter so far, in the stage's order
  # What stands beside this stage on its node; actor 0 where there is none.
  reducer @12 :Run.ActorAddress;
  cache @13 :Run.ActorAddress;  # of the stage's parameter server
  shard @14 :Run.ActorAddress;  # likewise
  peer @15 :Run.ActorAddress;   # where replicas exchange weights, but not by their reducers
}

struct StageReady {
  # Stage to trainer, the answer to ConnectStage: it has its weights. The run begins when all stages have.
  stage @0 :UInt32;
  replica @1 :UInt32;
}

struct StageFailed {
  # Stage, or data source, to trainer, at any time: the sender cannot go on and has ended. The run ends, or goes on without
  # that replica.
  stage @0 :UInt32 = 0xffffffff;  # all ones: the data source
  failure @1 :Device.Failure;
  replica @3 :UInt32 = 0xffffffff;  # of the stage; all ones: the data source
  lostStage @2 :UInt32 = 0xffffffff;  # the neighbour, or the same stage of another replica, that the sender lost, while the trainer may still see it; all ones: none
  lostReplica @4 :UInt32 = 0xffffffff;  # of lostStage; all ones: none
}

struct RunEpoch {
  # Trainer to data source, when every stage has reported the epoch before.
  epoch @0 :UInt32;
  firstMinibatch @1 :UInt64;    # id of the first one to run
  skipMinibatches @2 :UInt64;   # of this epoch, already done before a resume
}

struct ReplicaLost {
  # Trainer to data source: it gets no more minibatches. Answered by MinibatchesLost.
  replica @0 :UInt32;
}

struct MinibatchesLost {
  # Data source to trainer, the answer to ReplicaLost: so many that the replica had are not trained on in this epoch.
  replica @0 :UInt32;
  minibatches @1 :UInt64;
}

struct ReplicaJoined {
  # Trainer to data source, between two epochs: another one has taken the place of a lost replica.
  replica @0 :UInt32;
  firstStage @1 :Run.ActorAddress;
  lastStage @2 :Run.ActorAddress;
}

struct RunEvaluation {
  # Trainer to data source, when every stage has reported the epoch: classify the test set. Answered, by way of the
  # pipeline of the first replica, by EvaluationDone of its last stage.
  epoch @0 :UInt32;
}

struct StopData {
  # Trainer to data source: send no further minibatch; EndOfData follows as usual, and after it the stages' StageEpochDone.
  # Not answered by itself; without meaning when no epoch is running.
}

struct MinibatchDone {
  # Last stage of a replica to trainer, after the loss of each of its minibatches.
  minibatch @0 :UInt64;
  samples @1 :UInt32;
  lossSum @2 :Float64;
  correct @3 :UInt64;
  counted @4 :UInt64;           # labels that lossSum is over: not the ignored one; of numbers samples
}

struct PoolUse {
  # What a device's memory pool has done since the start of its node.
  bytesInUsePeak @0 :UInt64;
  bytesReserved @1 :UInt64;     # held from the system: in use, or kept for reuse
  systemAllocations @2 :UInt64; # times that it took memory from the system
}

struct StageEpochDone {
  # Stage to trainer: all updates of the epoch are applied.
  epoch @0 :UInt32;
  stage @1 :UInt32;
  weightVersion @2 :UInt64;     # after the last update
  minibatches @3 :UInt64;       # in this epoch, of all replicas
  lags @4 :List(UInt64);        # lags[k]: minibatches whose update came k versions after the version they were computed with
  busyNs @5 :Int64;             # device time of the stage in this epoch
  epochNs @6 :Int64;            # from EpochBegin to here
  memory @7 :PoolUse;           # of the stage's device, also by other stages
  replica @8 :UInt32;
  dropped @9 :UInt64;           # gradients of this replica that its parameter server has dropped, as late
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
  # Stage to trainer: references to the weights between two messages. Attachments as in ConnectStage; their names follow
  # from the model.
  stage @0 :UInt32;
  weightVersion @1 :UInt64;
  updates @2 :List(UInt64);     # as in ConnectStage
}

struct ProfileModel {
  # Trainer to a node's profiler, and `troupe plan`, which has no run: measure every layer on this device. Answered by
  # LayerTimes or ProfileFailed, which also refuses a second one of a node while its first is under way. Given up when the
  # sender is gone.
  run @0 :UInt64;
  device @1 :Text;
  batch @2 :UInt32;
  model @3 :App.Model;
}

struct LayerTimes {
  # Profiler to the sender of a ProfileModel, as its answer. The trainer cuts the model by it and places the stages.
  run @0 :UInt64;
  nanoseconds @1 :List(UInt64); # forward plus backward, per layer
}

struct ProfileFailed {
  # Profiler to the sender of a ProfileModel, as its answer: it cannot be measured.
  run @0 :UInt64;
  failure @1 :Device.Failure;
}

struct StopRun $nodeLocal {
  # A person, by a signal to the process that started the run, to the trainer in it: finish what is in flight, write a
  # checkpoint, end; a second one: end at once. No other node stops a run.
}
