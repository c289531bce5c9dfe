@0xb7a1e0c2f4d95a01;
# Annotations that programs read from the schemas: the app file loader, `troupe explain`, the JSON Schema, and (nodeLocal)
# the runtime of a node.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::proto");

annotation doc @0xb7a1e0c2f4d95a02 (field, struct, enum, enumerant, union, group) :Text;
# One or two sentences for the user: what it is, its unit, what larger and smaller values do.

annotation min @0xb7a1e0c2f4d95a03 (field) :Float64;
# Smallest allowed value; for a list, of every element.

annotation max @0xb7a1e0c2f4d95a04 (field) :Float64;
# Largest allowed value; for a list, of every element.

annotation required @0xb7a1e0c2f4d95a05 (field) :Void;
# The app file must name this key. Where a struct of a union is not required, its absence means the union's first member.

annotation path @0xb7a1e0c2f4d95a06 (field) :Void;
# A file name. One that is not absolute starts at the app file's folder; given with --set, at the current directory.

annotation byKind @0xb7a1e0c2f4d95a07 (union, group, struct) :Void;
# The union's member follows from the kind of the YAML value: a word names a Void member, a number sets the integer
# member, a sequence the list member. Without it a union is a map of one key, or a word for a Void member.

annotation minItems @0xb7a1e0c2f4d95a08 (field) :UInt32;
# Fewest elements of a list.

annotation maxItems @0xb7a1e0c2f4d95a09 (field) :UInt32;
# Most elements of a list.

annotation nodeLocal @0xb7a1e0c2f4d95a0a (struct) :Void;
# A message that never leaves the node: what a node's own parts tell its actors. From a peer it is refused.
