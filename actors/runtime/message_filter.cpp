#include "actors/runtime/message_filter.hpp"

#include <kj/exception.h>

#include <algorithm>
#include <set>

#include "actors/runtime/actor_names.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

error bad_filter(std::string sentence) {
    return {errc::usage, std::move(sentence)};
}

// The types that can be looked at, by name.
std::vector<std::string> type_names(const message_catalog& known) {
    std::vector<std::string> names;
    for (const message_type& type : known.all())
        if (!is_of_inspector(type.id))
            names.push_back(type.name);
    std::ranges::sort(names);
    return names;
}

result<const message_type*> find_type(const std::string& name, const message_catalog& known) {
    const message_type* type = known.find(name);
    if (type == nullptr) {
        const auto names = type_names(known);
        return bad_filter("there is no message type " + name + "; " + guess(name, names) +
                          "the types are " + join(names));
    }
    if (is_of_inspector(type->id))
        return bad_filter(name + " is of the inspector's own messages, which are not shown");
    return type;
}

result<void> check_all(const std::vector<field_condition>& conditions, const message_type& type,
                       const message_catalog& known) {
    for (const field_condition& condition : conditions)
        if (auto possible = condition.check(type, known); !possible)
            return possible;
    return {};
}

// Checks that messages of some type can satisfy all conditions; else returns the reason why none can.
result<void> check_any_type(const std::vector<field_condition>& conditions,
                            const message_catalog& types) {
    std::set<std::string> known;
    std::optional<error> nearly; // the error for a type that has such a field
    for (const message_type& type : types.all()) {
        if (is_of_inspector(type.id))
            continue;
        const auto possible = check_all(conditions, type, types);
        if (possible)
            return {};
        const auto fields = fields_of(type.schema);
        known.insert(fields.begin(), fields.end());
        if (std::ranges::all_of(conditions, [&](const field_condition& c) {
                return std::ranges::find(fields, c.field()) != fields.end();
            }))
            nearly = possible.failure();
    }
    if (nearly)
        return *nearly;
    const std::vector<std::string> names{known.begin(), known.end()};
    for (const field_condition& c : conditions)
        if (!known.contains(c.field()))
            return bad_filter("no message has a field " + c.field() + "; " +
                              guess(c.field(), names) +
                              "the fields of a type are named when you give it, as type=NAME");
    return bad_filter("no message has all of these fields; give type= to see which it has");
}

} // namespace

result<message_filter> message_filter::parse(proto::Filter::Reader from,
                                             const message_catalog& known) {
    message_filter filter;
    filter.actor_ = from.getActor();
    filter.work_ = from.getWork();
    filter.run_ = from.getRun();
    if (from.getFields().size() > limits::filter_fields_max)
        return bad_filter("a filter has at most " + std::to_string(limits::filter_fields_max) +
                          " fields");
    if (from.getSenders().size() > limits::nodes_max)
        return bad_filter("a filter has at most " + std::to_string(limits::nodes_max) + " senders");
    for (const auto sender : from.getSenders())
        filter.senders_.push_back({node_id{sender.getNode()}, actor_number{sender.getActor()}});
    for (const auto condition : from.getFields())
        filter.fields_.emplace_back(condition.getPath(), condition.getValue());
    if (!from.hasType() || from.getType().size() == 0) {
        const auto possible =
            filter.fields_.empty() ? result<void>{} : check_any_type(filter.fields_, known);
        return possible ? result<message_filter>{std::move(filter)} : possible.failure();
    }
    const auto type = find_type(from.getType(), known);
    if (!type)
        return type.failure();
    filter.type_ = (*type)->id;
    if (auto possible = check_all(filter.fields_, **type, known); !possible)
        return possible.failure();
    return filter;
}

bool message_filter::matches(const trace_event& event, const std::string& receiver) const {
    if (type_ != 0 && (event.kind != trace_kind::message || event.type != type_))
        return false;
    if (work_ != none && event.work.value() != work_)
        return false;
    if (run_ != 0 && event.run != run_)
        return false;
    if (!senders_.empty() &&
        std::ranges::find(senders_, actor_address{event.from_node, event.from_actor}) ==
            senders_.end())
        return false;
    return actor_.empty() || is_called(receiver, actor_) ||
           actor_ == std::to_string(event.to_actor.value());
}

bool message_filter::matches_fields(const frame& f, const message_catalog& known) const {
    if (fields_.empty())
        return true;
    const message_type* type = known.find(f.body_type());
    if (type == nullptr)
        return false;
    try {
        const auto body = f.root().getBody().getAs<capnp::DynamicStruct>(type->schema);
        return std::ranges::all_of(fields_,
                                   [&](const field_condition& c) { return c.holds(body, known); });
    } catch (const kj::Exception&) {
        return false;
    }
}

} // namespace troupe
