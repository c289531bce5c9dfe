// Fields of structs by their rules, whether they stand in the schema or are members of an open union: a message has the name
// of the member of an open union, and its settings as an AnyPointer. Internal to the app file loader.
#pragma once

#include <capnp/dynamic.h>

#include "actors/app_file/schema.hpp"

namespace troupe::app_file {

// Whether this member of a union is the one that the struct has.
bool is_active(capnp::DynamicStruct::Reader from, const field_rules& member);

// Whether there is a value; the members of unions that are not active have none.
bool has(capnp::DynamicStruct::Reader from, const field_rules& field);

// The value of a field; of a member of a union, it must be active.
capnp::DynamicValue::Reader get(capnp::DynamicStruct::Reader from, const field_rules& field);

// Makes a field that is a struct, and with it a member of a union active.
capnp::DynamicStruct::Builder init_struct(capnp::DynamicStruct::Builder into,
                                          const field_rules& field);

} // namespace troupe::app_file
