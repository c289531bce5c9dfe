@0x85bd7816b3a802cd;
# Settings of the program "factorization".

using Cxx = import "/capnp/c++.capnp";
using A = import "/schemas/annotations.capnp";
$Cxx.namespace("troupe::proto");

struct FactorizationSettings
    $A.doc("Factorization of a sparse matrix of ratings, users by items: r is predicted as mean + b_u + b_i + p_u . q_i. "
        "Minimises the sum, over the ratings that are there, of (r - prediction)^2 + penalty (|p_u|^2 + |q_i|^2 + b_u^2 + "
        "b_i^2), so that a user or an item is penalised once for each of its ratings.") {
  rank @0 :UInt32 = 40 $A.min(1) $A.max(4096)
      $A.doc("Factors of each user and of each item. More of them fit more, and take more memory and time.");
  by @1 :FactorizationMethod = sgd
      $A.doc("Method. It decides the schedule: sgd takes a rotation, coordinates the cyclic one.");
  biases @2 :Bool = true
      $A.doc("Fit a number for each user and each item, around the mean of all ratings. False: a rating is predicted as p_u . q_i "
          "alone.");
  penalty @3 :Float64 = 0.05 $A.min(0) $A.max(1e9)
      $A.doc("Weight of the squared factors and biases of a rating's user and item, beside the rating's squared error.");
  rate @4 :Float64 = 0.05 $A.min(1e-9) $A.max(10)
      $A.doc("Learning rate of sgd in the first sweep, for ratings whose root mean square around the mean is 1: others are scaled, so "
          "that a rate fits whatever the unit of the ratings is.");
  decay @5 :Float64 = 0.1 $A.min(0) $A.max(0.99)
      $A.doc("Share of the learning rate that each sweep of sgd takes away. Little data needs many sweeps and less decay, 0.01 for "
          "example.");
  rankings @6 :UInt32 = 0 $A.min(0) $A.max(1000000)
      $A.doc("Items per user in rankings.csv: those with the highest predictions, without those that the user has rated. 0: no such "
          "file.");
}

enum FactorizationMethod {
  sgd @0 $A.doc("Stochastic gradient descent: blocks of items pass from worker to worker, which hold the users.");
  coordinates @1
      $A.doc("Coordinate descent, one factor of all users and items after the other (CCD++): each step is the best for its "
          "factor, and the objective never rises. The schedulers hold the items.");
}
