@0xe9c2b4d6f8a01301;
# The app definition, written by the user in APP.yaml. The loader reads the YAML straight into this struct; keys are the
# field names in snake_case. Unknown or repeated keys, wrong types and values out of range are errors. This file is the only
# source of defaults, ranges and documentation: `troupe explain KEY` and the editors' JSON Schema are generated from it.

using Cxx = import "/capnp/c++.capnp";
using A = import "annotations.capnp";
using O = import "optimizers.capnp";
using T = import "topology.capnp";
$Cxx.namespace("troupe::proto");

struct App $A.doc("A training job: data, model, training and topology.") {
  troupe @0 :UInt16 $A.required $A.min(1) $A.max(1) $A.doc("Version of the app file format. This build reads 1.");
  data @1 :Data $A.required $A.doc("Source of the training and test samples.");
  model @2 :Model $A.required $A.doc("The network, as a list of layers, and its loss.");
  train @3 :Train $A.required $A.doc("Number of epochs, batch size, optimizer and learning rate.");
  topology @4 :T.Topology $A.doc("Distribution of the model over devices. One device when absent.");
  checkpoint @5 :Checkpoint $A.doc("Folder and frequency of checkpoints. Nothing is saved when absent.");
  base @6 :Text $A.path $A.doc("Another app file, which provides the keys that this one does not set.");
}

struct Data $A.doc("Exactly one source of samples, and the processing applied to them.") {
  union {
    idx @0 :IdxData $A.doc("IDX files, the format of MNIST and Fashion-MNIST, plain or gzip.");
    synthetic @1 :SyntheticData $A.doc("Random samples with learnable labels, for tests and benchmarks.");
    npy @3 :NpyData $A.doc("NumPy arrays: .npy files, or members of .npz archives as FILE.npz:MEMBER.");
    cifar @4 :CifarData $A.doc("CIFAR-10 or CIFAR-100 in the binary version, plain or gzip. Scaled to 0..1.");
    text @5 :TextData
        $A.doc("Text for a byte-level language model: tokens 0 to 255, each position labelled with the next token.");
    translation @7 :TranslationData $A.doc("Sentences and their translations, as tokens of one shared subword vocabulary.");
  }
  target @2 :DataTarget = labels $A.doc("Target that the model's outputs are compared with.");
  images @6 :ImageTransforms $A.doc("Transforms of images, applied as a minibatch is assembled. None when absent.");
  origin @8 :Text $A.doc("Origin of the files, such as the command that creates them; quoted in the error message when a "
          "file cannot be read.");
}

enum DataTarget {
  labels @0 $A.doc("The labels that come with the samples.");
  input @1 $A.doc("The sample itself, as for an autoencoder.");
}

struct ImageTransforms {
  mean @0 :List(Float32) $A.min(-1000000) $A.max(1000000) $A.minItems(1) $A.maxItems(65536)
      $A.doc("Subtracted from the values, which are 0 to 1 for bytes: one number, or one per channel. 0 when absent.");
  deviation @1 :List(Float32) $A.min(0.000001) $A.max(1000000) $A.minItems(1) $A.maxItems(65536)
      $A.doc("Divisor of the values after the mean is subtracted: one number, or one per channel. 1 when absent.");
  cropPadding @2 :UInt32 = 0 $A.min(0) $A.max(1024)
      $A.doc("Width of the black border added to training images before they are cropped back to their size, at a position "
          "that differs every epoch.");
  flip @3 :Bool = false $A.doc("Mirror training images left to right, each in about every second epoch.");
}

struct IdxData {
  trainImages @0 :Text $A.required $A.path
      $A.doc("Training images: unsigned bytes, count x rows x columns; scaled to 0..1.");
  trainLabels @1 :Text $A.required $A.path $A.doc("Training labels: unsigned bytes, one per image.");
  testImages @2 :Text $A.required $A.path $A.doc("Test images, of the same shape as the training images.");
  testLabels @3 :Text $A.required $A.path $A.doc("Test labels.");
}

struct NpyData
    $A.doc("Arrays of types b1, u1, i1, i2, i4, i8, u2, u4, f2, f4 and f8, in C order; the first dimension is the sample.") {
  trainInputs @0 :Text $A.required $A.path
      $A.doc("Training samples of model.input's shape: bytes, scaled to 0..1, numbers, or (i4, i8) tokens.");
  trainLabels @1 :Text $A.path
      $A.doc("Training labels, of any shape: integers are classes, floats are values. Not used with target: input.");
  testInputs @2 :Text $A.required $A.path $A.doc("Test samples.");
  testLabels @3 :Text $A.path $A.doc("Test labels.");
}

struct CifarData {
  classes @0 :UInt32 = 10 $A.min(10) $A.max(100) $A.doc("10: CIFAR-10; 100: CIFAR-100 with its fine labels.");
  folder @1 :Text $A.path
      $A.doc("Folder with the files under their original names: data_batch_1.bin to data_batch_5.bin and test_batch.bin, "
          "or train.bin and test.bin.");
  train @2 :List(Text) $A.path $A.minItems(1) $A.maxItems(1000) $A.doc("Training files, instead of a folder.");
  test @3 :List(Text) $A.path $A.minItems(1) $A.maxItems(1000) $A.doc("Test files, instead of a folder.");
}

struct TextData {
  train @0 :List(Text) $A.required $A.path $A.minItems(1) $A.maxItems(1000)
      $A.doc("Training files, plain or gzip, concatenated; *, ? and [...] in a name match several files.");
  test @1 :List(Text) $A.path $A.minItems(1) $A.maxItems(1000)
      $A.doc("Test files. When absent, the end of the training text is held out.");
  testShare @2 :Float32 = 0.1 $A.min(0) $A.max(0.9)
      $A.doc("Share of the text held out for the test when test names no files.");
  stride @3 :UInt32 = 0 $A.min(0) $A.max(16777216)
      $A.doc("Bytes from the start of one sample to the start of the next; 0 means the sample's length, which is "
          "model.input: [LENGTH].");
}

struct TranslationData $A.doc("A sample is the source's tokens, padded to source_length, followed by the target's tokens "
        "in the rest of model.input.") {
  trainSource @0 :Text $A.required $A.path $A.doc("Training sentences, one per line, plain or gzip.");
  trainTarget @1 :Text $A.path
      $A.doc("Translations of the training sentences, line by line. When absent, each line of train_source holds both, "
          "separated by a tab.");
  testSource @2 :Text $A.required $A.path $A.doc("Test sentences.");
  testTarget @3 :Text $A.path $A.doc("Translations of the test sentences, in the form of train_target.");
  sourceLength @4 :UInt32 $A.required $A.min(2) $A.max(1000000)
      $A.doc("Tokens of a source including its end; longer sources are cut. model.input is [source_length + length of a "
          "target].");
  vocabulary @5 :UInt32 = 8000 $A.min(16) $A.max(1000000)
      $A.doc("Maximum number of tokens. Token 0 is padding; padded target positions get label -1, which the loss ignores.");
  vocabularyFile @6 :Text $A.required $A.path
      $A.doc("SentencePiece model that holds the vocabulary. Built from the training text and saved there if the file does "
          "not exist.");
}

struct SyntheticData {
  trainSamples @0 :UInt32 = 1024 $A.min(1) $A.max(100000000) $A.doc("Number of training samples.");
  testSamples @1 :UInt32 = 256 $A.min(1) $A.max(100000000) $A.doc("Number of test samples.");
  classes @2 :UInt32 = 10 $A.min(2) $A.max(65536) $A.doc("Number of different labels.");
  vocabulary @3 :UInt32 = 0 $A.min(0) $A.max(16777216)
      $A.doc("Number of distinct tokens; samples are tokens 0 to vocabulary - 1. 0: samples are numbers from 0 to 1.");
  nextToken @4 :Bool = false
      $A.doc("Label every position with the token after it, instead of labelling every sample with a class.");
  sourceLength @5 :UInt32 = 0 $A.min(0) $A.max(1000000)
      $A.doc("With next_token: number of unlabelled positions at the start of a sample, like the source of "
          "encoder_decoder.");
}

struct Model {
  input @0 :List(UInt32) $A.required $A.min(1) $A.max(1000000) $A.minItems(1) $A.maxItems(7)
      $A.doc("Shape of one sample without the batch dimension: [channels, height, width] for images, [positions] for "
          "tokens, [features] otherwise.");
  layers @1 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096) $A.doc("Layers in order, each feeding the next.");
  loss @2 :Loss $A.doc("The loss function that training minimises.");
  precision @3 :Precision = f32 $A.doc("Precision of the products in conv2d, linear, recurrent and attention layers.");
}

enum Precision {
  f32 @0 $A.doc("Factors unrounded: 24 bits of significand.");
  bf16 @1 $A.doc("Factors rounded to 8 bits of significand; sums are f32, and so is everything else: weights, gradients, "
          "optimizer, checkpoints. For processors that multiply bf16 faster (kernels/README.md), and for GPUs.");
  tf32 @2 $A.doc("Factors rounded to 11 bits of significand on GPUs; processors compute in f32.");
  f16 @3 $A.doc("Factors rounded to 11 bits of significand, multiplied on GPUs in half precision; sums, weights and "
          "everything else are f32. Each factor of a product has a scale of its own: there is no loss scale to set, and no "
          "step is skipped. Slower than f32 on processors.");
}

struct Loss {
  union {
    crossEntropy @0 :CrossEntropy $A.doc("Softmax over the last layer's outputs, then the negative log likelihood of the "
            "label; for sequences, (positions, classes), of the label of every position.");
    meanSquaredError @1 :Void
        $A.doc("The mean, over a sample's outputs, of the squared difference from the label's values.");
  }
}

struct CrossEntropy {
  labelSmoothing @0 :Float32 = 0 $A.min(0) $A.max(1)
      $A.doc("Share of the target distribution that is spread evenly over all classes.");
  ignoredLabel @1 :IgnoredLabel $A.doc("A label that the loss ignores, such as that of padding.");
}

struct IgnoredLabel $A.byKind {
  union {
    none @0 :Void $A.doc("-1 alone, the data's mark for padding; no class is ignored.");
    label @1 :UInt32 $A.max(16777215) $A.doc("This label, instead of -1.");
  }
}

struct Layer $A.doc("One layer: exactly one of these.") {
  union {
    conv2d @0 :Conv2d $A.doc("Two-dimensional convolution.");
    relu @1 :Void $A.doc("max(x, 0).");
    maxPool @2 :MaxPool $A.doc("Largest value of each window.");
    linear @3 :Linear $A.doc("Matrix product. Images [channels, height, width] are flattened first; of [positions, "
            "features], every position is a separate row.");
    gelu @4 :Void $A.doc("x times the standard normal cumulative distribution function at x.");
    geluTanh @5 :Void $A.doc("The tanh approximation of gelu, as in GPT-2.");
    silu @6 :Void $A.doc("x * sigmoid(x), also called swish.");
    sigmoid @7 :Void $A.doc("1 / (1 + e^-x).");
    tanh @8 :Void $A.doc("Hyperbolic tangent.");
    residual @9 :Residual $A.doc("A block whose input is added to its output: He et al. 2016.");
    concat @10 :Concat $A.doc("Branches of the same input, their outputs concatenated along the first dimension (images: "
            "channels), as in inception blocks: Szegedy et al. 2015.");
    repeat @11 :Repeat $A.doc("The same layers several times in sequence, each time with separate parameters.");
    recompute @12 :Recompute $A.doc("Layers whose intermediate values are recomputed in the backward pass, which keeps "
            "their input alone: less memory for a third more work. Chen et al. 2016.");
    flatten @13 :Void $A.doc("All values of a sample in one row.");
    embedding @14 :Embedding $A.doc("A table row for each token. A model that begins with this layer takes tokens.");
    averagePool @15 :AveragePool $A.doc("Mean of each window.");
    globalAveragePool @16 :Void $A.doc("Mean of each channel: [channels, 1, 1].");
    layerNorm @17 :LayerNorm
        $A.doc("Normalises the last dimension to mean 0 and deviation 1, then applies weight and bias: Ba et al. 2016.");
    rmsNorm @18 :RmsNorm
        $A.doc("Divides the last dimension by its root mean square, then applies a weight: Zhang and Sennrich 2019.");
    batchNorm @19 :BatchNorm $A.doc("Normalises each channel to mean 0 and deviation 1 over the batch (gpipe: over each "
            "microbatch), then applies weight and bias; evaluation uses running averages. Ioffe and Szegedy 2015.");
    localResponseNorm @20 :LocalResponseNorm
        $A.doc("Divides each value by a power of the sum of squares over neighbouring channels, as in AlexNet.");
    positionEmbedding @21 :PositionEmbedding $A.doc("Learned values added to [positions, width], the same in every sample.");
    attention @22 :Attention $A.doc("Multi-head self-attention over [positions, width] with its projections, as PyTorch's "
            "MultiheadAttention: Vaswani et al. 2017.");
    dropout @23 :Dropout
        $A.doc("In training, sets each value to 0 with this probability and scales up the others to compensate.");
    softmax @24 :Void
        $A.doc("e^x divided by its sum, along the last dimension. The cross-entropy loss includes its own softmax.");
    gru @25 :Recurrent $A.doc("Gated recurrent unit over sequences, (positions, features), as PyTorch's: Cho et al. 2014.");
    lstm @26 :Recurrent $A.doc("Long short-term memory over sequences, (positions, features), as PyTorch's: Hochreiter and "
        "Schmidhuber 1997.");
    encoderDecoder @27 :EncoderDecoder $A.doc("A translation block: an encoder over the first tokens of a row, the source, "
            "and a decoder over the rest, the target, which reads the encoder's outputs through attention_gru. Bahdanau et "
            "al. 2015.");
    attentionGru @28 :AttentionGru $A.doc("In a decoder: a gru whose input at every position is joined by the context that "
            "additive attention over the encoder's outputs computes from the previous state. Bahdanau et al. 2015.");
    transformer @29 :Transformer $A.doc("A transformer block over [positions, width] in the style of GPT-2: attention and "
            "two linear layers, each behind a norm and with a residual connection around it.");
  }
}

struct Residual {
  layers @0 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096) $A.doc("The block's layers in order.");
  shortcut @1 :List(Layer) $A.minItems(0) $A.maxItems(4096)
      $A.doc("Layers of the shortcut; the identity when absent.");
}

struct Concat {
  branches @0 :List(Branch) $A.required $A.minItems(1) $A.maxItems(256)
      $A.doc("The branches, in the order of their outputs.");
}

struct Branch {
  layers @0 :List(Layer) $A.required $A.minItems(0) $A.maxItems(4096)
      $A.doc("The branch's layers in order; none: the identity.");
}

struct Repeat {
  times @0 :UInt32 $A.required $A.min(1) $A.max(4096) $A.doc("Number of repetitions.");
  layers @1 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096) $A.doc("The layers in order.");
}

struct Recompute {
  layers @0 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096)
      $A.doc("The layers in order. They are never split across stages, and count as one layer.");
}

struct Embedding {
  vocabulary @0 :UInt32 $A.required $A.min(1) $A.max(16777216) $A.doc("Number of distinct tokens: rows of the table.");
  width @1 :UInt32 $A.required $A.min(1) $A.max(16777216) $A.doc("Numbers per row.");
  deviation @2 :Float32 = 0.02 $A.min(0) $A.max(1000)
      $A.doc("Standard deviation of the normal distribution of the initial values; PyTorch's is 1.");
}

struct Conv2d {
  out @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Output channels.");
  kernel @1 :UInt32 $A.required $A.min(1) $A.max(1024) $A.doc("Height and width of the kernel.");
  stride @2 :UInt32 = 1 $A.min(1) $A.max(1024) $A.doc("Step of the kernel in both directions.");
  padding @3 :UInt32 = 0 $A.min(0) $A.max(1024) $A.doc("Zeros added on every side.");
  groups @4 :UInt32 = 1 $A.min(1) $A.max(65536)
      $A.doc("Groups of channels, each convolved separately; divides the numbers of input and output channels.");
  bias @5 :Bool = true $A.doc("Add a bias to each output channel; redundant before batch_norm, which has one.");
}

struct MaxPool {
  kernel @0 :UInt32 $A.required $A.min(1) $A.max(1024) $A.doc("Height and width of the window.");
  stride @1 :UInt32 = 0 $A.min(0) $A.max(1024) $A.doc("Step of the window; 0 means the window's size.");
  padding @2 :UInt32 = 0 $A.min(0) $A.max(512)
      $A.doc("Padding on every side with values below all others; at most half the window.");
}

struct AveragePool {
  kernel @0 :UInt32 $A.required $A.min(1) $A.max(1024) $A.doc("Height and width of the window.");
  stride @1 :UInt32 = 0 $A.min(0) $A.max(1024) $A.doc("Step of the window; 0 means the window's size.");
  padding @2 :UInt32 = 0 $A.min(0) $A.max(512)
      $A.doc("Zeros added on every side and counted in the mean; at most half the window.");
}

struct LayerNorm {
  epsilon @0 :Float32 = 1e-5 $A.min(0) $A.max(1) $A.doc("Added to the variance.");
}

struct RmsNorm {
  epsilon @0 :Float32 = 1e-6 $A.min(0) $A.max(1) $A.doc("Added to the mean square.");
}

struct BatchNorm {
  epsilon @0 :Float32 = 1e-5 $A.min(0) $A.max(1) $A.doc("Added to the variance.");
  momentum @1 :Float32 = 0.1 $A.min(0) $A.max(1) $A.doc("Weight of a minibatch in the running averages.");
}

struct LocalResponseNorm {
  size @0 :UInt32 = 5 $A.min(1) $A.max(65536)
      $A.doc("Number of neighbouring channels in the sum, centred on the channel itself.");
  alpha @1 :Float32 = 1e-4 $A.min(0) $A.max(1000) $A.doc("Factor of the mean of squares.");
  beta @2 :Float32 = 0.75 $A.min(0) $A.max(10) $A.doc("Exponent of the divisor.");
  k @3 :Float32 = 1 $A.min(0.001) $A.max(1000) $A.doc("Added to the mean of squares.");
}

struct Recurrent {
  out @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Width of the state.");
  last @1 :Bool = false
      $A.doc("Output only the state after the last position, [out], instead of the state after each, [positions, out].");
}

struct EncoderDecoder {
  sourceLength @0 :UInt32 $A.required $A.min(1) $A.max(1000000)
      $A.doc("Tokens of the source, padded at the end with token 0, which attention_gru masks.");
  encoder @1 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096)
      $A.doc("Layers over the source, starting with embedding; their output is [source_length, features].");
  decoder @2 :List(Layer) $A.required $A.minItems(1) $A.maxItems(4096)
      $A.doc("Layers over the target, starting with embedding and including an attention_gru. Their output is the block's.");
}

struct AttentionGru {
  out @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Width of the state.");
  attention @1 :UInt32 $A.required $A.min(1) $A.max(65536)
      $A.doc("Width of the space in which states and the encoder's outputs are compared.");
}

struct Linear {
  out @0 :UInt32 $A.required $A.min(1) $A.max(16777216) $A.doc("Output features.");
  bias @1 :Bool = true $A.doc("Add a bias to each output feature; redundant before batch_norm, which has one.");
}

struct PositionEmbedding {
  deviation @0 :Float32 = 0.02 $A.min(0) $A.max(1000)
      $A.doc("Standard deviation of the normal distribution of the initial values.");
}

struct Attention {
  heads @0 :UInt32 $A.required $A.min(1) $A.max(65536)
      $A.doc("Number of heads, each attending over its own part of the width; divides the width.");
  causal @1 :Bool = false $A.doc("Each position attends to itself and earlier positions only, as in language models.");
}

struct Transformer $A.doc("The parameters have the names of PyTorch's TransformerEncoderLayer; with norm_first=True and "
        "dropout 0 it computes the same.") {
  heads @0 :UInt32 $A.required $A.min(1) $A.max(65536) $A.doc("Number of attention heads; divides the width.");
  mlp @1 :UInt32 = 0 $A.min(0) $A.max(16777216)
      $A.doc("Width between the two linear layers; 0 means four times the input width.");
  causal @2 :Bool = false $A.doc("Each position attends to itself and earlier positions only, as in language models.");
  norm @3 :TransformerNorm = layerNorm $A.doc("Normalisation before attention and before the linear layers.");
  activation @4 :TransformerActivation = gelu $A.doc("Activation between the two linear layers.");
  dropout @5 :Float32 = 0 $A.min(0) $A.max(0.999999)
      $A.doc("Share of the outputs of attention and of the linear layers that is set to 0.");
}

enum TransformerNorm {
  layerNorm @0 $A.doc("layer_norm with its default settings.");
  rmsNorm @1 $A.doc("rms_norm with its default settings.");
}

enum TransformerActivation {
  gelu @0 $A.doc("The layer gelu.");
  geluTanh @1 $A.doc("The layer gelu_tanh.");
  relu @2 $A.doc("The layer relu.");
  silu @3 $A.doc("The layer silu.");
}

struct Dropout {
  probability @0 :Float32 $A.required $A.min(0) $A.max(0.999999) $A.doc("Share of values set to 0.");
}

struct Train {
  batch @0 :UInt32 $A.required $A.min(1) $A.max(1048576)
      $A.doc("Samples per minibatch, of each replica if there are several; the last minibatch of an epoch may be smaller.");
  epochs @1 :UInt32 = 1 $A.min(1) $A.max(1000000) $A.doc("Passes over the training data.");
  seed @2 :UInt64 = 1 $A.doc("Seed of initialisation and shuffling. The same seed gives the same run.");
  optimizer @3 :O.Optimizer $A.required $A.doc("Update rule.");
  schedule @4 :O.LearningRateSchedule $A.doc("Change of the learning rate from the end of the warm-up to the end of the run. Constant when absent.");
  shuffle @5 :Bool = true $A.doc("Visit the training samples in a new order every epoch.");
  warmupMinibatches @6 :UInt32 = 0 $A.min(0) $A.max(1000000000)
      $A.doc("Minibatches of all replicas at the start of the run over which the rate grows linearly, up to the configured "
          "one with the last of them. The schedule begins with the next.");
  clip @7 :O.GradientClip $A.doc("Bound on the gradients before an update. None when absent.");
  batchGrowth @8 :BatchGrowth
      $A.doc("Growth of the minibatch over the run, as an alternative to a falling learning rate. None when absent.");
}

struct BatchGrowth {
  everyEpochs @0 :UInt32 $A.required $A.min(1) $A.max(1000000) $A.doc("Epochs between two steps.");
  factor @1 :UInt32 = 2 $A.min(2) $A.max(1024)
      $A.doc("Factor by which the samples per minibatch are multiplied at each step.");
  maximum @2 :UInt32 $A.required $A.min(1) $A.max(1048576)
      $A.doc("Largest number of samples per minibatch; memory must suffice for it.");
}

struct Checkpoint {
  directory @0 :Text $A.required $A.path $A.doc("Folder for the checkpoints; created if missing.");
  everyEpochs @1 :UInt32 = 1 $A.min(1) $A.max(1000000) $A.doc("Epochs between two checkpoints.");
  keep @2 :UInt32 = 2 $A.min(1) $A.max(1000) $A.doc("Checkpoints kept; older ones are deleted.");
}
