@0xd5c1f3a9b7e24611;
# The settings of a program for tests, in which every number depends on everything before it (chain.hpp).

using Cxx = import "/capnp/c++.capnp";
using A = import "/schemas/annotations.capnp";
$Cxx.namespace("troupe::proto");

struct ChainSettings {
  phases @0 :UInt64 = 100 $A.min(1) $A.max(1000000) $A.doc("The first probe from this phase on ends the run.");
  failsAt @1 :UInt64 = 0xffffffffffffffff $A.min(0) $A.max(18446744073709551615)
      $A.doc("A worker fails at this phase.");
  padding @2 :UInt32 = 0 $A.min(0) $A.max(10000)
      $A.doc("Numbers without a meaning in each partial result, which make it one that is not folded in a handler.");
}
