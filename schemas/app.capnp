@0xe9c2b4d6f8a01301;
# The app definition: what a user writes in APP.yaml. The loader reads YAML straight into this struct; keys are the field
# names in snake_case. Unknown or repeated keys, wrong types and values out of range are errors. Defaults, ranges and
# documentation stand here and nowhere else: `troupe explain KEY` and the editors' JSON Schema are made from them.

using Cxx = import "/capnp/c++.capnp";
using A = import "annotations.capnp";
using O = import "optimizers.capnp";
using T = import "topology.capnp";
$Cxx.namespace("troupe::proto");

struct App $A.doc("A training job: data, model, training and topology.") {
  troupe @0 :UInt16 $A.required $A.min(1) $A.max(1) $A.doc("Version of the app file format. This build reads 1.");
  data @1 :Data $A.required $A.doc("Where the training and test samples come from.");
  model @2 :Model $A.required $A.doc("The network, as a list of layers, and its loss.");
  train @3 :Train $A.required $A.doc("How long, in what batches and with what optimizer to train.");
  topology @4 :T.Topology $A.doc("How the model is spread over devices. One device when absent.");
  checkpoint @5 :Checkpoint $A.doc("Where and how often to save the weights. Nothing is saved when absent.");
  base @6 :Text $A.path $A.doc("Another app file, whose keys hold where this one does not give them.");
}

struct Data $A.doc("Exactly one source of samples, and what is made of them.") {
  union {
    idx @0 :IdxData $A.doc("IDX files as MNIST and Fashion-MNIST come in, plain or gzip.");
    synthetic @1 :SyntheticData $A.doc("Random samples with learnable labels, for tests and benchmarks.");
    npy @3 :NpyData $A.doc("Arrays as NumPy saves them: .npy files, or members of .npz archives as FILE.npz:MEMBER.");
    cifar @4 :CifarData $A.doc("CIFAR-10 or CIFAR-100 in the binary version, plain or gzip. Scaled to 0..1.");
    text @5 :TextData $A.doc("Text for a language model of bytes: tokens 0 to 255, each position labelled with the next one.");
    translation @7 :TranslationData $A.doc("Sentences and their translations, as tokens of one vocabulary of subwords.");
  }
  target @2 :DataTarget = labels $A.doc("What the model's outputs are compared with.");
  images @6 :ImageTransforms $A.doc("What is done to images on their way into a minibatch. Nothing when absent.");
  origin @8 :Text $A.doc("Where the files come from, such as the command that makes them: said where one cannot be read.");
}

enum DataTarget {
  labels @0 $A.doc("The labels that come with the samples.");
  input @1 $A.doc("The sample itself, as for an autoencoder.");
}

struct ImageTransforms {
  mean @0 :List(Float32) $A.min(-1000000) $A.max(1000000) $A.minItems(1) $A.maxItems(65536)
      $A.doc("Subtracted from the values, which are 0 to 1 for bytes: one number, or one per channel. 0 when absent.");
  deviation @1 :List(Float32) $A.min(0.000001) $A.max(1000000) $A.minItems(1) $A.maxItems(65536)
      $A.doc("What the difference is then divided by: one number, or one per channel. 1 when absent.");
  cropPadding @2 :UInt32 = 0 $A.min(0) $A.max(1024)
      $A.doc("Training images get a black border so wide and are cut back to their size at a place that differs every epoch.");
  flip @3 :Bool = false $A.doc("Mirror training images left to right, each in about every other epoch.");
}

struct IdxData {
  trainImages @0 :Text $A.required $A.path $A.doc("Training images: unsigned bytes, count x rows x columns. Scaled to 0..1.");
  trainLabels @1 :Text $A.required $A.path $A.doc("Training labels: unsigned bytes, one per image.");
  testImages @2 :Text $A.required $A.path $A.doc("Test images, same shape as the training images.");
  testLabels @3 :Text $A.required $A.path $A.doc("Test labels.");
}

struct NpyData $A.doc("Arrays of types u1, i4, i8, f4 and f8, little-endian, in C order; the first dimension is over the samples.") {
  trainInputs @0 :Text $A.required $A.path
      $A.doc("Training samples of model.input's shape: bytes, scaled to 0..1, numbers, or (i4, i8) tokens.");
  trainLabels @1 :Text $A.path $A.doc("Their labels, of any shape: whole numbers are classes, others numbers. Not used with target: input.");
  testInputs @2 :Text $A.required $A.path $A.doc("Test samples.");
  testLabels @3 :Text $A.path $A.doc("Their labels.");
}

struct CifarData {
  classes @0 :UInt32 = 10 $A.min(10) $A.max(100) $A.doc("10: CIFAR-10; 100: CIFAR-100 with its fine labels.");
  folder @1 :Text $A.path
      $A.doc("Where the files are under their own names: data_batch_1.bin to data_batch_5.bin and test_batch.bin, or train.bin and test.bin.");
  train @2 :List(Text) $A.path $A.minItems(1) $A.maxItems(1000) $A.doc("Instead of a folder: the training files.");
  test @3 :List(Text) $A.path $A.minItems(1) $A.maxItems(1000) $A.doc("Instead of a folder: the test files.");
}

struct TextData {
  train @0 :List(Text) $A.required $A.path $A.minItems(1) $A.maxItems(1000)
      $A.doc("Files to train on, plain or gzip, one behind the other; *, ? and [...] in a name stand for all files that match.");
  test @1 :List(Text) $A.path $A.minItems(1) $A.maxItems(1000)
      $A.doc("Files to test on. When absent, the end of the training text is held out.");
  testShare @2 :Float32 = 0.1 $A.min(0) $A.max(0.9) $A.doc("How much of the text is held out for the test where test names no files.");
  stride @3 :UInt32 = 0 $A.min(0) $A.max(16777216)
      $A.doc("Bytes from a sample's begin to the next one's; 0 means the sample's length, which is model.input: [LENGTH].");
}

struct TranslationData $A.doc("A sample is the source's tokens, padded to source_length, and then the target's for the rest of model.input.") {
  trainSource @0 :Text $A.required $A.path $A.doc("Sentences to train on, one a line, plain or gzip.");
  trainTarget @1 :Text $A.path
      $A.doc("Their translations, line by line. When absent, train_source has both in every line, with a tab between them.");
  testSource @2 :Text $A.required $A.path $A.doc("Sentences to test on.");
  testTarget @3 :Text $A.path $A.doc("Their translations; as train_target.");
  sourceLength @4 :UInt32 $A.required $A.min(2) $A.max(1000000)
      $A.doc("Tokens of a source, its end included: what is longer is cut. model.input is [source_length + length of a target].");
  vocabulary @5 :UInt32 = 8000 $A.min(16) $A.max(1000000)
      $A.doc("Tokens at most. Token 0 is padding; where a target is padded, the label is -1, for the loss to leave out.");
  vocabularyFile @6 :Text $A.required $A.path
      $A.doc("SentencePiece model to take the vocabulary from. Made from the training text and kept there when there is none.");
}

struct SyntheticData {
  trainSamples @0 :UInt32 = 1024 $A.min(1) $A.max(100000000) $A.doc("Number of training samples.");
  testSamples @1 :UInt32 = 256 $A.min(1) $A.max(100000000) $A.doc("Number of test samples.");
  classes @2 :UInt32 = 10 $A.min(2) $A.max(65536) $A.doc("Number of different labels.");
  vocabulary @3 :UInt32 = 0 $A.min(0) $A.max(16777216) $A.doc("Samples are tokens from 0 to below this; 0: they are numbers from 0 to 1.");
  nextToken @4 :Bool = false $A.doc("Label every position with the token after it, instead of every sample with a class.");
  sourceLength @5 :UInt32 = 0 $A.min(0) $A.max(1000000)
      $A.doc("With next_token: so many positions at the beginning of a sample have no label, as those of encoder_decoder's source.");
}

struct Model {
  input @0 :List(UInt32) $A.required $A.min(1) $A.max(1000000) $A.minItems(1) $A.maxItems(7)
      $A.doc("Shape of one sample without the batch: [channels, height, width] for images, [positions] for tokens, "
          "[features] otherwise.");
  layers @1 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096) $A.doc("Layers in order, each feeding the next.");
  loss @2 :Loss $A.doc("What training minimises.");
  precision @3 :Precision = f32 $A.doc("Of the numbers that conv2d, linear, recurrent and attention layers multiply.");
}

enum Precision {
  f32 @0 $A.doc("As they are: 24 bits of significand.");
  bf16 @1 $A.doc("Rounded to 8 bits of significand on their way into a product, whose sums are f32, as all else is: weights, "
      "gradients, optimizer, checkpoints. For processors that multiply bf16 faster (kernels/README.md), and for GPUs.");
  tf32 @2 $A.doc("Rounded to 11 bits of significand on their way into a product, on GPUs; processors take them as f32.");
  f16 @3 $A.doc("Rounded to 11 bits of significand on their way into a product, which GPUs do in half precision; sums, weights "
      "and all else are f32. Every factor of a product is scaled by itself: there is no loss scale to set, and no step is left "
      "out. Slower than f32 on processors.");
}

struct Loss {
  union {
    crossEntropy @0 :CrossEntropy $A.doc("Softmax over the last layer's outputs, then the negative log likelihood of the "
        "label; of sequences, (positions, classes), of the label of every position.");
    meanSquaredError @1 :Void $A.doc("The mean over a sample's outputs of their squared differences from the label's numbers.");
  }
}

struct CrossEntropy {
  labelSmoothing @0 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the truth that is spread evenly over all classes.");
  ignoredLabel @1 :IgnoredLabel $A.doc("The label that counts for nothing, such as that of padding.");
}

struct IgnoredLabel $A.byKind {
  union {
    none @0 :Void $A.doc("No class; only -1, with which the data marks padding.");
    label @1 :UInt32 $A.max(16777215) $A.doc("This one.");
  }
}

struct Layer $A.doc("One layer: exactly one of these.") {
  union {
    conv2d @0 :Conv2d $A.doc("Two-dimensional convolution.");
    relu @1 :Void $A.doc("max(x, 0).");
    maxPool @2 :MaxPool $A.doc("Largest value of each window.");
    linear @3 :Linear $A.doc("Matrix product. Images [channels, height, width] are flattened first; "
        "of [positions, features] every position is taken by itself.");
    gelu @4 :Void $A.doc("x times the share of a standard normal distribution below x.");
    geluTanh @5 :Void $A.doc("The approximation of gelu by tanh, as in GPT-2.");
    silu @6 :Void $A.doc("x * sigmoid(x), also called swish.");
    sigmoid @7 :Void $A.doc("1 / (1 + e^-x).");
    tanh @8 :Void $A.doc("Hyperbolic tangent.");
    residual @9 :Residual $A.doc("A block whose input is added to its output: He et al. 2016.");
    concat @10 :Concat $A.doc("Branches of the same input, their outputs behind one another along the first dimension "
        "(images: channels), as in inception blocks: Szegedy et al. 2015.");
    repeat @11 :Repeat $A.doc("The same layers several times in a row, each time with parameters of its own.");
    recompute @12 :Recompute $A.doc("Layers of which only the input is kept for the backward pass, which computes them "
        "again: less memory for a third more work. Chen et al. 2016.");
    flatten @13 :Void $A.doc("All values of a sample in one row.");
    embedding @14 :Embedding $A.doc("A row of a table for each token. A model that begins with it takes tokens.");
    averagePool @15 :AveragePool $A.doc("Mean of each window.");
    globalAveragePool @16 :Void $A.doc("Mean of each channel: [channels, 1, 1].");
    layerNorm @17 :LayerNorm $A.doc("The last dimension brought to mean 0 and deviation 1, then weight and bias: Ba et al. 2016.");
    rmsNorm @18 :RmsNorm $A.doc("The last dimension divided by its root mean square, then a weight: Zhang and Sennrich 2019.");
    batchNorm @19 :BatchNorm $A.doc("Each channel brought to mean 0 and deviation 1 over the batch (gpipe: over each microbatch), "
        "then weight and bias; in evaluation by running averages. Ioffe and Szegedy 2015.");
    localResponseNorm @20 :LocalResponseNorm
        $A.doc("Divided by a power of the sum of squares of neighbouring channels, as in AlexNet.");
    positionEmbedding @21 :PositionEmbedding $A.doc("Learned numbers added to [positions, width], the same in every sample.");
    attention @22 :Attention $A.doc("Multi-head self attention over [positions, width], with its projections, as PyTorch's "
        "MultiheadAttention: Vaswani et al. 2017.");
    dropout @23 :Dropout $A.doc("In training each value becomes 0 with this probability; the others grow to make up for it.");
    softmax @24 :Void $A.doc("Along the last dimension e^x, divided by its sum. The loss brings its own.");
    gru @25 :Recurrent $A.doc("Gated recurrent unit over sequences, (positions, features), as PyTorch's: Cho et al. 2014.");
    lstm @26 :Recurrent $A.doc("Long short-term memory over sequences, (positions, features), as PyTorch's: Hochreiter and "
        "Schmidhuber 1997.");
    encoderDecoder @27 :EncoderDecoder $A.doc("Translates: layers over the first tokens of a row, the source, and layers over "
        "the rest, the target, which read the first ones' outputs by attention_gru. Bahdanau et al. 2015.");
    attentionGru @28 :AttentionGru $A.doc("In a decoder: a gru whose input at every position is joined by what additive attention "
        "to the encoder's outputs gives for the state before it. Bahdanau et al. 2015.");
    transformer @29 :Transformer $A.doc("A block of a transformer over [positions, width], in the manner of GPT-2: attention and "
        "two linear layers, each behind a norm and with its input added to what it gives.");
  }
}

struct Residual {
  layers @0 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096) $A.doc("The block's layers in order.");
  shortcut @1 :List(Layer) $A.minItems(0) $A.maxItems(4096)
      $A.doc("Layers on the way around the block; the input itself when absent.");
}

struct Concat {
  branches @0 :List(Branch) $A.required $A.minItems(1) $A.maxItems(256) $A.doc("The branches, in the order of their outputs.");
}

struct Branch {
  layers @0 :List(Layer) $A.required $A.minItems(0) $A.maxItems(4096) $A.doc("The branch's layers in order; none: the input.");
}

struct Repeat {
  times @0 :UInt32 $A.required $A.min(1) $A.max(4096) $A.doc("How often.");
  layers @1 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096) $A.doc("The layers in order.");
}

struct Recompute {
  layers @0 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096)
      $A.doc("The layers in order. They stay together when the model is cut into stages, and count as one layer.");
}

struct Embedding {
  vocabulary @0 :UInt32 $A.required $A.min(1) $A.max(16777216) $A.doc("Number of different tokens: rows of the table.");
  width @1 :UInt32 $A.required $A.min(1) $A.max(16777216) $A.doc("Numbers per row.");
  deviation @2 :Float32 = 0.02 $A.min(0) $A.max(1000) $A.doc("Of the normal distribution of its first values; PyTorch's is 1.");
}

struct Conv2d {
  out @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Output channels.");
  kernel @1 :UInt32 $A.required $A.min(1) $A.max(1024) $A.doc("Height and width of the kernel.");
  stride @2 :UInt32 = 1 $A.min(1) $A.max(1024) $A.doc("Step of the kernel in both directions.");
  padding @3 :UInt32 = 0 $A.min(0) $A.max(1024) $A.doc("Zeros added on every side.");
  groups @4 :UInt32 = 1 $A.min(1) $A.max(65536)
      $A.doc("Parts of the channels, each convolved by itself; divides those of input and output.");
  bias @5 :Bool = true $A.doc("Add a number of its own to each output channel; of no use before batch_norm, which has one.");
}

struct MaxPool {
  kernel @0 :UInt32 $A.required $A.min(1) $A.max(1024) $A.doc("Height and width of the window.");
  stride @1 :UInt32 = 0 $A.min(0) $A.max(1024) $A.doc("Step of the window; 0 means the window's size.");
  padding @2 :UInt32 = 0 $A.min(0) $A.max(512) $A.doc("Added on every side, smaller than all values; at most half the window.");
}

struct AveragePool {
  kernel @0 :UInt32 $A.required $A.min(1) $A.max(1024) $A.doc("Height and width of the window.");
  stride @1 :UInt32 = 0 $A.min(0) $A.max(1024) $A.doc("Step of the window; 0 means the window's size.");
  padding @2 :UInt32 = 0 $A.min(0) $A.max(512) $A.doc("Zeros added on every side, which count; at most half the window.");
}

struct LayerNorm {
  epsilon @0 :Float32 = 1e-5 $A.min(0) $A.max(1) $A.doc("Added to the variance.");
}

struct RmsNorm {
  epsilon @0 :Float32 = 1e-6 $A.min(0) $A.max(1) $A.doc("Added to the mean square.");
}

struct BatchNorm {
  epsilon @0 :Float32 = 1e-5 $A.min(0) $A.max(1) $A.doc("Added to the variance.");
  momentum @1 :Float32 = 0.1 $A.min(0) $A.max(1) $A.doc("Share of a minibatch in the running averages.");
}

struct LocalResponseNorm {
  size @0 :UInt32 = 5 $A.min(1) $A.max(65536) $A.doc("Channels that count, the own one in their middle.");
  alpha @1 :Float32 = 1e-4 $A.min(0) $A.max(1000) $A.doc("Factor of the mean of squares.");
  beta @2 :Float32 = 0.75 $A.min(0) $A.max(10) $A.doc("Power that is divided by.");
  k @3 :Float32 = 1 $A.min(0.001) $A.max(1000) $A.doc("Added to the mean of squares.");
}

struct Recurrent {
  out @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Width of the state.");
  last @1 :Bool = false $A.doc("Give the state behind the last position alone, [out], instead of behind each, [positions, out].");
}

struct EncoderDecoder {
  sourceLength @0 :UInt32 $A.required $A.min(1) $A.max(1000000)
      $A.doc("Tokens of the source, padded at its end with token 0, to which attention_gru pays no attention.");
  encoder @1 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096)
      $A.doc("Layers over the source, beginning with embedding, that give [source_length, features].");
  decoder @2 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096)
      $A.doc("Layers over the target, beginning with embedding, an attention_gru among them. Their output is the block's.");
}

struct AttentionGru {
  out @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Width of the state.");
  attention @1 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Width in which states and the encoder's outputs are compared.");
}

struct Linear {
  out @0 :UInt32 $A.required $A.min(1) $A.max(16777216) $A.doc("Output features.");
  bias @1 :Bool = true $A.doc("Add a number of its own to each output feature; of no use before batch_norm, which has one.");
}

struct PositionEmbedding {
  deviation @0 :Float32 = 0.02 $A.min(0) $A.max(1000) $A.doc("Of the normal distribution of its first values.");
}

struct Attention {
  heads @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Parts of the width that attend each by itself; divides the width.");
  causal @1 :Bool = false $A.doc("A position sees itself and those before it, as in language models.");
}

struct Transformer $A.doc("Its parameters have the names of PyTorch's TransformerEncoderLayer, which norm_first=True and dropout 0 make the same.") {
  heads @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("As of attention: parts of the width; divides the width.");
  mlp @1 :UInt32 = 0 $A.min(0) $A.max(16777216) $A.doc("Width between the linear layers; 0 means four times that of the input.");
  causal @2 :Bool = false $A.doc("A position sees itself and those before it, as in language models.");
  norm @3 :TransformerNorm = layerNorm $A.doc("What stands before attention and before the linear layers.");
  activation @4 :TransformerActivation = gelu $A.doc("What stands between the linear layers.");
  dropout @5 :Float32 = 0 $A.min(0) $A.max(0.999999) $A.doc("Share of the values that attention and linear layers give that become 0.");
}

enum TransformerNorm {
  layerNorm @0 $A.doc("layer_norm with its defaults.");
  rmsNorm @1 $A.doc("rms_norm with its defaults.");
}

enum TransformerActivation {
  gelu @0 $A.doc("As the layer of this name.");
  geluTanh @1 $A.doc("As the layer of this name.");
  relu @2 $A.doc("As the layer of this name.");
  silu @3 $A.doc("As the layer of this name.");
}

struct Dropout {
  probability @0 :Float32 $A.required $A.min(0) $A.max(0.999999) $A.doc("Share of values that become 0.");
}

struct Train {
  batch @0 :UInt32 $A.required $A.min(1) $A.max(1048576) $A.doc("Samples per minibatch, of each replica where there are several; the last one of an epoch may be shorter.");
  epochs @1 :UInt32 = 1 $A.min(1) $A.max(1000000) $A.doc("Passes over the training data.");
  seed @2 :UInt64 = 1 $A.doc("Seed of initialisation and shuffling. Same seed, same run.");
  optimizer @3 :O.Optimizer $A.required $A.doc("Update rule.");
  schedule @4 :O.LearningRateSchedule $A.doc("How the learning rate changes over the run. Constant when absent.");
  shuffle @5 :Bool = true $A.doc("Visit the training samples in a new order every epoch.");
  warmupMinibatches @6 :UInt32 = 0 $A.min(0) $A.max(1000000000)
      $A.doc("The rate grows linearly over so many minibatches at the start of the run, whatever the schedule.");
  clip @7 :O.GradientClip $A.doc("A bound on the gradients that the weights are updated with. None when absent.");
  batchGrowth @8 :BatchGrowth $A.doc("Minibatches that grow over the run, where others lower the rate. They do not when absent.");
}

struct BatchGrowth {
  everyEpochs @0 :UInt32 $A.required $A.min(1) $A.max(1000000) $A.doc("Epochs between two steps.");
  factor @1 :UInt32 = 2 $A.min(2) $A.max(1024) $A.doc("What the samples per minibatch are multiplied with at each step.");
  maximum @2 :UInt32 $A.required $A.min(1) $A.max(1048576)
      $A.doc("Samples per minibatch with which it ends; memory must suffice for so many.");
}

struct Checkpoint {
  directory @0 :Text $A.required $A.path $A.doc("Folder for the checkpoints; made when missing.");
  everyEpochs @1 :UInt32 = 1 $A.min(1) $A.max(1000000) $A.doc("Epochs between two checkpoints.");
  keep @2 :UInt32 = 2 $A.min(1) $A.max(1000) $A.doc("Checkpoints kept; older ones are deleted.");
}
