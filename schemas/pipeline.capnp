@0xa4d18e5bc2703901;
# The pipeline protocol: how samples flow through the stages of a model and gradients flow back.
#
#   data source --Activation--> stage 0 --Activation--> ... --Activation--> stage S-1      (one message per microbatch)
#   data source <--Gradient---- stage 0 <--Gradient---- ... <--Gradient---- stage S-1
#   data source --Labels-------------------------------------------------> stage S-1
#
# Everything is told from the sender's side. The data source stands where a stage -1 would. Messages from one actor to
# another arrive in the order in which they were sent, so a message that must come after all activations of an epoch
# simply follows them down the pipeline: EpochBegin, then Activations, then EndOfData.
#
# Ids: `minibatch` counts from 0 over the whole run and names a piece of work on every stage; `microbatch` counts from 0
# within its minibatch. Both die at a stage when it has sent (stage 0: received) the Gradient for them. `weightVersion`
# counts a stage's own updates; versions of different stages are different things with equal numbers.
#
# Of several replicas of the whole pipeline each gets minibatches of its own from the data source: where their updates go
# together, replica r of R minibatches r, r + R, ... of each epoch, else whichever comes next when the replica is free.
# Messages stay within a replica; how the replicas agree stands in collective.capnp and params.capnp.
#
# Where stages have replicas of their own, R of stage s, minibatch m of an epoch is that of replica m mod R, and goes on to
# the replica of the next stage that has it: a stage speaks with all replicas of its neighbours. EpochBegin and EndOfData
# come from each of them; the epoch has ended when they all have said so. Activations and gradients of different senders
# overtake each other and wait for their turn. A stage's version counts its own updates within an epoch; behind it the
# versions of all stages are by as many higher as the epoch had minibatches.
#
# A receiver checks every id against what its schedule expects next. A message that does not fit ends its receiver, which
# says so to the trainer (StageFailed), and so the run: training on with the wrong pairing would silently compute nonsense.
# A message from anybody but the actors named in ConnectStage is answered by Rejected and changes nothing.

using Cxx = import "/capnp/c++.capnp";
using App = import "app.capnp";
using Topology = import "topology.capnp";
$Cxx.namespace("troupe::proto");

struct ModelPart {
  # What a stage and the actors beside it must agree on; part of their options. Each computes for itself from this alone how
  # gradients or weights go from one to the other.
  model @0 :App.Model;
  train @1 :App.Train;
  sync @2 :Topology.Sync;       # how replicas agree, where there are several
  stage @3 :UInt32;
  firstLayer @4 :UInt32;
  layers @5 :UInt32;
  replica @6 :UInt32;           # of the stage: minibatch m of an epoch is that of replica m mod replicas, but where they are dealt
  replicas @7 :UInt32 = 1;      # of this stage
  slowDown @8 :Float32 = 1;     # how many times as long the device takes for their work, by waiting
}

struct StageOptions {
  # Of role "stage" (run.capnp), whose asker is the stage's trainer (training.capnp).
  part @0 :ModelPart;
  stages @1 :UInt32;
  schedule @2 :Topology.PipelineSchedule;
  minibatches @3 :UInt64;       # in the whole run: the learning rate of each update is computed from its place there
  stageReplicas @4 :List(UInt32);  # of every stage, where they differ; then minibatches are weighed alike. Empty: all have the part's
  rate @5 :Topology.StageRate;  # of a stage with replicas of its own
  activations @6 :Topology.NumberForm;  # how activations between stages, and their gradients, are sent
  worker @7 :UInt32;            # of the stage's parameter server: a replica, or with node_servers all of a node
}

struct EpochBegin {
  # Data source to stage 0, each stage to the next: a new pass over the training data. Sent when the sender has finished
  # the pass before (its pipeline is drained). Answered, by way of the trainer, by StageEpochDone of every stage.
  epoch @0 :UInt32;             # counts from 0
  firstMinibatch @1 :UInt64;    # the id of this epoch's first minibatch
  minibatches @2 :UInt64;       # how many there are, of all replicas, unless EndOfData says fewer
  samplesPerMinibatch @3 :UInt32;
  samplesInLast @4 :UInt32;     # of the epoch's last minibatch, 1..samplesPerMinibatch
  microbatches @5 :UInt32;      # per minibatch; a minibatch of fewer samples has one microbatch per sample
}

struct Activation {
  # Stage s to stage s+1, data source to stage 0. Sent once per microbatch, in order, at most as many ahead of the
  # gradients that came back as the sender's schedule has in flight (data source: stage 0's, and some minibatches more).
  # Answered by exactly one Gradient with the same ids; until then the sender keeps what its backward pass needs.
  minibatch @0 :UInt64;
  microbatch @1 :UInt32;
  weightVersion @2 :UInt64 = 0xffffffffffffffff;  # the sender computed this with; all ones: none, it is the data source
}                               # attachments: (samples, shape...) of each value that is made before the sender's last layer
                                # ends and read after it, in the order of the model's layers: its output, and what skip
                                # connections carry past it; of the data source what the first layer takes: float32
                                # values or int32 tokens. Between stages float32 values in the form of the run
                                # (training.capnp, activations): as they are, or of each tensor a payload, uint8, as
                                # kernels/ops/codecs.hpp describes it: two bytes for each number (bf16), or one and a
                                # float32 for 512 neighbours (int8)

struct Gradient {
  # Stage s+1 to stage s, stage 0 to the data source. The answer to the Activation with the same ids.
  minibatch @0 :UInt64;
  microbatch @1 :UInt32;
  weightVersion @2 :UInt64 = 0xffffffffffffffff;  # echo of the Activation's: the receiver checks that it stashed this one
}                               # attachments: gradients of the loss by those of the Activation's tensors that depend on
                                # parameters, in their order and in the form of activations; none to the data source

struct PartialNorm {
  # Stage s+1 to stage s, where gradients are clipped by their norm over all stages (app.capnp, clip; synchronous schedules
  # only), when its last backward pass of the minibatch is done. Answered by GlobalNorm, without which it does not update.
  minibatch @0 :UInt64;
  squares @1 :Float64;          # sum over the gradients of stage s+1 and all after it
}

struct GlobalNorm {
  # Stage s to stage s+1: first from stage 0, which ends the sum, then from each that was told.
  minibatch @0 :UInt64;
  squares @1 :Float64;          # sum over all stages: parameter by parameter, from the model's last to its first
}

struct Labels {
  # Data source to the last stage: what the outputs of a microbatch are compared with. Sent just before the Activation, which takes the
  # longer way: Labels of an epoch may arrive before its EpochBegin. The receiver keeps it until the Activation arrives.
  minibatch @0 :UInt64;
  microbatch @1 :UInt32;
  counted @2 :UInt64;           # labels that are not the ignored one, of numbers samples, of all minibatches of the update
}                               # attachments: [0] (samples, shape...) what the loss takes beside the outputs: int32 classes
                                # (one, or one per position), or float32 values

struct EndOfData {
  # Data source to stage 0, each stage to the next, after the last Activation of the epoch: no more will come. The
  # receiver finishes what is in flight.
  epoch @0 :UInt32;
  minibatches @1 :UInt64;       # how many there were, of all replicas; fewer than EpochBegin said when the run is being stopped
  own @2 :UInt64;               # of the receiver's replica
}

struct EvaluationBatch {
  # Data source to stage 0, each stage to the next: samples to pass forward with the weights as they are. Only while no
  # training minibatch is in flight. The answer comes from the last stage, to the EvaluationLabels.
  batch @0 :UInt64;             # counts from 0 within the evaluation
}                               # attachments: as of an Activation, but always as they are: what is evaluated is the model

struct EvaluationLabels {
  # Data source to the last stage, just before the EvaluationBatch with the same number. Answered by EvaluationTaken.
  batch @0 :UInt64;
}                               # attachments: [0] as of Labels

struct EvaluationTaken {
  # Last stage to the data source: the batch has been evaluated. Bounds what is in flight.
  batch @0 :UInt64;
}

struct EndOfEvaluation {
  # Data source to stage 0, each stage to the next, after the last EvaluationBatch. The last stage then sends the trainer
  # EvaluationDone.
  epoch @0 :UInt32;
  batches @1 :UInt64;
}

# ---- device work ----

# What a stage's device does stands in its node's trace (trace.capnp, compute) under these names, with the minibatch and
# the weight version that it used. A forward pass follows an Activation; a backward pass a Gradient, on the last stage a
# forward pass; an update the last backward pass of a minibatch, and makes the version after the one it names. Between
# these two a stage that sends PartialNorm sums its squares.

const forwardWork :Text = "forward";
const backwardWork :Text = "backward";
const normWork :Text = "norm";
const updateWork :Text = "update";
