// Every message type by its Cap'n Proto type id: for names in traces, for printing bodies, for filters on any field, and
// for what may come from a peer.
//
// A new message is one line in the table of message_types.cpp.
//
// Threads: the table is constant.
#pragma once

#include <capnp/dynamic.h>
#include <capnp/schema.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "transport/frame/frame.hpp"

namespace troupe {

struct message_type {
    std::uint64_t id;
    std::string name; // as in the schema: "Activation"
    capnp::StructSchema schema;
    bool node_local; // marked $nodeLocal in the schema: refused from a peer
};

// Null for a type that is not in the table.
const message_type* find_message_type(std::uint64_t id);
const message_type* find_message_type(std::string_view name);
std::span<const message_type> message_types();

// Of a field that holds any struct, an AnyPointer: its type, which the field beside it says whose name ends in "Type". Null
// where this build does not know it, or there is no such field.
const message_type* type_of_any(capnp::DynamicStruct::Reader body,
                                capnp::StructSchema::Field field);

// Of the inspector's own protocol, trace.capnp. Tails never show them: one of everything would feed on itself.
bool is_of_inspector(std::uint64_t type);

// Its name, or the id in hexadecimal for a type that is not in the table.
std::string message_type_name(std::uint64_t id);

// The body's fields as text, without those that hold none, cut at `bytes_max`; why not, for a body that cannot be read.
std::string body_text(const frame& f, std::size_t bytes_max);

// What is attached: "float32 (64, 32, 14, 14), int32 (64)".
std::string tensors_text(const frame& f);

} // namespace troupe
