@0x9be7d2a60f513c01;
# Training control: how a trainer places the actors of a run, starts its epochs, and learns how they went.
#
# Actors: the trainer (in the process of `troupe run`), one agent per node (well-known actor 2) that owns the node's
# devices, the stages that agents spawn, and the data source beside the trainer.
#
#   trainer --ProfileModel--> agent        agent  --LayerTimes | PlaceFailed--> trainer   (if measured times cut the model)
#   trainer --PlaceStage--> agent          agent  --StagePlaced | PlaceFailed--> trainer
#   trainer --ConnectStage--> stage        stage  --StageReady--> trainer
#   trainer --RunEpoch--> data source      every stage --StageEpochDone--> trainer   (see pipeline.capnp for between)
#   trainer --RunEvaluation--> data source last stage  --EvaluationDone--> trainer
#   trainer --TakeSnapshot--> stage        stage  --Snapshot--> trainer
#   trainer --Release--> agent             nothing: the run is over
#
# Where replicas may be lost (params.capnp): the trainer goes on without one, and between two epochs another may take its place,
# which is placed and connected as the first ones were.
#
#   trainer --DropReplica--> agents        nothing: its stages end, and what stands beside them
#   trainer --ReplicaLost--> data source   data source --MinibatchesLost--> trainer
#   trainer --ReplicaJoined--> data source nothing
#
# A run is named by `run`, drawn at random by its trainer; it dies with the trainer. An agent watches the trainer of every
# run that it hosts and ends the run's stages when the trainer or its node is gone.

using Cxx = import "/capnp/c++.capnp";
using App = import "app.capnp";
using Topology = import "topology.capnp";
using Device = import "device.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ActorAddress { node @0 :UInt64; actor @1 :UInt64; }

struct PlaceStage {
  # Trainer to an agent: spawn this stage on one of your devices. Answered by StagePlaced or PlaceFailed. A run belongs to
  # the first trainer that names it to an agent; another one is refused, and so is the same stage of the same replica a second time.
  run @0 :UInt64;
  stage @1 :UInt32;
  stages @2 :UInt32;
  firstLayer @3 :UInt32;
  layers @4 :UInt32;
  device @5 :Text;              # "cpu:0"
  schedule @6 :Topology.PipelineSchedule;
  model @7 :App.Model;
  train @8 :App.Train;
  minibatches @9 :UInt64;       # in the whole run: the stage computes the learning rate of each update from its place there
  replica @10 :UInt32;          # of the stage: minibatch m of an epoch is that of replica m mod replicas, but where they are dealt
  replicas @11 :UInt32 = 1;
  sync @12 :Topology.Sync;      # how they agree, where there are several
  stageReplicas @14 :List(UInt32);  # of every stage, where they differ; then `replicas` is that of this stage, and its minibatches
                                # are weighed alike. Empty: all have `replicas`
  slowDown @13 :Float32 = 1;    # how many times as long the device takes for the stage's work, by waiting
  worker @15 :UInt32;           # of the stage's parameter server: a replica, or with node_servers all of a node
  workers @16 :UInt32 = 1;
  members @17 :UInt32 = 1;      # replicas that are this worker
  rate @18 :Topology.StageRate; # of a stage with replicas of its own
  activations @19 :Topology.NumberForm;  # how activations between stages, and their gradients, are sent
}                               # the sender is the stage's trainer

struct StagePlaced {
  # Agent to trainer, the answer to PlaceStage: the stage is there. It gets ConnectStage when all stages are.
  run @0 :UInt64;
  stage @1 :UInt32;
  address @2 :ActorAddress;
  replica @3 :UInt32;
  reducer @4 :ActorAddress;     # of the stage; actor 0 where its replicas reduce nothing
  shard @5 :ActorAddress;       # of the stage's parameter server; actor 0 where there is none on this node
  peer @6 :ActorAddress;        # of the stage; actor 0 where it exchanges no weights, or by its reducer
}

struct PlaceFailed {
  # Agent to the sender of a PlaceStage, or of a ProfileModel (then of stage 0), as its answer: it cannot be done, and
  # nothing has been spawned. The run ends, or goes on without a replica that was to take a lost one's place.
  run @0 :UInt64;
  stage @1 :UInt32;
  failure @2 :Device.Failure;
  replica @3 :UInt32;
}

struct ConnectStage {
  # Trainer to stage, once, when all stages are placed. A stage that is `restored` starts from the attached weights instead
  # of fresh ones: parameters in the stage's order (none for a stage without), then the optimizer's state of each, then running averages.
  # Answered by StageReady or StageFailed. The stage takes its other messages from these actors only.
  previous @0 :List(ActorAddress);  # stage s-1, or the data source; where stages differ in replicas all of them, by number
  next @1 :List(ActorAddress);      # stage s+1, likewise; empty for the last stage
  source @2 :ActorAddress;      # the data source, which sends labels to the last stage
  restored @3 :Bool;
  weightVersion @4 :UInt64;     # of the attached weights, or of those that the peers have
  reducers @5 :List(ActorAddress);  # of this stage in all replicas, in their order; empty where they reduce nothing
  shards @6 :List(ActorAddress);    # of this stage's parameter server; empty where there is none
  # Of this stage in all replicas, in their order; empty where there are none. Where the stage `joins`, zeros in place of that of
  # a replica that is lost: it expects nobody, and may live for a while yet.
  peers @7 :List(ActorAddress);
  joins @8 :Bool;               # in the place of a lost replica: the stage begins with what its peers have, where it has peers
  # Whether it is computed on this stage's own device, so that what goes to it stays in that device's memory.
  previousIsBeside @9 :Bool;
  nextIsBeside @10 :Bool;
  updates @11 :List(UInt64);    # restored: that the optimizer has made of each parameter so far, in the stage's order
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

struct DropReplica {
  # Trainer to the agents of a replica's stages, when one of them is lost and the run goes on. Not answered.
  run @0 :UInt64;
  replica @1 :UInt32;
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
  firstStage @1 :ActorAddress;
  lastStage @2 :ActorAddress;
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
  # Trainer to an agent, and `troupe plan`, which has no run: measure every layer on this device. Answered by LayerTimes or
  # PlaceFailed (stage 0), which also refuses a second one of a node while its first is under way. Given up when the sender
  # is gone.
  run @0 :UInt64;
  device @1 :Text;
  batch @2 :UInt32;
  model @3 :App.Model;
}

struct LayerTimes {
  # Agent to the sender of a ProfileModel, as its answer. The trainer cuts the model by it and places the stages.
  run @0 :UInt64;
  nanoseconds @1 :List(UInt64); # forward plus backward, per layer
}

struct Release {
  # Trainer to agent: the run is over, end its stages.
  run @0 :UInt64;
  failure @1 :Device.Failure;   # null: it is done; `cancelled`: it was stopped; else it has failed
}

struct StopRun $nodeLocal {
  # A person, by a signal to the process that started the run, to the trainer in it: finish what is in flight, write a
  # checkpoint, end; a second one: end at once. No other node stops a run.
}
