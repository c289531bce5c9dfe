@0xe9c2b4d6f8a01320;
# Settings of the program "lda".

using Cxx = import "/capnp/c++.capnp";
using A = import "/schemas/annotations.capnp";
$Cxx.namespace("troupe::proto");

struct LdaSettings
    $A.doc("Topics of documents: latent Dirichlet allocation by collapsed Gibbs sampling. Data are counts: a row for each "
        "document, a column for each word. stop.sweeps counts the random start, too; stop.gap means nothing here.") {
  topics @0 :UInt32 $A.required $A.min(2) $A.max(65535) $A.doc("Number of topics.");
  alpha @1 :Float64 = 0.1 $A.min(1e-6) $A.max(1000)
      $A.doc("Prior of the topics of a document, the same for all of them. A smaller one gives documents fewer topics.");
  beta @2 :Float64 = 0.01 $A.min(1e-6) $A.max(1000)
      $A.doc("Prior of the words of a topic, the same for all of them. A smaller one gives topics fewer words.");
  sampler @3 :LdaSampler = auto $A.doc("How a token's topic is drawn.");
  proposals @4 :UInt32 = 1 $A.min(1) $A.max(64)
      $A.doc("With sampler: metropolis, the pairs of proposals for each token in a sweep, one from its document and one from "
          "its word. More of them come closer to an exact draw, and take longer.");
}

enum LdaSampler {
  auto @0 $A.doc("Exact up to 5,000 topics, metropolis above.");
  exact @1 $A.doc("From its exact conditional distribution: the time of a token grows slowly with the number of topics.");
  metropolis @2 $A.doc("By Metropolis-Hastings steps: the time of a token does not depend on the number of topics, but it takes "
      "more sweeps.");
}
