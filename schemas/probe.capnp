@0xa97ce1b2d0f35801;
# Messages without a meaning, for measuring and testing the runtime itself: benchmarks between nodes, simulated workloads.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::proto");

struct Probe {
  # Any actor to any actor that accepts probes. The receiver determines the effect: it counts the Probe, answers with a Probe
  # of the same number, or forwards it while `hops` is above 0.
  number @0 :UInt64;
  hops @1 :UInt32;
  note @2 :Text;
}
