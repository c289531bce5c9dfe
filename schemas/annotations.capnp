@0xb7a1e0c2f4d95a01;
# Annotations read from the schemas by the app file loader, `troupe explain`, the JSON Schema generator, and (nodeLocal) the
# runtime of a node.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::proto");

annotation doc @0xb7a1e0c2f4d95a02 (field, struct, enum, enumerant, union, group) :Text;
# One or two sentences for the user: the meaning, the unit, the effect of larger and smaller values.

annotation min @0xb7a1e0c2f4d95a03 (field) :Float64;
# Smallest allowed value; on a list it applies to every element.

annotation max @0xb7a1e0c2f4d95a04 (field) :Float64;
# Largest allowed value; on a list it applies to every element.

annotation required @0xb7a1e0c2f4d95a05 (field) :Void;
# The app file must set this key. An absent optional struct with a union stands for the union's first member.

annotation path @0xb7a1e0c2f4d95a06 (field) :Void;
# A file name. A relative one starts at the app file's folder, or, given with --set, at the current directory.

annotation byKind @0xb7a1e0c2f4d95a07 (union, group, struct) :Void;
# The union's member follows from the kind of the YAML value: a word selects a Void member, a number the integer member, a
# sequence the list member. Without this annotation a union is a map of one key, or a word for a Void member.

annotation minItems @0xb7a1e0c2f4d95a08 (field) :UInt32;
# Minimum number of elements of a list.

annotation maxItems @0xb7a1e0c2f4d95a09 (field) :UInt32;
# Maximum number of elements of a list.

annotation nodeLocal @0xb7a1e0c2f4d95a0a (struct) :Void;
# A message that never leaves the node: a node's components send it to the node's own actors. It is rejected when a peer
# sends it.

annotation open @0xb7a1e0c2f4d95a0b (struct) :Void;
# An open union: a struct of two fields, `name :Text` and `settings :AnyPointer`. Who loads the app file hands over its
# members, each with a name and the schema of its settings (actors/app_file/app_kind.hpp). The user writes it like a union: a
# map of one key, which is the member's name, or that name alone if all settings have defaults.

annotation assumed @0xb7a1e0c2f4d95a0c (field) :Void;
# On the first member of a union, all of whose settings have defaults: the member holds if a file gives only keys beside the
# union. Without this annotation that is so for a Void member.
