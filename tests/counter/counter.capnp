@0xd5c1f3a9b7e24601;
# A counter that workers add to, round by round: the smallest kind of job. Its app file, the options of its role, and its
# protocol.
#
# Actors: the root of the run, and workers that the nodes' agents spawn for it (run.capnp).
#
#   root --Add--> every worker      worker --Added--> root       once for each round
#
# A round is over when every worker has added once; then the next one begins. Rounds count from 0.

using Cxx = import "/capnp/c++.capnp";
using A = import "/schemas/annotations.capnp";
$Cxx.namespace("troupe::proto");

struct CounterApp $A.doc("A counting job: workers add to a counter, round by round.") {
  troupe @0 :UInt16 $A.required $A.min(1) $A.max(1) $A.doc("Version of the app file format. This build reads 1.");
  base @1 :Text $A.path $A.doc("Another app file, whose keys hold where this one does not give them.");
  counter @2 :Counter $A.required $A.doc("What is counted, and by how many.");
}

struct Counter {
  workers @0 :UInt32 = 2 $A.min(1) $A.max(64) $A.doc("Actors that add to the counter.");
  rounds @1 :UInt32 = 10 $A.min(1) $A.max(1000000) $A.doc("Times that every worker adds.");
  step @2 :UInt64 = 1 $A.min(1) $A.max(1000000) $A.doc("What a worker adds each time.");
  hangs @4 :Bool $A.doc("Whether the agents of the nodes hang over the first worker that they are to make.");
  file @3 :Text $A.path $A.doc("File for the total. Nothing is saved when absent.");
}

struct CounterWorkerOptions {
  # Of the role "counter-worker".
  step @0 :UInt64;
  worker @1 :UInt32;          # its number, from 0; in its name
  hangs @2 :Bool;             # the agent never comes back from it
}

struct Add {
  # Root to worker. Answered by Added with the same round.
  round @0 :UInt32;
}

struct Added {
  round @0 :UInt32;
  amount @1 :UInt64;
}
