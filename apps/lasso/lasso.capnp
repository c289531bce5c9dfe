@0xe9c2b4d6f8a01310;
# Settings of the program "lasso".

using Cxx = import "/capnp/c++.capnp";
using A = import "/schemas/annotations.capnp";
$Cxx.namespace("troupe::proto");

struct LassoSettings
    $A.doc("Least squares, or logistic regression, with an L1 penalty (Lasso) or with L1 and L2 penalties (elastic net). "
        "Minimises loss + lambda (ratio |b|_1 + (1 - ratio) / 2 |b|_2^2), where the loss is |y - X b - b0|^2 / 2n, or what "
        "`loss` says, and n is the number of rows.") {
  penalty @0 :LassoPenalty $A.required $A.doc("The penalty's size, or a path of sizes: exactly one of these.");
  ratio @1 :Float64 = 1 $A.min(0.001) $A.max(1)
      $A.doc("Share of the L1 penalty. 1: Lasso; below it an elastic net, which keeps more of a group of similar columns.");
  intercept @2 :Bool = true
      $A.doc("Fit a constant b0, which is not penalised. False: the columns and the targets are used as they are.");
  loss @4 :LassoLoss = squared $A.doc("How predictions are compared with the targets.");
  target @3 :LassoTarget $A.doc("The numbers that are fitted. The targets as they are when absent.");
}

enum LassoLoss {
  squared @0 $A.doc("Least squares: |y - X b - b0|^2 / 2n.");
  logistic @1 $A.doc("Logistic regression: the mean of log(1 + exp(-y (X b + b0))), where y is 1 or -1. The targets are two "
      "classes, 0 and 1 or -1 and 1, or one label against the rest (target).");
}

struct LassoPenalty {
  union {
    lambda @0 :Float64 $A.min(1e-30) $A.max(1e30) $A.doc("lambda itself.");
    share @1 :Float64 $A.min(1e-9) $A.max(1)
        $A.doc("lambda as a share of the smallest one at which all coefficients are 0.");
    path @2 :LassoPath
        $A.doc("Many values of lambda, from the smallest one at which all coefficients are 0 downwards. Each begins with the "
            "coefficients of the one before, as soon as that one's gap is below stop.gap.");
  }
}

struct LassoPath {
  count @0 :UInt32 = 100 $A.min(2) $A.max(10000) $A.doc("Number of values.");
  ratio @1 :Float64 = 0.001 $A.min(1e-9) $A.max(0.999999)
      $A.doc("The last value as a share of the first; those between are spaced evenly on a logarithmic scale.");
}

struct LassoTarget {
  union {
    value @0 :Void $A.doc("The targets as they are.");
    label @1 :Float64 $A.min(-1e15) $A.max(1e15)
        $A.doc("One class against the rest: 1 where the target is this label, 0 elsewhere.");
  }
}
