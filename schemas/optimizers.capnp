@0xe9c2b4d6f8a01302;
# The part of the app definition (app.capnp) on weight updates: update rule, learning rate, bounds on gradients.

using Cxx = import "/capnp/c++.capnp";
using A = import "annotations.capnp";
$Cxx.namespace("troupe::proto");

struct Optimizer $A.doc("The update rule: exactly one of these, defined as PyTorch's rules of the same names.") {
  union {
    sgd @0 :Sgd $A.doc("Stochastic gradient descent: m = momentum * m + g; w = w - learning_rate * m.");
    adagrad @1 :Adagrad $A.doc("Steps divided by the root of the sum of squared gradients.");
    rmsprop @2 :Rmsprop $A.doc("Steps divided by the root of the running average of squared gradients.");
    adadelta @3 :Adadelta $A.doc("rmsprop with steps multiplied by the root of the running average of their squares.");
    adam @4 :Adam $A.doc("Running average of gradients divided by the root of the running average of their squares.");
    adamw @5 :Adamw $A.doc("adam with weight decay applied to the weight instead of added to its gradient.");
    lars @6 :Lars
        $A.doc("sgd with each weight's rate scaled by the ratio of its norm to its gradient's; for large batches.");
    lamb @7 :Lamb $A.doc("adamw with each weight's step scaled to the weight's norm; for large batches.");
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
  epsilon @1 :Float32 = 1e-10 $A.min(0) $A.max(1) $A.doc("Added to the divisor.");
  weightDecay @2 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Rmsprop {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  decay @1 :Float32 = 0.99 $A.min(0) $A.max(0.999999) $A.doc("Share of the running average that is kept (PyTorch: alpha).");
  epsilon @2 :Float32 = 1e-8 $A.min(0) $A.max(1) $A.doc("Added to the divisor.");
  weightDecay @3 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Adadelta {
  learningRate @0 :Float32 = 1 $A.min(0) $A.max(1000) $A.doc("Step size; the rule scales its own steps, so 1 is usual.");
  decay @1 :Float32 = 0.9 $A.min(0) $A.max(0.999999) $A.doc("Share of the running averages that is kept (PyTorch: rho).");
  epsilon @2 :Float32 = 1e-6 $A.min(0) $A.max(1) $A.doc("Added under both roots.");
  weightDecay @3 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Adam {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  beta1 @1 :Float32 = 0.9 $A.min(0) $A.max(0.999999) $A.doc("Share of the gradients' running average that is kept.");
  beta2 @2 :Float32 = 0.999 $A.min(0) $A.max(0.999999) $A.doc("Share of the squares' running average that is kept.");
  epsilon @3 :Float32 = 1e-8 $A.min(0) $A.max(1) $A.doc("Added to the divisor.");
  weightDecay @4 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
}

struct Adamw {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  beta1 @1 :Float32 = 0.9 $A.min(0) $A.max(0.999999) $A.doc("Share of the gradients' running average that is kept.");
  beta2 @2 :Float32 = 0.999 $A.min(0) $A.max(0.999999) $A.doc("Share of the squares' running average that is kept.");
  epsilon @3 :Float32 = 1e-8 $A.min(0) $A.max(1) $A.doc("Added to the divisor.");
  weightDecay @4 :Float32 = 0.01 $A.min(0) $A.max(1) $A.doc("Share of the weight subtracted per step, times learning_rate.");
}

struct Lars {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  momentum @1 :Float32 = 0.9 $A.min(0) $A.max(0.99999) $A.doc("Share of the last step that is kept.");
  weightDecay @2 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to its gradient.");
  trust @3 :Float32 = 0.001 $A.min(0) $A.max(1)
      $A.doc("Each weight's gradient is scaled to this share of the weight's norm. Gradients of biases are not scaled.");
}

struct Lamb {
  learningRate @0 :Float32 $A.required $A.min(0) $A.max(1000) $A.doc("Step size.");
  beta1 @1 :Float32 = 0.9 $A.min(0) $A.max(0.999999) $A.doc("Share of the gradients' running average that is kept.");
  beta2 @2 :Float32 = 0.999 $A.min(0) $A.max(0.999999) $A.doc("Share of the squares' running average that is kept.");
  epsilon @3 :Float32 = 1e-6 $A.min(0) $A.max(1) $A.doc("Added to the divisor.");
  weightDecay @4 :Float32 = 0 $A.min(0) $A.max(1) $A.doc("Share of the weight that is added to the step.");
}

struct LearningRateSchedule {
  union {
    constant @0 :Void $A.doc("The same rate throughout.");
    step @1 :StepSchedule $A.doc("The rate is multiplied by a factor at a fixed interval, counted from the warm-up's end.");
    cosine @2 :CosineSchedule
        $A.doc("Half a cosine down to a share of the rate, minibatch by minibatch: it begins with the first after the "
            "warm-up and ends with the run's last.");
    polynomial @3 :PolynomialSchedule
        $A.doc("A polynomial down to a share of the rate, minibatch by minibatch: it begins with the first after the "
            "warm-up and ends with the run's last; linear unless power is set.");
  }
}

struct StepSchedule {
  everyEpochs @0 :UInt32 $A.required $A.min(1) $A.max(1000000) $A.doc("Epochs between two steps, and from the warm-up's end to the first.");
  factor @1 :Float32 = 0.1 $A.min(0) $A.max(1) $A.doc("Factor by which the rate is multiplied at each step.");
}

struct CosineSchedule {
  finalFactor @0 :Float32 = 0 $A.min(0) $A.max(1)
      $A.doc("The rate of the run's last minibatch, as a share of the configured rate.");
}

struct PolynomialSchedule {
  power @0 :Float32 = 1 $A.min(0) $A.max(100)
      $A.doc("Exponent of the remaining share of the run: 1 is a straight line, 2 a parabola.");
  finalFactor @1 :Float32 = 0 $A.min(0) $A.max(1)
      $A.doc("The rate of the run's last minibatch, as a share of the configured rate.");
}

struct GradientClip {
  union {
    none @0 :Void $A.doc("No bound.");
    value @1 :Float32 $A.min(0.000001) $A.max(1000000)
        $A.doc("Bound on the absolute value of each gradient element.");
    norm @2 :Float32 $A.min(0.000001) $A.max(1000000)
        $A.doc("Gradients are scaled down if their norm over all weights of the model exceeds this. Under pipedream, whose "
            "stages do not wait for each other, and with a parameter server, the norm is taken over the weights of each "
            "stage separately.");
  }
}
