#include "actors/runtime/message_types.hpp"

#include <kj/exception.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "schemas/cluster.capnp.h"
#include "schemas/device.capnp.h"
#include "schemas/probe.capnp.h"
#include "schemas/trace.capnp.h"

namespace troupe {

namespace {

bool is_node_local(capnp::StructSchema schema) {
    constexpr std::uint64_t node_local_id = 0xb7a1e0c2f4d95a0a; // id of the annotation
    for (const auto mark : schema.getProto().getAnnotations())
        if (mark.getId() == node_local_id)
            return true;
    return false;
}

// The messages that every node has. Probe is for tests and benchmarks.
using messages_of_every_node = message_list<
    // envelope.capnp
    proto::Rejected,
    // cluster.capnp
    proto::Listening, proto::PeerUp, proto::PeerDown, proto::ConnectFailed, proto::Watch,
    proto::Unwatch, proto::Down, proto::Join, proto::Welcome, proto::Refused, proto::Heartbeat,
    proto::HeartbeatDue, proto::Goodbye, proto::Subscribe, proto::ListMembers, proto::MemberList,
    proto::NodeJoined, proto::NodeLost,
    // trace.capnp
    proto::ListActors, proto::ActorList, proto::ReadTrace, proto::TraceBatch, proto::OpenTail,
    proto::TailOpened, proto::TailEvent, proto::TailCredit, proto::CloseTail,
    // device.capnp
    proto::WorkDone,
    // probe.capnp
    proto::Probe>;

// ---- bodies as text ----

// Returns whether a value stands for "none": all ones if that is the field's default, see schemas/README.md.
bool is_none(capnp::DynamicValue::Reader value, capnp::StructSchema::Field field) {
    if (!field.getProto().isSlot())
        return false;
    const auto initial = field.getProto().getSlot().getDefaultValue();
    return (initial.isUint64() && initial.getUint64() == none &&
            value.as<std::uint64_t>() == none) ||
           (initial.isUint32() && initial.getUint32() == ~std::uint32_t{0} &&
            value.as<std::uint32_t>() == ~std::uint32_t{0});
}

} // namespace

// The text of a field that holds any struct: its type and its fields.
std::string message_catalog::any_text(capnp::DynamicStruct::Reader body,
                                      capnp::StructSchema::Field field) const {
    const message_type* type = type_of_any(body, field);
    return type == nullptr
               ? "(a type that this build does not know)"
               : type->name + " " +
                     fields_text(
                         body.get(field).as<capnp::AnyPointer>().getAs<capnp::DynamicStruct>(
                             type->schema));
}

std::string message_catalog::value_text(capnp::DynamicStruct::Reader body,
                                        capnp::StructSchema::Field field) const {
    if (field.getType().isAnyPointer())
        return any_text(body, field);
    const auto value = body.get(field);
    return (field.getType().isFloat32() ? kj::str(value.as<float>()) : kj::str(value)).cStr();
}

// The text of a struct in Cap'n Proto's form, without fields that hold none.
std::string message_catalog::fields_text(capnp::DynamicStruct::Reader body) const {
    std::string text;
    for (const auto field : body.getSchema().getFields()) {
        if (!body.has(field) || is_none(body.get(field), field))
            continue;
        text.append(text.empty() ? "" : ", ").append(field.getProto().getName().cStr());
        text.append(" = ").append(value_text(body, field));
    }
    return "(" + text + ")";
}

message_type detail::message_type_of(std::uint64_t id, capnp::StructSchema schema) {
    return {id, schema.getShortDisplayName().cStr(), schema, is_node_local(schema)};
}

message_catalog::message_catalog(std::vector<message_type> of_families)
    : types_{std::move(of_families)} {
    append(types_, messages_of_every_node{});
    std::ranges::sort(types_, {}, &message_type::id);
    const auto twice = std::ranges::unique(types_, {}, &message_type::id);
    types_.erase(twice.begin(), twice.end());
    std::vector<std::string_view> names;
    for (const message_type& type : types_)
        names.push_back(type.name);
    std::ranges::sort(names);
    TROUPE_CHECK(std::ranges::adjacent_find(names) == names.end(),
                 "message types of all families have different names");
}

const message_type* message_catalog::find(std::uint64_t id) const {
    const auto found = std::ranges::lower_bound(types_, id, {}, &message_type::id);
    return found == types_.end() || found->id != id ? nullptr : &*found;
}

const message_type* message_catalog::find(std::string_view name) const {
    const auto found = std::ranges::find(types_, name, &message_type::name);
    return found == types_.end() ? nullptr : &*found;
}

const message_type* message_catalog::type_of_any(capnp::DynamicStruct::Reader body,
                                                 capnp::StructSchema::Field field) const {
    const std::string beside = std::string{field.getProto().getName().cStr()} + "Type";
    KJ_IF_MAYBE (type, body.getSchema().findFieldByName(beside.c_str()))
        return find(body.get(*type).as<std::uint64_t>());
    return nullptr;
}

bool is_of_inspector(std::uint64_t type) {
    static constexpr std::uint64_t types[] = {
        type_id_of<proto::ListActors>(), type_id_of<proto::ActorList>(),
        type_id_of<proto::ReadTrace>(),  type_id_of<proto::TraceBatch>(),
        type_id_of<proto::OpenTail>(),   type_id_of<proto::TailOpened>(),
        type_id_of<proto::TailEvent>(),  type_id_of<proto::TailCredit>(),
        type_id_of<proto::CloseTail>()};
    return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

std::string message_catalog::name_of(std::uint64_t id) const {
    if (const message_type* known = find(id))
        return known->name;
    char text[24];
    std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(id));
    return text;
}

std::string message_catalog::body_text(const frame& f, std::size_t bytes_max) const {
    const message_type* type = find(f.body_type());
    if (type == nullptr)
        return "(a type that this build does not know)";
    try {
        const auto body = f.root().getBody().getAs<capnp::DynamicStruct>(type->schema);
        std::string text = fields_text(body);
        if (text.size() > bytes_max)
            text.replace(bytes_max - 3, std::string::npos, "...");
        return text;
    } catch (const kj::Exception& malformed) {
        return std::string{"(unreadable: "} + malformed.getDescription().cStr() + ")";
    }
}

std::string tensors_text(const frame& f) {
    std::string text;
    for (const tensor& t : f.tensors()) {
        if (!text.empty())
            text += ", ";
        text.append(to_string(t.type())).append(" ").append(to_string(t.shape()));
    }
    return text;
}

} // namespace troupe
