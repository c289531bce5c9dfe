@0xc58b0f6a8e1d7301;
# Description of a tensor attached to a message.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::proto");

enum DataType {
  float32 @0;
  uint8 @1;
  int32 @2;
  float64 @3;
  int64 @4;
}

enum Codec {
  none @0;      # the elements themselves, row-major, little-endian
}

struct TensorDescriptor {
  # One per attachment of a frame, in order. The bytes follow the message on the wire; inside a process they are passed by
  # reference. Rejected if `bytes` does not match type and shape.
  type @0 :DataType;
  codec @1 :Codec;
  shape @2 :List(UInt64);   # at most limits::tensor_rank_max entries; an empty list is a scalar
  bytes @3 :UInt64;
}
