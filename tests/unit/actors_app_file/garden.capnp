@0xf3a8c1d5e7b24901;
# App files with an open union, for tests of the language, and schemas that cannot be settings.

using Cxx = import "/capnp/c++.capnp";
using A = import "/schemas/annotations.capnp";
$Cxx.namespace("troupe::proto");

struct GardenApp $A.doc("A garden with one plant.") {
  troupe @0 :UInt16 $A.required $A.min(1) $A.max(1) $A.doc("Version of the app file format.");
  base @1 :Text $A.path $A.doc("Another app file.");
  garden @2 :Garden $A.required $A.doc("What grows where.");
  season @3 :Text $A.doc("When.");
}

struct Garden {
  plant @0 :Plant $A.required $A.doc("What grows.");
  watering @1 :Watering $A.doc("How it is watered.");
  area @2 :Float64 = 2.5 $A.min(0) $A.doc("Square metres.");
  hedge @3 :Plant $A.doc("What grows around it. Nothing when absent.");
}

struct Plant $A.open $A.doc("Exactly one plant.") {
  name @0 :Text;
  settings @1 :AnyPointer;
}

struct Watering $A.doc("By hand or not.") {
  union {
    byHand @0 :ByHand $A.assumed $A.doc("With a can.");
    rain @1 :Void $A.doc("None.");
  }
  litres @2 :UInt32 = 3 $A.min(1) $A.max(100) $A.doc("A day.");
}

struct ByHand {
  times @0 :UInt8 = 1 $A.doc("A day.");
}

struct Rose {
  height @0 :Float64 = 0.1 $A.min(0.05) $A.max(10) $A.doc("Metres.");
  thorns @1 :Bool = true $A.doc("Whether it has any.");
  colour @2 :Colour = red $A.doc("Of the flowers.");
}

enum Colour {
  red @0 $A.doc("As usual.");
  darkRed @1 $A.doc("Darker.");
}

struct Oak {
  age @0 :UInt32 $A.required $A.min(1) $A.max(1000) $A.doc("Years.");
  photo @1 :Text $A.path $A.doc("A picture.");
  rings @2 :List(Float64) $A.minItems(1) $A.maxItems(3) $A.max(9) $A.doc("Millimetres.");
  birds @3 :Birds $A.doc("Who lives there.");
}

struct Birds {
  union {
    none @0 :Void $A.doc("Nobody.");
    owls @1 :UInt16 $A.max(9) $A.doc("So many owls.");
  }
}

struct Moss $A.doc("Its settings have the names of keys that app files of programs have, too.") {
  data @0 :UInt32 $A.doc("A number.");
  stop @1 :UInt32 $A.doc("Another.");
}

# ---- not settings ----

struct SignedNumber {
  depth @0 :Int32;
}

struct UnboundedList {
  inner @0 :Inner;
  struct Inner {
    leaves @0 :List(UInt32);
  }
}

struct NamedUnion {
  soil :union {
    sand @0 :Void;
    clay @1 :Void;
  }
}

struct NestedPlant {
  plant @0 :Plant $A.required;
}

struct UnionWithoutDefault {
  tree @0 :Tree;
  struct Tree {
    union {
      oak @0 :Oak;
      none @1 :Void;
    }
  }
}

struct HoldsItself {
  inner @0 :List(HoldsItself) $A.maxItems(2);
}
