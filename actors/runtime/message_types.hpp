// The message types that a node knows, by Cap'n Proto type id: for names in traces, for printing bodies, for filters on any
// field, and for deciding which messages may come from a peer.
//
// A family of actors lists the messages that it brings in a header of its own folder, and whoever starts a node hands the
// lists over. Every node has the messages of schemas/cluster.capnp and schemas/trace.capnp.
//
//     using echo_messages = message_list<proto::Echo, proto::EchoAnswer>;
//     node_runtime node{{..., .messages = catalog_of(echo_messages{})}};
//
// Threads: a catalog is constant.
#pragma once

#include <capnp/dynamic.h>
#include <capnp/schema.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/frame/frame.hpp"

namespace troupe {

struct message_type {
    std::uint64_t id;
    std::string name; // name in the schema: "Activation"
    capnp::StructSchema schema;
    bool node_local; // marked $nodeLocal in the schema: refused from a peer
};

template <class... Bodies>
struct message_list {};

namespace detail {
message_type message_type_of(std::uint64_t id, capnp::StructSchema schema);
}

template <class... Bodies>
void append(std::vector<message_type>& to, message_list<Bodies...>) {
    (to.push_back(detail::message_type_of(type_id_of<Bodies>(), capnp::Schema::from<Bodies>())),
     ...);
}

class message_catalog {
  public:
    // `of_families`: types in addition to those that every node has; a type may occur twice.
    explicit message_catalog(std::vector<message_type> of_families = {});

    // Returns null for an unknown type.
    const message_type* find(std::uint64_t id) const;
    const message_type* find(std::string_view name) const;
    std::span<const message_type> all() const noexcept { return types_; } // by id

    // The type of the struct in an AnyPointer field, which the field beside it gives whose name ends in "Type". Null if this
    // node does not know the type, or there is no such field.
    const message_type* type_of_any(capnp::DynamicStruct::Reader body,
                                    capnp::StructSchema::Field field) const;

    // The type's name, or the id in hexadecimal for a type that is not known.
    std::string name_of(std::uint64_t id) const;

    // The body's fields as text without empty ones, cut at `bytes_max`; for an unreadable body the reason.
    std::string body_text(const frame& f, std::size_t bytes_max) const;

  private:
    std::string any_text(capnp::DynamicStruct::Reader body, capnp::StructSchema::Field field) const;
    std::string value_text(capnp::DynamicStruct::Reader body,
                           capnp::StructSchema::Field field) const;
    std::string fields_text(capnp::DynamicStruct::Reader body) const;

    std::vector<message_type> types_; // by id
};

template <class... Lists>
std::shared_ptr<const message_catalog> catalog_of(Lists... lists) {
    std::vector<message_type> types;
    (append(types, lists), ...);
    return std::make_shared<const message_catalog>(std::move(types));
}

// Returns whether a type belongs to the inspector's own protocol, trace.capnp. Tails never show such messages: a tail of
// all messages would otherwise show its own.
bool is_of_inspector(std::uint64_t type);

// The tensors of a frame: "float32 (64, 32, 14, 14), int32 (64)".
std::string tensors_text(const frame& f);

} // namespace troupe
