@0xe9c2b4d6f8a01302;
# The part of the app definition (app.capnp) that says how weights change: update rule, learning rate, bounds on gradients.

using Cxx = import "/capnp/c++.capnp";
using A = import "annotations.capnp";
$Cxx.namespace("troupe::proto");

struct Optimizer $A.doc("The update rule: exactly one of these, as PyTorch's rules of these names.") {
  union {
    sgd @0 :Sgd $A.doc("Stochastic gradient descent: m = momentum * m + g; w = w - learning_rate * m.");
    adagrad @1 :Adagrad $A.doc("Steps divided by the root of the sum of squared gradients.");
    rmsprop @2 :Rmsprop $A.doc("Steps divided by the root of the running average of squared gradients.");
    adadelta @3 :Adadelta $A.doc("rmsprop whose steps are multiplied by the root of the running average of their squares.");
    adam @4 :Adam $A.doc("Running average of gradients divided by the root of that of their squares.");
    adamw @5 :Adamw $A.doc("adam with weight decay beside the gradient instead of in it.");
    lars @6 :Lars $A.doc("sgd whose rate for each weight is scaled by its norm beside its gradient's; for large batches.");
    lamb @7 :Lamb $A.doc("adamw whose step for each weight is scaled to the weight's norm; for large batches.");
  }
}

struct Sgd {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  momentum @1 :Float32 = 0 $A.min(0) $A.max(0.99999) $A.doc("Share of the last step that is kept.");
  nesterov @2 :Bool = false $A.doc("Look ahead: step by g + momentum * m instead of m.");
  weightDecay @3 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Adagrad {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  epsilon @1 :Float32 = 1e-10 $A.min(0) $A.max(1) $A.doc("Added to what is divided by.");
  weightDecay @2 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Rmsprop {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  decay @1 :Float32 = 0.99 $A.min(0) $A.max(0.999999) $A.doc("Share of the running average that is kept (PyTorch: alpha).");
  epsilon @2 :Float32 = 1e-8 $A.min(0) $A.max(1) $A.doc("Added to what is divided by.");
  weightDecay @3 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Adadelta {
  learningRate @0 :Float32 = 1 $A.min(0) $A.max(1000) $A.doc("Step size; the rule finds its own, so 1 is usual.");
  decay @1 :Float32 = 0.9 $A.min(0) $A.max(0.999999) $A.doc("Share of the running averages that is kept (PyTorch: rho).");
  epsilon @2 :Float32 = 1e-6 $A.min(0) $A.max(1) $A.doc("Added under both roots.");
  weightDecay @3 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Adam {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  beta1 @1 :Float32 = 0.9 $A.min(0) $A.max(0.999999) $A.doc("Share of the gradients' running average that is kept.");
  beta2 @2 :Float32 = 0.999 $A.min(0) $A.max(0.999999) $A.doc("Share of the squares' running average that is kept.");
  epsilon @3 :Float32 = 1e-8 $A.min(0) $A.max(1) $A.doc("Added to what is divided by.");
  weightDecay @4 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Adamw {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  beta1 @1 :Float32 = 0.9 $A.min(0) $A.max(0.999999) $A.doc("Share of the gradients' running average that is kept.");
  beta2 @2 :Float32 = 0.999 $A.min(0) $A.max(0.999999) $A.doc("Share of the squares' running average that is kept.");
  epsilon @3 :Float32 = 1e-8 $A.min(0) $A.max(1) $A.doc("Added to what is divided by.");
  weightDecay @4 :Float32 = 0.01 $A.min(0) $A.max(1) $A.doc("Share of the weight that goes per step, times learning_rate.");
}

struct Lars {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  momentum @1 :Float32 = 0.9 $A.min(0) $A.max(0.99999) $A.doc("Share of the last step that is kept.");
  weightDecay @2 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
  trust @3 :Float32 = 0.001 $A.min(0) $A.max(1)
      $A.doc("A weight's gradient is scaled to this share of the weight's norm. Biases keep theirs.");
}

struct Lamb {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  beta1 @1 :Float32 = 0.9 $A.min(0) $A.max(0.999999) $A.doc("Share of the gradients' running average that is kept.");
  beta2 @2 :Float32 = 0.999 $A.min(0) $A.max(0.999999) $A.doc("Share of the squares' running average that is kept.");
  epsilon @3 :Float32 = 1e-6 $A.min(0) $A.max(1) $A.doc("Added to what is divided by.");
  weightDecay @4 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to the step.");
}

struct LearningRateSchedule {
  union {
    constant @0 :Void $A.doc("The same rate throughout.");
    step @1 :StepSchedule $A.doc("Multiply the rate by a factor every so many epochs.");
    cosine @2 :CosineSchedule $A.doc("Half a cosine down to a share of the rate, in one step per epoch.");
    polynomial @3 :PolynomialSchedule
        $A.doc("Down to a share of the rate, in one step per minibatch, from the end of the warm-up to that of the run; "
               "a straight line unless it has a power.");
  }
}

struct StepSchedule {
  everyEpochs @0 :UInt32 $A.required $A.min(1) $A.max(1000000) $A.doc("Epochs between two steps.");
  factor @1 :Float32 = 0.1 $A.min(0) $A.max(1) $A.doc("What the rate is multiplied with at each step.");
}

struct CosineSchedule {
  finalFactor @0 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("The last epoch's rate as a share of the first's.");
}

struct PolynomialSchedule {
  power @0 :Float32 = 1 $A.min(0) $A.max(100) $A.doc("Of the share of the way that is left: 1 is a straight line, 2 a parabola.");
  finalFactor @1 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Where the rate arrives after the last minibatch, as a share of it.");
}

struct GradientClip {
  union {
    none @0 :Void $A.doc("Gradients as they are.");
    value @1 :Float32 $A.min(0.000001) $A.max(1000000)
        $A.doc("No element of a gradient is above this, or below its negative.");
    norm @2 :Float32 $A.min(0.000001) $A.max(1000000)
        $A.doc("Gradients are scaled down where their norm over all weights of the model is larger than this. Under "
               "pipedream, whose stages do not wait for each other, and for a parameter server over the weights of each "
               "stage by itself.");
  }
}
