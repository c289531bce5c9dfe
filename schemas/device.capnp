@0xf02c6b91d7ae5801;
# Completion of device work, as reported to the actor that submitted it.

using Cxx = import "/capnp/c++.capnp";
using import "annotations.capnp".nodeLocal;
$Cxx.namespace("troupe::proto");

struct Failure {
  code @0 :UInt8;               # errc of schemas/base/error.hpp
  reason @1 :Text;              # one sentence for the user
}

struct WorkDone $nodeLocal {
  # A device or background thread to the actor that submitted the work, once per submission, in order of submission. Never
  # leaves the node. The actor keeps the results under the ticket.
  ticket @0 :UInt64;            # counts from 1 per actor
  failure @1 :Failure;          # null: success
  busyNs @2 :Int64;             # time spent on the device
}
