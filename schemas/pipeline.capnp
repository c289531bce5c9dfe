@0xa4d18e5bc2703901;
# The pipeline protocol: how samples flow through the stages of a model and gradients flow back.
#
#   data source --Activation--> stage 0 --Activation--> ... --Activation--> stage S-1      (one message per microbatch)
#   data source <--Gradient---- stage 0 <--Gradient---- ... <--Gradient---- stage S-1
#   data source --Labels-------------------------------------------------> stage S-1
#
# All messages are described from the sender's side. The data source has the position of a stage -1. Messages from one actor
# to another arrive in the order in which they were sent, so a message that must come after all activations of an epoch
# simply follows them down the pipeline: EpochBegin, then Activations, then EndOfData.
#
# Ids: `minibatch` counts from 0 over the whole run and identifies a piece of work on every stage; `microbatch` counts from 0
# within its minibatch. Both end at a stage when it has sent (stage 0: received) the Gradient for them. `weightVersion`
# counts a stage's own updates; versions of different stages are unrelated even if the numbers are equal.
#
# With several replicas of the whole pipeline, the data source sends each replica minibatches of its own. Static assignment,
# if replicas wait for each other: replica r of R gets minibatches r, r + R, ... of each epoch. Dynamic assignment,
# otherwise: a replica that becomes free gets the next one. Messages stay within a replica; collective.capnp and
# params.capnp define how replicas synchronise.
#
# If stages have replicas of their own, R for stage s, minibatch m of an epoch belongs to replica m mod R, and is routed to
# the replica of the next stage that it belongs to: a stage communicates with all replicas of its neighbours. EpochBegin and
# EndOfData come from each of them; the epoch ends once all have sent EndOfData. Activations and gradients of different
# senders may overtake each other and wait for their turn. A stage's version counts its own updates within an epoch; after
# the epoch the versions of all stages have advanced by the epoch's number of minibatches.
#
# A receiver checks every id against the next one that its schedule expects. A message that does not match ends its receiver,
# which reports to the trainer (StageFailed), and so the run: training on with the wrong pairing would silently compute
# nonsense. A message from an actor not named in ConnectStage is answered by Rejected and changes nothing.

using Cxx = import "/capnp/c++.capnp";
using App = import "app.capnp";
using Topology = import "topology.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct ModelPart {
  # The common configuration of a stage and its colocated actors; part of their options. From this alone each computes how
  # gradients or weights are passed from one to the other.
  model @0 :App.Model;
  train @1 :App.Train;
  sync @2 :Topology.Sync;       # synchronisation of replicas, if there are several
  stage @3 :UInt32;
  firstLayer @4 :UInt32;
  layers @5 :UInt32;
  replica @6 :UInt32;           # of this stage: minibatch m of an epoch belongs to replica m mod replicas, except with
                                # dynamic assignment
  replicas @7 :UInt32 = 1;      # of this stage
  slowDown @8 :Float32 = 1;     # factor by which the device's work takes longer, by waiting
}

struct StageStep {
  # A step of a schedule's table (actors/pipeline/shape/schedule_table.hpp).
  kind @0 :Kind;
  microbatch @1 :UInt32;        # 0 for an update
  ahead @2 :UInt32;             # minibatches ahead of the one in hand
  behind @3 :UInt32;            # of a forward: updates that its weights are behind, at most as many as there were

  enum Kind {
    forward @0;
    backward @1;
    backwardInput @2;           # the first half of a backward pass, which gives the gradients of the inputs
    backwardWeight @3;          # the second half, which gives those of the weights
    update @4;
  }
}

struct StageSchedule {
  # The steps of one stage. Steps whose work does not exist are passed over: minibatches and microbatches beyond the last.
  warmUp @0 :List(StageStep);   # once per epoch, before the others; `ahead` counts from the epoch's first minibatch
  body @1 :List(StageStep);     # for each minibatch
  microbatches @2 :UInt32;      # of a minibatch
  previousBehind @3 :List(UInt32);  # by microbatch: `behind` of the stage before; empty at the first stage
  isSynchronous @4 :Bool;       # all stages update before any goes on
  stashesWeights @5 :Bool;      # a backward pass uses the weights of its forward pass; else the latest
  turns @6 :UInt64;             # number, within the run and the node, of a device on which several stages take turns by their
                                # steps' places; 0: this stage is alone on its device
  places @7 :List(UInt32);      # with turns: of each step of warmUp and body, the place among all steps of the device
}

struct StageOptions {
  # Options of role "stage" (run.capnp), whose asker is the stage's trainer (training.capnp).
  part @0 :ModelPart;
  stages @1 :UInt32;
  schedule @2 :StageSchedule;
  samples @3 :UInt64;           # in an epoch: the minibatches of the run follow from them and from the part's train, and the
                                # learning rate of each update from its position among them
  stageReplicas @4 :List(UInt32);  # replicas of every stage, if they differ; minibatches then have equal weights. Empty: all
                                # have the part's
  rate @5 :Topology.StageRate;  # learning rate of a stage with replicas of its own
  activations @6 :Topology.NumberForm;  # number form in which activations between stages, and their gradients, are sent
  worker @7 :UInt32;            # worker of the stage's parameter server: a replica, or with node_servers all replicas of a
                                # node
}

struct EpochBegin {
  # Data source to stage 0, each stage to the next: a new pass over the training data. Sent when the sender has finished the
  # previous pass (its pipeline is drained). Answered, through the trainer, by StageEpochDone of every stage.
  epoch @0 :UInt32;             # counts from 0
  firstMinibatch @1 :UInt64;    # the id of this epoch's first minibatch
  minibatches @2 :UInt64;       # number of minibatches of all replicas, unless EndOfData says fewer
  samplesPerMinibatch @3 :UInt32;
  samplesInLast @4 :UInt32;     # size of the epoch's last minibatch, 1..samplesPerMinibatch
  microbatches @5 :UInt32;      # microbatches per minibatch; a minibatch of fewer samples has one microbatch per sample
}

struct Activation {
  # Stage s to stage s+1, data source to stage 0. Sent once per microbatch, in order. The sender is ahead of the received
  # gradients by at most the number of microbatches that its schedule has in flight (data source: stage 0's number, plus some
  # minibatches). Answered by exactly one Gradient with the same ids; until then the sender keeps the values that its
  # backward pass needs.
  minibatch @0 :UInt64;
  microbatch @1 :UInt32;
  weightVersion @2 :UInt64 = 0xffffffffffffffff;  # version with which the sender computed this; all ones: none, it is the
                                # data source
}                               # attachments: (samples, shape...) of each value that is made before the sender's last layer
                                # ends and read after it, in the order of the model's layers: its output, and values that
                                # skip connections carry past it; from the data source the input of the first layer: float32
                                # values or int32 tokens. Between stages float32 values have the run's number form
                                # (StageOptions, activations): unencoded, or one payload per tensor, uint8, as described in
                                # kernels/ops/codecs.hpp: two bytes per number (bf16), or one, and a float32 per 512
                                # neighbours (int8)

struct Gradient {
  # Stage s+1 to stage s, stage 0 to the data source. The answer to the Activation with the same ids.
  minibatch @0 :UInt64;
  microbatch @1 :UInt32;
  weightVersion @2 :UInt64 = 0xffffffffffffffff;  # echo of the Activation's: the receiver checks that it stashed this
                                # version
}                               # attachments: gradients of the loss with respect to those of the Activation's tensors that
                                # depend on parameters, in the same order and number form; none to the data source

struct PartialNorm {
  # Stage s+1 to stage s, if gradients are clipped by their norm over all stages (app.capnp, clip; synchronous schedules
  # only), when its last backward pass of the minibatch is done. Answered by GlobalNorm, without which it does not update.
  minibatch @0 :UInt64;
  squares @1 :Float64;          # sum over the gradients of stage s+1 and all after it
}

struct GlobalNorm {
  # Stage s to stage s+1: first from stage 0, which completes the sum, then from each stage that has received it.
  minibatch @0 :UInt64;
  squares @1 :Float64;          # sum over all stages: parameter by parameter, from the model's last to its first
}

struct Labels {
  # Data source to the last stage: the targets of a microbatch. Sent just before the Activation, which takes the longer
  # route: Labels of an epoch may arrive before its EpochBegin. The receiver keeps them until the Activation arrives.
  minibatch @0 :UInt64;
  microbatch @1 :UInt32;
  counted @2 :UInt64;           # labels other than the ignored one, or samples if labels are numbers, in all minibatches of
                                # the update
}                               # attachments: [0] (samples, shape...) the loss's targets: int32 classes (one, or one per
                                # position), or float32 values

struct EndOfData {
  # Data source to stage 0, each stage to the next, after the last Activation of the epoch: no more will come. The receiver
  # finishes the microbatches in flight.
  epoch @0 :UInt32;
  minibatches @1 :UInt64;       # actual number, of all replicas; fewer than in EpochBegin when the run is being stopped
  own @2 :UInt64;               # number for the receiver's replica
}

struct EvaluationBatch {
  # Data source to stage 0, each stage to the next: samples for a forward pass with the current weights. Only while no
  # training minibatch is in flight. The answer comes from the last stage, to the EvaluationLabels.
  batch @0 :UInt64;             # counts from 0 within the evaluation
}                               # attachments: as in Activation, but never encoded, as the model alone is evaluated

struct EvaluationLabels {
  # Data source to the last stage, just before the EvaluationBatch with the same number. Answered by EvaluationTaken.
  batch @0 :UInt64;
}                               # attachments: [0] as in Labels

struct EvaluationTaken {
  # Last stage to the data source: the batch has been evaluated. Limits the number of batches in flight.
  batch @0 :UInt64;
}

struct EndOfEvaluation {
  # Data source to stage 0, each stage to the next, after the last EvaluationBatch. The last stage then sends the trainer
  # EvaluationDone.
  epoch @0 :UInt32;
  batches @1 :UInt64;
}

# ---- device work ----

# Trace labels (trace.capnp, compute) of a stage's device work, recorded with the minibatch and the weight version used. A
# forward pass follows an Activation; a backward pass follows a Gradient, on the last stage a forward pass; an update follows
# the last backward pass of a minibatch, and makes the version after the recorded one. Between these two a stage that sends
# PartialNorm sums its squares.

struct TurnCame $nodeLocal {
  # Stage to another stage on the same device, within the node: the next pass of the device is the receiver's.
}

const forwardWork :Text = "forward";
const backwardWork :Text = "backward";
const backwardInputWork :Text = "backward input";    # the first half: the gradients of the inputs
const backwardWeightWork :Text = "backward weight";  # the second half: those of the weights
const normWork :Text = "norm";
const updateWork :Text = "update";
