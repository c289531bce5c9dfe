@0xe9c2b4d6f8a01303;
# The part of the app definition (app.capnp) that says how a model is spread over devices, and how its replicas agree.

using Cxx = import "/capnp/c++.capnp";
using A = import "annotations.capnp";
$Cxx.namespace("troupe::proto");

struct Topology $A.doc("One way of spreading the model, and how often.") {
  union {
    single @0 :Void $A.doc("The whole model on one device.");
    pipeline @1 :PipelineTopology $A.doc("Consecutive layers form stages, each on a device of its own.");
  }
  replicas @2 :UInt32 = 1 $A.min(1) $A.max(64)
      $A.doc("Data parallelism: so many copies of the whole, each on devices of its own. They take the minibatches in turns, or where none waits "
          "for others whichever comes next.");
  sync @3 :Sync $A.doc("How replicas come to the same weights.");
  devices @4 :List(DeviceOption) $A.minItems(0) $A.maxItems(256) $A.doc("What is special about some of the devices.");
}

struct DeviceOption {
  device @0 :Text $A.required $A.doc("NODE/cpu:0 or NODE/cuda:0; or cpu:0, which is the first node's.");
  slowDown @1 :Float32 = 1 $A.min(1) $A.max(100)
      $A.doc("How many times as long it takes for its work, by waiting: for tests of what a straggler does.");
}

# ---- how replicas agree ----

struct Sync $A.doc("Exactly one way for replicas to agree, and how what they send is compressed.") {
  union {
    allReduce @0 :AllReduce $A.doc("Synchronous: each update is by the mean gradient over a minibatch of every replica, "
        "as of one minibatch as large as all of them.");
    parameterServer @1 :ParameterServer $A.doc("A server keeps the weights; replicas push gradients to it and pull weights "
        "from it. Running averages, as of batch_norm, stay each replica's own; evaluation and checkpoints have the first's.");
    localSgd @2 :LocalSgd $A.doc("Each replica updates by its own minibatches, and now and then all take the mean of their "
        "weights. What the optimizer keeps stays each replica's own; a checkpoint has that of the first.");
    elasticAveraging @3 :ElasticAveraging $A.doc("Each replica updates by its own minibatches, and now and then it and a common "
        "centre are drawn towards each other: EASGD, with Nesterov momentum EAMSGD. Zhang, Choromanska and LeCun 2015.");
    gossip @4 :Gossip $A.doc("Each replica updates by its own minibatches, and now and then takes the mean of its weights and "
        "those of another one, drawn by lot. Jin et al. 2016.");
    malt @5 :Malt $A.doc("Each replica updates by its own minibatches, sends its weights along the edges of a graph, and takes "
        "the mean of its own and what has arrived. Nobody waits. Li et al. 2015.");
    admm @6 :Admm $A.doc("Each replica minimises its own loss plus a penalty for being away from the common weights, which are "
        "made of what at least some of them have: asynchronous ADMM. In a pipeline of several stages it is synchronous: quorum is "
        "the number of replicas, or delay is 1. Zhang and Kwok 2014.");
    hogwild @7 :Void $A.doc("Replicas on one node update the same weights in memory, without any lock. Niu et al. 2011.");
  }
  codec @8 :GradientCodec $A.doc("How gradients are compressed on their way to other replicas or to a parameter server; what is "
      "lost is added to the next ones of the same tensor, but for int8, tern_grad and qsgd, which draw by lot. "
      "Where all_reduce sums int8, one_bit, qsgd, tern_grad or threshold by blocks, as plan tells, each block's sum is encoded "
      "again by its owner, as gradients are. As they are when absent.");
}

struct AllReduce {
  algorithm @0 :AllReduceAlgorithm = auto $A.doc("Who sends what to whom.");
}

enum AllReduceAlgorithm {
  auto @0 $A.doc("By the number of replicas and the size of what they sum: the one that should be fastest.");
  ring @1 $A.doc("Around a ring, twice, in as many parts as replicas: least to send, most messages one after another.");
  recursiveDoubling @2 $A.doc("All of it with one partner after another: fewest messages, for little to send.");
  halvingDoubling @3 $A.doc("Halves, quarters, ... with one partner after another, and back: least to send where replicas are a power of two.");
  tree @4 $A.doc("Up a tree to the first replica and down again.");
  hierarchical @5 $A.doc("Within each node to its first replica, between those of the nodes, and back.");
}

struct LocalSgd {
  period @0 :UInt32 = 8 $A.min(1) $A.max(1000000000)
      $A.doc("Updates of a replica between two means; one is always taken at the end of an epoch.");
  algorithm @1 :AllReduceAlgorithm = auto $A.doc("Who sends what to whom.");
}

struct ParameterServer {
  consistency @0 :Consistency $A.doc("Which weights a replica may train with.");
  shards @1 :UInt32 = 0 $A.min(0) $A.max(64)
      $A.doc("Parts of the server, each with some of a stage's weights, beside the first replicas; 0: as many as replicas.");
  pushEvery @2 :UInt32 = 1 $A.min(1) $A.max(1000000)
      $A.doc("Minibatches whose gradients a replica sums before it pushes them (Downpour: n_push).");
  fetchEvery @3 :UInt32 = 1 $A.min(1) $A.max(1000000)
      $A.doc("Minibatches between two pulls of the weights (Downpour: n_fetch), at most 64 times push_every; between them a "
          "replica steps by itself.");
  delayCompensation @4 :DelayCompensation $A.doc("What is added to a gradient for the updates since its weights were pulled.");
  aggregation @5 :Aggregation $A.doc("What is made of the gradients of one update. Their mean when absent.");
  nodeServers @6 :Bool = false $A.doc("One server on each node in front of the shards, which sums what the node's replicas push "
      "and pulls once for all of them.");
  pulls @7 :NumberForm = f32 $A.doc("How the weights that replicas pull are sent. The server keeps them as they are, and so are they evaluated and saved.");
}

struct Consistency $A.doc("Exactly one rule. A replica's clock counts its minibatches.") {
  union {
    bsp @0 :Void $A.doc("Bulk synchronous: an update by the mean gradient of a minibatch of every replica, for which all wait.");
    ssp @1 :Ssp $A.doc("Stale synchronous: an update by each gradient; no replica is further ahead of the slowest than staleness.");
    asp @2 :Void $A.doc("Asynchronous: an update by each gradient; nobody waits.");
    valueBounded @3 :ValueBounded $A.doc("An update by each gradient; a replica waits while what others have not seen of its "
        "updates is too large.");
    softsync @4 :Softsync $A.doc("An update by the mean of as many gradients as arrive first, each divided by its staleness.");
    backupWorkers @5 :BackupWorkers $A.doc("An update by the mean of the first gradients of a step; those of the slowest are "
        "dropped. Chen et al. 2016.");
  }
}

struct Ssp {
  staleness @0 :UInt32 $A.required $A.min(0) $A.max(1000000)
      $A.doc("Clocks that the fastest replica may be ahead of the slowest; 0 is bsp.");
}

struct ValueBounded {
  bound @0 :Float32 $A.required $A.min(0) $A.max(1e30)
      $A.doc("What a replica has not seen of another's updates may sum up to so much, divided by the root of the clock; of "
          "each update counts the largest change of a weight.");
}

struct Softsync {
  splits @0 :UInt32 = 1 $A.min(1) $A.max(64)
      $A.doc("n: an update is made of replicas / n gradients, whose staleness is n on average.");
}

struct BackupWorkers {
  backups @0 :UInt32 = 1 $A.min(0) $A.max(63) $A.doc("Replicas whose gradients a step does not wait for.");
}

struct DelayCompensation $A.doc("DC-ASGD: Zheng et al. 2017. To gradient g is added factor * g * g * (weights now - weights pulled).") {
  union {
    none @0 :Void $A.doc("Nothing.");
    constant @1 :ConstantCompensation $A.doc("With the same factor always: DC-ASGD-c.");
    adaptive @2 :AdaptiveCompensation $A.doc("With a factor divided by the root of the running mean of g * g: DC-ASGD-a.");
  }
}

struct ConstantCompensation {
  factor @0 :Float32 = 0.04 $A.min(0) $A.max(1000) $A.doc("lambda.");
}

struct AdaptiveCompensation {
  factor @0 :Float32 = 2 $A.min(0) $A.max(1000) $A.doc("lambda_0.");
  decay @1 :Float32 = 0.95 $A.min(0) $A.max(0.999999) $A.doc("Share of the running mean that is kept.");
}

struct Aggregation $A.doc("Exactly one. All but the mean bear some replicas that send nonsense.") {
  union {
    mean @0 :Void $A.doc("The mean.");
    median @1 :Void $A.doc("Of each number by itself the median.");
    trimmedMean @2 :TrimmedMean $A.doc("Of each number by itself the mean without the smallest and the largest.");
    krum @3 :Krum $A.doc("The one whose nearest neighbours are nearest. Blanchard et al. 2017.");
  }
}

struct TrimmedMean {
  trim @0 :UInt32 = 1 $A.min(1) $A.max(31) $A.doc("How many are left out at each end.");
}

struct Krum {
  liars @0 :UInt32 = 1 $A.min(1) $A.max(31) $A.doc("How many replicas may send nonsense; there must be at least 2 * liars + 3.");
}

struct ElasticAveraging {
  period @0 :UInt32 = 10 $A.min(1) $A.max(1000000000) $A.doc("Updates of a replica between two exchanges with the centre (tau).");
  rate @1 :Float32 = 0 $A.min(0) $A.max(1)
      $A.doc("Share of the difference that replica and centre move (alpha); 0 means 0.9 / replicas.");
  synchronous @2 :Bool = false $A.doc("All replicas exchange at the same time, instead of each by itself.");
}

struct Gossip {
  period @0 :UInt32 = 1 $A.min(1) $A.max(1000000000) $A.doc("Updates of a replica between two exchanges, or more where the one before is not over.");
}

struct Malt {
  graph @0 :MaltGraph = halton $A.doc("Who sends to whom.");
  period @1 :UInt32 = 1 $A.min(1) $A.max(1000000000) $A.doc("Updates of a replica between two times that it sends.");
  aggregation @2 :Aggregation $A.doc("What is made of a replica's weights and those that have arrived. Their mean when absent.");
}

enum MaltGraph {
  all @0 $A.doc("Every replica to all others.");
  halton @1 $A.doc("Each to about log2 of the replicas, spread evenly, so that news is everywhere after few steps.");
  server @2 $A.doc("All to the first and the first to all.");
}

struct Admm {
  penalty @0 :Float32 = 0.01 $A.min(0.0000001) $A.max(1000) 
      $A.doc("Of the squared distance from the common weights (rho); times the learning rate below 2.");
  period @1 :UInt32 = 16 $A.min(1) $A.max(1000000000) $A.doc("Updates by which a replica minimises before it reports.");
  quorum @2 :UInt32 = 1 $A.min(1) $A.max(64) $A.doc("Replicas that must have reported before the common weights change (S).");
  delay @3 :UInt32 = 4 $A.min(1) $A.max(1000000) $A.doc("Changes of the common weights within which every replica must report (tau).");
}

# ---- compression ----

struct GradientCodec $A.doc("Exactly one way to compress gradients.") {
  union {
    none @0 :Void $A.doc("As they are, 32 bits a number.");
    bf16 @1 :Void $A.doc("Rounded to bfloat16, 16 bits. By all_reduce of more than two replicas every sum is, too, and what that loses is lost.");
    f16 @2 :Void $A.doc("Rounded to half precision, 16 bits; else as bf16. Sums above 65504 are infinite.");
    int8 @3 :Void $A.doc("One of 255 steps up to the largest of 512 neighbours, by lot: 8 bits.");
    oneBit @4 :Void $A.doc("The sign, with the mean of those above and of those below in each row: 1 bit. Seide et al. 2014, whose columns these are.");
    threshold @5 :ThresholdCodec $A.doc("Only what is larger than a number, as plus or minus that number: 32 bits for each. "
        "Strom 2015.");
    topK @6 :TopKCodec $A.doc("Only the largest: 64 bits for each, or fewer (values). Aji and Heafield 2017.");
    deepGradient @7 :DeepGradientCodec $A.doc("Only the largest, with a momentum of what is held back: 64 bits for each, or "
        "fewer (values). "
        "Lin et al. 2018.");
    ternGrad @8 :TernGradCodec $A.doc("-1, 0 or 1 times the largest, by lot: 2 bits, and sums by blocks 4. Wen et al. 2017.");
    qsgd @9 :QsgdCodec $A.doc("One of a few steps of each bucket's norm, by lot. Alistarh et al. 2017.");
    sufficientFactors @10 :Void $A.doc("Of linear layers inputs and output gradients instead of their product, where that is "
        "less; to a server without clip, push_every, fetch_every and node_servers. Equal bits on all replicas need like "
        "processors. Xie et al. 2014.");
    powerSgd @11 :PowerSgdCodec $A.doc("Matrices as products of two thin ones. Vogels et al. 2019.");
  }
}

struct ThresholdCodec {
  threshold @0 :Float32 $A.required $A.min(1e-30) $A.max(1e30) $A.doc("What a number must exceed (tau).");
}

struct TopKCodec {
  ratio @0 :Float32 = 0.01 $A.min(0.000001) $A.max(1) $A.doc("Share of a tensor's numbers that is sent.");
  values @1 :SparseValues = f32 $A.doc("How the numbers that are sent are written, beside 32 bits for the place of each.");
}

# What rounding loses is added to the next gradient, as what is not sent is. Sums of replicas are float32 on their way; what
# is lost where a finished one is rounded is added to the next sum.
enum SparseValues {
  f32 @0 $A.doc("As they are, 32 bits.");
  f16 @1 $A.doc("Rounded to half precision, 16 bits.");
  int8 @2 $A.doc("One of 255 steps up to the largest of 512 that are sent, the nearest: 8 bits.");
  int4 @3 $A.doc("One of 15 steps up to the largest of 512 that are sent, the nearest: 4 bits. SparCML's: Renggli et al. 2019.");
}

struct DeepGradientCodec {
  ratio @0 :Float32 = 0.001 $A.min(0.000001) $A.max(1) $A.doc("Share of a tensor's numbers that is sent after the warm-up.");
  momentum @1 :Float32 = 0.9 $A.min(0) $A.max(0.99999) $A.doc("Instead of the optimizer's, which must have none.");
  masking @2 :Bool = true $A.doc("The momentum of what is sent begins anew.");
  clipNorm @3 :Float32 = 0 $A.min(0) $A.max(1e30) $A.doc("Bound on the norm of a replica's gradients of a pipeline stage, divided by the root of the replicas; 0: none.");
  warmupEpochs @4 :UInt32 = 0 $A.min(0) $A.max(1000000)
      $A.doc("Epochs in which the share falls to ratio: of w epochs in number e, from 0, it is ratio^((e + 1) / (w + 1)).");
  values @5 :SparseValues = f32 $A.doc("How the numbers that are sent are written, beside 32 bits for the place of each.");
}

struct TernGradCodec {
  clip @0 :Float32 = 2.5 $A.min(0) $A.max(1000) $A.doc("Deviations of a tensor's numbers beyond which they are cut first; 0: never.");
}

struct QsgdCodec {
  levels @0 :UInt32 = 15 $A.min(1) $A.max(127) $A.doc("Steps between 0 and the norm.");
  bucket @1 :UInt32 = 512 $A.min(1) $A.max(1048576) $A.doc("Numbers with a norm of their own.");
}

struct PowerSgdCodec {
  rank @0 :UInt32 = 2 $A.min(1) $A.max(1024) $A.doc("Width of the thin matrices.");
}

# ---- pipelines ----

struct PipelineTopology {
  schedule @0 :PipelineSchedule = pipedream $A.doc("Order of forward and backward passes and of updates.");
  stages @1 :Stages $A.doc("auto: one stage per device, split by measured layer time. A number: that many stages. "
      "A list: the stages themselves. Where stages outnumber devices, neighbours share one, by measured layer "
      "time too.");
  microbatches @2 :UInt32 = 4 $A.min(1) $A.max(65536)
      $A.doc("Parts into which gpipe splits a minibatch; pipedream passes minibatches whole.");
  rate @3 :StageRate = perSample $A.doc("The learning rate of a stage with replicas of its own.");
  activations @4 :NumberForm = f32 $A.doc("How activations between stages, and their gradients, are sent.");
}

enum StageRate {
  perSample @0 $A.doc("As many times the rate as the stage has replicas, whose mean gradient one update is made of: a sample moves "
      "all stages alike. Harlap et al. 2018.");
  perUpdate @1 $A.doc("The same for every update, as of one minibatch that is larger.");
}

enum NumberForm {
  f32 @0 $A.doc("As they are, 32 bits a number.");
  bf16 @1 $A.doc("Rounded to bfloat16, 16 bits.");
  int8 @2 $A.doc("One of 255 steps up to the largest of 512 neighbours, the nearest: 8 bits.");
}

enum PipelineSchedule {
  pipedream @0 $A.doc("Asynchronous one-forward-one-backward with weight stashing: no idle time, gradients of stage s "
      "are S-1-s versions late.");
  gpipe @1 $A.doc("Synchronous: all microbatches forward, all backward, one update.");
}

struct Stages $A.byKind {
  union {
    auto @0 :Void $A.doc("One stage per device of the cluster, split so that measured layer times balance.");
    count @1 :UInt32 $A.min(1) $A.max(256) $A.doc("Number of stages, split so that measured layer times balance.");
    list @2 :List(Stage) $A.minItems(1) $A.maxItems(256) $A.doc("Every stage spelled out.");
  }
}

struct Stage {
  layers @0 :UInt32 $A.required $A.min(1) $A.max(4096) $A.doc("How many of the model's layers, in order, this stage holds; in blocks, as `troupe plan` lists them.");
  device @1 :Text $A.doc("NODE/cpu:0 or cpu:0, NODE/cuda:0 or cuda:0; the next free device when absent. With replicas that of the first, which has the first devices.");
  replicas @2 :UInt32 = 1 $A.min(1) $A.max(64)
      $A.doc("Copies of this stage alone, which take its minibatches in turns and update by the mean of their gradients: Narayanan et al. 2019.");
}
