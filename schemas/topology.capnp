@0xe9c2b4d6f8a01303;
# The part of the app definition (app.capnp) on distribution: placement of the model on devices, and synchronisation of
# replicas.

using Cxx = import "/capnp/c++.capnp";
using A = import "annotations.capnp";
$Cxx.namespace("troupe::proto");

struct Topology $A.doc("Distribution of the model, and number of copies.") {
  union {
    single @0 :Void $A.doc("The whole model on one device.");
    pipeline @1 :PipelineTopology $A.doc("Consecutive layers form stages, each on a device of its own.");
  }
  replicas @2 :UInt32 = 1 $A.min(1) $A.max(64)
      $A.doc("Data parallelism: number of copies of the whole, each on devices of its own. Minibatches are assigned to "
          "them in turns, or, if replicas do not wait for each other, dynamically: a free replica takes the next one.");
  sync @3 :Sync $A.doc("Synchronisation of the replicas' weights.");
  devices @4 :List(DeviceOption) $A.minItems(0) $A.maxItems(256) $A.doc("Settings of individual devices.");
}

struct DeviceOption {
  device @0 :Text $A.required $A.doc("NODE/cpu:0 or NODE/cuda:0; cpu:0 alone is on the first node.");
  slowDown @1 :Float32 = 1 $A.min(1) $A.max(100)
      $A.doc("Factor by which its work takes longer, by waiting: for tests of the effect of a straggler.");
}

# ---- synchronisation of replicas ----

struct Sync $A.doc("Exactly one way to synchronise replicas, and the compression of their gradients.") {
  union {
    allReduce @0 :AllReduce $A.doc("Synchronous: each update is by the mean gradient over one minibatch of every replica, "
            "equivalent to one minibatch as large as all of them.");
    parameterServer @1 :ParameterServer $A.doc("A server keeps the weights; replicas push gradients to it and pull weights "
            "from it. Running averages, as of batch_norm, are local to each replica; evaluation and checkpoints use the "
            "first replica's.");
    localSgd @2 :LocalSgd $A.doc("Each replica updates by its own minibatches, and periodically all take the mean of their "
            "weights. Optimizer state is local to each replica; a checkpoint has the first replica's.");
    elasticAveraging @3 :ElasticAveraging $A.doc("Each replica updates by its own minibatches, and periodically it and a "
            "common centre are drawn towards each other: EASGD, with Nesterov momentum EAMSGD. Zhang, Choromanska and "
            "LeCun 2015.");
    gossip @4 :Gossip $A.doc("Each replica updates by its own minibatches, and periodically takes the mean of its weights "
            "and those of another, randomly drawn replica. Jin et al. 2016.");
    malt @5 :Malt $A.doc("Each replica updates by its own minibatches, sends its weights along the edges of a graph, and "
            "takes the mean of its own and the received weights. No replica waits. Li et al. 2015.");
    admm @6 :Admm $A.doc("Each replica minimises its own loss plus a penalty for the distance from the consensus, which is "
            "computed from the weights of at least some of them: asynchronous ADMM. In a pipeline of several stages it is "
            "synchronous: quorum is the number of replicas, or delay is 1. Zhang and Kwok 2014.");
    hogwild @7 :Void $A.doc("Replicas on one node update the same weights in memory, without locks. Niu et al. 2011.");
  }
  codec @8 :GradientCodec $A.doc("Compression of the gradients sent to other replicas or to a parameter server. The error "
          "is added to the next gradient of the same tensor, except with the stochastic codecs int8, tern_grad and qsgd. "
          "If all_reduce sums int8, one_bit, qsgd, tern_grad or threshold by blocks, as shown by plan, each block's sum is "
          "encoded again by its owner in the same way. No compression when absent.");
}

struct AllReduce {
  algorithm @0 :AllReduceAlgorithm = auto $A.doc("Communication pattern.");
}

enum AllReduceAlgorithm {
  auto @0 $A.doc("Chosen by the number of replicas and the size of the sum: the algorithm expected to be fastest.");
  ring @1 $A.doc("Around a ring, twice, in as many parts as replicas: fewest bytes, most sequential messages.");
  recursiveDoubling @2 $A.doc("Everything with one partner after another: fewest messages, for small sums.");
  halvingDoubling @3 $A.doc("Halves, quarters, ... with one partner after another, and back: fewest bytes if the number of "
          "replicas is a power of two.");
  tree @4 $A.doc("Up a tree to the first replica and down again.");
  hierarchical @5 $A.doc("Within each node to its first replica, between the first replicas of the nodes, and back.");
}

struct LocalSgd {
  period @0 :UInt32 = 8 $A.min(1) $A.max(1000000000)
      $A.doc("Updates of a replica between two averagings; one always takes place at the end of an epoch.");
  algorithm @1 :AllReduceAlgorithm = auto $A.doc("Communication pattern.");
}

struct ParameterServer {
  consistency @0 :Consistency $A.doc("Rule for the weights that a replica may train with.");
  shards @1 :UInt32 = 0 $A.min(0) $A.max(64)
      $A.doc("Number of parts of the server, each with some of a stage's weights, colocated with the first replicas; 0: "
          "one per replica.");
  pushEvery @2 :UInt32 = 1 $A.min(1) $A.max(1000000)
      $A.doc("Number of minibatches whose gradients a replica sums before a push (Downpour: n_push).");
  fetchEvery @3 :UInt32 = 1 $A.min(1) $A.max(1000000)
      $A.doc("Number of minibatches between two pulls of the weights (Downpour: n_fetch), at most 64 times push_every; "
          "between them a replica updates its own copy.");
  delayCompensation @4 :DelayCompensation
      $A.doc("Correction of a gradient for the updates made since its weights were pulled.");
  aggregation @5 :Aggregation $A.doc("Combination of the gradients of one update. Their mean when absent.");
  nodeServers @6 :Bool = false $A.doc("One server on each node in front of the shards, which sums the pushes of the node's "
          "replicas and pulls once for all of them.");
  pulls @7 :NumberForm = f32
      $A.doc("Number form of the weights that replicas pull. The server keeps float32, which is evaluated and saved.");
}

struct Consistency $A.doc("Exactly one rule. A replica's clock counts its minibatches.") {
  union {
    bsp @0 :Void
        $A.doc("Bulk synchronous: an update by the mean gradient of one minibatch of every replica; all wait for it.");
    ssp @1 :Ssp
        $A.doc("Stale synchronous: an update by each gradient; no replica is ahead of the slowest by more than staleness.");
    asp @2 :Void $A.doc("Asynchronous: an update by each gradient; no replica waits.");
    valueBounded @3 :ValueBounded
        $A.doc("An update by each gradient; a replica waits while its updates not yet seen by others are too large.");
    softsync @4 :Softsync
        $A.doc("An update by the mean of a number of gradients, the first to arrive, each divided by its staleness.");
    backupWorkers @5 :BackupWorkers
        $A.doc("An update by the mean of the first gradients of a step; the slowest ones are dropped. Chen et al. 2016.");
  }
}

struct Ssp {
  staleness @0 :UInt32 $A.required $A.min(0) $A.max(1000000)
      $A.doc("Number of clocks by which the fastest replica may be ahead of the slowest; 0 is bsp.");
}

struct ValueBounded {
  bound @0 :Float32 $A.required $A.min(0) $A.max(1e30)
      $A.doc("Bound, divided by the root of the clock, on the sum of a replica's updates that another has not seen; each "
          "update counts with its largest change of a weight.");
}

struct Softsync {
  splits @0 :UInt32 = 1 $A.min(1) $A.max(64)
      $A.doc("n: an update combines replicas / n gradients; their staleness is n on average.");
}

struct BackupWorkers {
  backups @0 :UInt32 = 1 $A.min(0) $A.max(63) $A.doc("Number of replicas whose gradients a step does not wait for.");
}

struct DelayCompensation
    $A.doc("DC-ASGD: Zheng et al. 2017. Adds factor * g * g * (weights now - weights pulled) to gradient g.") {
  union {
    none @0 :Void $A.doc("No correction.");
    constant @1 :ConstantCompensation $A.doc("A constant factor: DC-ASGD-c.");
    adaptive @2 :AdaptiveCompensation $A.doc("A factor divided by the root of the running mean of g * g: DC-ASGD-a.");
  }
}

struct ConstantCompensation {
  factor @0 :Float32 = 0.04 $A.min(0) $A.max(1000) $A.doc("lambda.");
}

struct AdaptiveCompensation {
  factor @0 :Float32 = 2 $A.min(0) $A.max(1000) $A.doc("lambda_0.");
  decay @1 :Float32 = 0.95 $A.min(0) $A.max(0.999999) $A.doc("Share of the running mean that is kept.");
}

struct Aggregation $A.doc("Exactly one. All except the mean tolerate some replicas that send arbitrary values.") {
  union {
    mean @0 :Void $A.doc("The mean.");
    median @1 :Void $A.doc("The median of each number separately.");
    trimmedMean @2 :TrimmedMean $A.doc("The mean of each number separately, without the smallest and the largest values.");
    krum @3 :Krum
        $A.doc("The gradients or weights of the one sender whose nearest neighbours are nearest. Blanchard et al. 2017.");
  }
}

struct TrimmedMean {
  trim @0 :UInt32 = 1 $A.min(1) $A.max(31) $A.doc("Number of values left out at each end.");
}

struct Krum {
  liars @0 :UInt32 = 1 $A.min(1) $A.max(31)
      $A.doc("Number of replicas that may send arbitrary values; there must be at least 2 * liars + 3 replicas.");
}

struct ElasticAveraging {
  period @0 :UInt32 = 10 $A.min(1) $A.max(1000000000)
      $A.doc("Updates of a replica between two exchanges with the centre (tau).");
  rate @1 :Float32 = 0 $A.min(0) $A.max(1)
      $A.doc("Share of their difference by which replica and centre move (alpha); 0 means 0.9 / replicas.");
  synchronous @2 :Bool = false $A.doc("All replicas exchange at the same time, instead of each independently.");
}

struct Gossip {
  period @0 :UInt32 = 1 $A.min(1) $A.max(1000000000)
      $A.doc("Updates of a replica between two exchanges; more if the previous exchange is not complete.");
}

struct Malt {
  graph @0 :MaltGraph = halton $A.doc("Edges of the graph: the receivers of each replica.");
  period @1 :UInt32 = 1 $A.min(1) $A.max(1000000000) $A.doc("Updates of a replica between two sends.");
  aggregation @2 :Aggregation $A.doc("Combination of a replica's weights and the received ones. Their mean when absent.");
}

enum MaltGraph {
  all @0 $A.doc("Every replica to all others.");
  halton @1 $A.doc("Each to about log2 of the replicas, spread evenly, so that news reaches all replicas after few steps.");
  server @2 $A.doc("All to the first, and the first to all.");
}

struct Admm {
  penalty @0 :Float32 = 0.01 $A.min(0.0000001) $A.max(1000) 
      $A.doc("Factor of the squared distance from the consensus (rho); times the learning rate below 2.");
  period @1 :UInt32 = 16 $A.min(1) $A.max(1000000000) $A.doc("Updates by which a replica minimises before it reports.");
  quorum @2 :UInt32 = 1 $A.min(1) $A.max(64) $A.doc("Replicas that must have reported before the consensus changes (S).");
  delay @3 :UInt32 = 4 $A.min(1) $A.max(1000000)
      $A.doc("Changes of the consensus within which every replica must report (tau).");
}

# ---- compression ----

struct GradientCodec $A.doc("Exactly one way to compress gradients.") {
  union {
    none @0 :Void $A.doc("No compression, 32 bits per number.");
    bf16 @1 :Void $A.doc("Rounded to bfloat16, 16 bits. all_reduce of more than two replicas also rounds every sum, "
            "without error feedback.");
    f16 @2 :Void $A.doc("Rounded to half precision, 16 bits; otherwise as bf16. Sums above 65504 are infinite.");
    int8 @3 :Void $A.doc("One of 255 steps up to the largest of 512 neighbours, rounded at random: 8 bits.");
    oneBit @4 :Void $A.doc("The sign, with the mean of the values above 0 and of those below in each row: 1 bit. Seide et "
            "al. 2014, where these are columns.");
    threshold @5 :ThresholdCodec $A.doc("Only numbers whose magnitude exceeds a threshold, as plus or minus the threshold: "
            "32 bits each. Strom 2015.");
    topK @6 :TopKCodec $A.doc("Only the largest numbers: 64 bits each, or fewer (values). Aji and Heafield 2017.");
    deepGradient @7 :DeepGradientCodec
        $A.doc("Only the largest numbers, with a momentum of the rest: 64 bits each, or fewer (values). Lin et al. 2018.");
    ternGrad @8 :TernGradCodec
        $A.doc("-1, 0 or 1 times the largest magnitude, rounded at random: 2 bits, and sums by blocks 4. Wen et al. 2017.");
    qsgd @9 :QsgdCodec $A.doc("One of a few steps of each bucket's norm, rounded at random. Alistarh et al. 2017.");
    sufficientFactors @10 :Void $A.doc("Inputs and output gradients of linear layers instead of their product, if they are "
            "smaller; to a server without clip, push_every, fetch_every and node_servers. Equal bits on all replicas "
            "require processors of the same kind. Xie et al. 2014.");
    powerSgd @11 :PowerSgdCodec $A.doc("Matrices as products of two thin matrices. Vogels et al. 2019.");
  }
}

struct ThresholdCodec {
  threshold @0 :Float32 $A.required $A.min(1e-30) $A.max(1e30) $A.doc("Threshold that a magnitude must exceed (tau).");
}

struct TopKCodec {
  ratio @0 :Float32 = 0.01 $A.min(0.000001) $A.max(1) $A.doc("Share of a tensor's numbers that is sent.");
  values @1 :SparseValues = f32 $A.doc("Number form of the sent values, in addition to 32 bits for the position of each.");
}

# The rounding error is added to the next gradient, like the numbers that are not sent. Partial sums of replicas are float32;
# the rounding error of a finished sum is added to the next sum.
enum SparseValues {
  f32 @0 $A.doc("Unrounded, 32 bits.");
  f16 @1 $A.doc("Rounded to half precision, 16 bits.");
  int8 @2 $A.doc("One of 255 steps up to the largest of 512 sent values, the nearest: 8 bits.");
  int4 @3 $A.doc("One of 15 steps up to the largest of 512 sent values, the nearest: 4 bits. As in SparCML: Renggli et al. "
          "2019.");
}

struct DeepGradientCodec {
  ratio @0 :Float32 = 0.001 $A.min(0.000001) $A.max(1) $A.doc("Share of a tensor's numbers that is sent after the warm-up.");
  momentum @1 :Float32 = 0.9 $A.min(0) $A.max(0.99999)
      $A.doc("Momentum of the codec, in place of the optimizer's, which must have none.");
  masking @2 :Bool = true $A.doc("Reset the momentum of the numbers that are sent.");
  clipNorm @3 :Float32 = 0 $A.min(0) $A.max(1e30) $A.doc("Bound on the norm of a replica's gradients of a pipeline stage, "
          "divided by the root of the number of replicas; 0: none.");
  warmupEpochs @4 :UInt32 = 0 $A.min(0) $A.max(1000000)
      $A.doc("Epochs in which the share falls to ratio: in epoch e (from 0) of w, it is ratio^((e + 1) / (w + 1)).");
  values @5 :SparseValues = f32 $A.doc("Number form of the sent values, in addition to 32 bits for the position of each.");
}

struct TernGradCodec {
  clip @0 :Float32 = 2.5 $A.min(0) $A.max(1000)
      $A.doc("Number of standard deviations of a tensor's numbers at which they are clipped before encoding; 0: never.");
}

struct QsgdCodec {
  levels @0 :UInt32 = 15 $A.min(1) $A.max(127) $A.doc("Steps between 0 and the norm.");
  bucket @1 :UInt32 = 512 $A.min(1) $A.max(1048576) $A.doc("Numbers that share a norm.");
}

struct PowerSgdCodec {
  rank @0 :UInt32 = 2 $A.min(1) $A.max(1024) $A.doc("Rank: width of the thin matrices.");
}

# ---- pipelines ----

struct PipelineTopology {
  schedule @0 :PipelineSchedule $A.doc("Order of forward and backward passes and of updates.");
  stages @1 :Stages $A.doc("auto: one stage per device, split by measured layer time. A number: that many stages. A list: "
          "the stages themselves. If stages outnumber devices, neighbours share a device, also by measured layer time.");
  microbatches @2 :UInt32 = 4 $A.min(1) $A.max(4096)
      $A.doc("Number of parts into which a minibatch is split, with any schedule but pipedream.");
  rate @3 :StageRate = perSample $A.doc("Learning rate of a stage with replicas of its own.");
  activations @4 :NumberForm = f32 $A.doc("Number form of activations between stages, and of their gradients.");
}

enum StageRate {
  perSample @0 $A.doc("The rate times the number of the stage's replicas, as one update is by their mean gradient: a "
          "sample moves all stages equally. Harlap et al. 2018.");
  perUpdate @1 $A.doc("The same rate for every update, as with one larger minibatch.");
}

enum NumberForm {
  f32 @0 $A.doc("Unrounded, 32 bits per number.");
  bf16 @1 $A.doc("Rounded to bfloat16, 16 bits.");
  int8 @2 $A.doc("One of 255 steps up to the largest of 512 neighbours, the nearest: 8 bits.");
}

struct PipelineSchedule $A.doc("Exactly one schedule: a table of steps (`troupe pipeline` draws it).") {
  union {
    pipedream @0 :Pipedream $A.doc("Asynchronous one-forward-one-backward with weight stashing: no idle time; gradients of "
            "stage s are S-1-s versions late. Minibatches are not split. Narayanan et al. 2019.");
    gpipe @1 :Void $A.doc("Synchronous: all microbatches forward, all backward, one update. Huang et al. 2019.");
    oneFOneB @2 :OneFOneB $A.doc("Synchronous: forward and backward passes in turn, as many idle slots as gpipe, and at most "
            "S-s microbatches in flight at stage s: PipeDream-flush, DAPPLE. Fan et al. 2021.");
    zeroBubble @3 :ZeroBubble $A.doc("one_f_one_b with backward passes in two halves: gradients of the inputs go back at "
            "once, those of weights fill idle slots. Qi et al. 2024.");
    twoVersions @4 :Void $A.doc("Asynchronous one-forward-one-backward over microbatches with two weight versions: no idle "
            "time where there are as many microbatches as stages; all gradients are one version late: PipeDream-2BW. "
            "Narayanan et al. 2021.");
    localAccumulation @5 :Void $A.doc("Asynchronous one-forward-one-backward over microbatches on the latest weights, of "
            "which none is kept: a backward pass may use later ones than its forward pass. PACI, 2026.");
    interleaved @6 :Interleaved $A.doc("one_f_one_b with several stages on each device, dealt in turn, which divide its idle "
            "time by their number. Narayanan et al. 2021.");
    zeroBubbleV @7 :ZeroBubbleV $A.doc("zero_bubble with two stages on each device, dealt there and back: no idle time where forward "
            "pass and halves take equally long. Qi et al. 2024.");
    table @8 :Text $A.path $A.doc("A CSV file with a row of steps for each device, in the form of PyTorch's pipelining: 0F0, "
            "2B1, halves 1I0 and 1W0 (`troupe pipeline NAME --csv FILE` writes one). It says how many stages and "
            "microbatches there are.");
  }
}

struct Interleaved {
  stagesPerDevice @0 :UInt32 = 2 $A.min(2) $A.max(64) $A.doc("Number of stages on each device.");
}

struct Pipedream {
  verticalSync @0 :Bool $A.doc("All stages compute a minibatch with the version that the first stage used.");
}

struct OneFOneB {
  doubledWarmUp @0 :Bool $A.doc("Twice as many forward passes before the first backward pass, which hides slow links; more "
          "in flight: DAPPLE's policy B.");
}

struct ZeroBubbleV {
  activations @0 :UInt32 = 1 $A.min(1) $A.max(3) $A.doc("Divisor of the activations that are in flight: 2, half as many as with "
          "zero_bubble, or 3, a third, with more idle time.");
}

struct ZeroBubble {
  doubledWarmUp @0 :Bool $A.doc("No idle slot where forward pass and halves take equally long and there are 2S-1 microbatches, "
          "for up to 2S-1 in flight: ZB-H2. Without: ZB-H1, with up to S in flight.");
  stagesPerDevice @1 :UInt32 = 1 $A.min(1) $A.max(64) $A.doc("Number of stages on each device, dealt in turn, as with "
          "interleaved.");
}

struct Stages $A.byKind {
  union {
    auto @0 :Void $A.doc("One stage per device of the cluster, split so that measured layer times balance.");
    count @1 :UInt32 $A.min(1) $A.max(256) $A.doc("Number of stages, split so that measured layer times balance.");
    list @2 :List(Stage) $A.minItems(1) $A.maxItems(256) $A.doc("An explicit list of stages.");
  }
}

struct Stage {
  layers @0 :UInt32 $A.required $A.min(1) $A.max(4096) $A.doc("How many of the model's layers, in order, this stage holds; "
          "layers of blocks are counted as `troupe plan` lists them.");
  device @1 :Text $A.doc("NODE/cpu:0 or cpu:0, NODE/cuda:0 or cuda:0; the next free device when absent. With replicas, the "
          "device of the stage in the first replica, which has the first devices.");
  replicas @2 :UInt32 = 1 $A.min(1) $A.max(64)
      $A.doc("Copies of this stage alone, which take its minibatches in turns and update by the mean of their gradients: "
          "Narayanan et al. 2019.");
}
