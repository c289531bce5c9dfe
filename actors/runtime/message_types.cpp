#include "actors/runtime/message_types.hpp"

#include <kj/exception.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "schemas/cluster.capnp.h"
#include "schemas/collective.capnp.h"
#include "schemas/device.capnp.h"
#include "schemas/params.capnp.h"
#include "schemas/peers.capnp.h"
#include "schemas/pipeline.capnp.h"
#include "schemas/probe.capnp.h"
#include "schemas/run.capnp.h"
#include "schemas/trace.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

namespace {

bool is_node_local(capnp::StructSchema schema) {
    constexpr std::uint64_t node_local_id = 0xb7a1e0c2f4d95a0a; // of the annotation
    for (const auto mark : schema.getProto().getAnnotations())
        if (mark.getId() == node_local_id)
            return true;
    return false;
}

template <class... Bodies>
std::vector<message_type> table_of() {
    std::vector<message_type> table;
    const auto add = [&](std::uint64_t type, capnp::StructSchema schema) {
        const std::string name = schema.getShortDisplayName().cStr();
        table.push_back({type, name, schema, is_node_local(schema)});
    };
    (add(type_id_of<Bodies>(), capnp::Schema::from<Bodies>()), ...);
    std::sort(table.begin(), table.end(),
              [](const message_type& a, const message_type& b) { return a.id < b.id; });
    return table;
}

// ---- the table ----

const std::vector<message_type>& table() {
    using namespace proto;
    static const std::vector<message_type> all = table_of<
        // envelope.capnp
        Rejected,
        // cluster.capnp
        Listening, PeerUp, PeerDown, ConnectFailed, Watch, Unwatch, Down, Join, Welcome, Refused,
        Heartbeat, HeartbeatDue, Goodbye, Subscribe, ListMembers, MemberList, NodeJoined, NodeLost,
        // collective.capnp
        JoinReduction, Reduce, GradientsReady, Reduced, ReduceChunk,
        // params.capnp
        JoinServer, ServerJoined, KeepShard, EnterEpoch, Offer, Fetched, Push, Pull, Pulled,
        PullAgain, FinishEpoch, EpochFinished, WorkerDone, WorkerDoneTaken, Refresh, ReadShard,
        ShardRead, WorkerLost, WorkerJoined, WorkerExpected, PeerJoined, PeerExpected,
        // peers.capnp
        JoinPeers, Exchange, Exchanged, ReadCommon, Common, Meet, Met, Scatter, Report, Consensus,
        ReadWeights, PeerWeights,
        // trace.capnp
        ListActors, ActorList, ReadTrace, TraceBatch, OpenTail, TailOpened, TailEvent, TailCredit,
        CloseTail,
        // device.capnp
        WorkDone,
        // pipeline.capnp
        EpochBegin, Activation, Gradient, PartialNorm, GlobalNorm, Labels, EndOfData,
        EvaluationBatch, EvaluationLabels, EvaluationTaken, EndOfEvaluation,
        // probe.capnp
        Probe,
        // run.capnp, and the options of roles
        Spawn, Spawned, SpawnFailed, EndActors, Release, StageOptions, ReducerOptions, PeerOptions,
        ShardOptions, CacheOptions,
        // training.capnp
        ConnectStage, StageReady, StageFailed, RunEpoch, RunEvaluation, StopData, MinibatchDone,
        StageEpochDone, EvaluationDone, TakeSnapshot, Snapshot, ProfileModel, LayerTimes,
        ProfileFailed, StopRun, ReplicaLost, MinibatchesLost, ReplicaJoined>();
    return all;
}

// ---- bodies as text ----

// All ones where that is the default, see schemas/README.md.
bool is_none(capnp::DynamicValue::Reader value, capnp::StructSchema::Field field) {
    if (!field.getProto().isSlot())
        return false;
    const auto initial = field.getProto().getSlot().getDefaultValue();
    return (initial.isUint64() && initial.getUint64() == none &&
            value.as<std::uint64_t>() == none) ||
           (initial.isUint32() && initial.getUint32() == ~std::uint32_t{0} &&
            value.as<std::uint32_t>() == ~std::uint32_t{0});
}

std::string fields_text(capnp::DynamicStruct::Reader body);

// Of any struct: its type and its fields.
std::string any_text(capnp::DynamicStruct::Reader body, capnp::StructSchema::Field field) {
    const message_type* type = type_of_any(body, field);
    return type == nullptr
               ? "(a type that this build does not know)"
               : type->name + " " +
                     fields_text(
                         body.get(field).as<capnp::AnyPointer>().getAs<capnp::DynamicStruct>(
                             type->schema));
}

std::string value_text(capnp::DynamicStruct::Reader body, capnp::StructSchema::Field field) {
    if (field.getType().isAnyPointer())
        return any_text(body, field);
    const auto value = body.get(field);
    return (field.getType().isFloat32() ? kj::str(value.as<float>()) : kj::str(value)).cStr();
}

// As Cap'n Proto prints a struct, but for the fields that hold none.
std::string fields_text(capnp::DynamicStruct::Reader body) {
    std::string text;
    for (const auto field : body.getSchema().getFields()) {
        if (!body.has(field) || is_none(body.get(field), field))
            continue;
        text.append(text.empty() ? "" : ", ").append(field.getProto().getName().cStr());
        text.append(" = ").append(value_text(body, field));
    }
    return "(" + text + ")";
}

} // namespace

std::span<const message_type> message_types() {
    return table();
}

const message_type* find_message_type(std::uint64_t id) {
    const auto found =
        std::lower_bound(table().begin(), table().end(), id,
                         [](const message_type& t, std::uint64_t i) { return t.id < i; });
    return found == table().end() || found->id != id ? nullptr : &*found;
}

const message_type* find_message_type(std::string_view name) {
    const auto found = std::find_if(table().begin(), table().end(),
                                    [&](const message_type& t) { return t.name == name; });
    return found == table().end() ? nullptr : &*found;
}

const message_type* type_of_any(capnp::DynamicStruct::Reader body,
                                capnp::StructSchema::Field field) {
    const std::string beside = std::string{field.getProto().getName().cStr()} + "Type";
    KJ_IF_MAYBE (type, body.getSchema().findFieldByName(beside.c_str()))
        return find_message_type(body.get(*type).as<std::uint64_t>());
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

std::string message_type_name(std::uint64_t id) {
    if (const message_type* known = find_message_type(id))
        return known->name;
    char text[24];
    std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(id));
    return text;
}

std::string body_text(const frame& f, std::size_t bytes_max) {
    const message_type* type = find_message_type(f.body_type());
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
