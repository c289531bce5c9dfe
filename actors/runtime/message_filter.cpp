#include "actors/runtime/message_filter.hpp"

#include <capnp/dynamic.h>
#include <kj/exception.h>

#include <algorithm>

#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

std::vector<std::string> split(const std::string& path) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
        parts.push_back(path.substr(begin, dot - begin));
        begin = dot + 1;
    }
    parts.push_back(path.substr(begin));
    return parts;
}

std::string fields_of(capnp::StructSchema schema) {
    std::string list;
    for (const auto field : schema.getFields())
        list.append(list.empty() ? "" : ", ").append(field.getProto().getName().cStr());
    return list.empty() ? "none" : list;
}

result<void> check_path(const message_type& type, const std::vector<std::string>& path) {
    capnp::StructSchema schema = type.schema;
    for (std::size_t i = 0; i < path.size(); ++i) {
        KJ_IF_MAYBE (found, schema.findFieldByName(path[i].c_str())) {
            if (i + 1 == path.size())
                return {};
            if (!found->getType().isStruct())
                return error{errc::usage,
                             "field " + path[i] + " of " + type.name + " has no fields of its own"};
            schema = found->getType().asStruct();
        } else {
            return error{errc::usage, type.name + " has no field " + path[i] + "; its fields are " +
                                          fields_of(schema)};
        }
    }
    return {};
}

std::string text_of(capnp::DynamicValue::Reader value) {
    if (value.getType() == capnp::DynamicValue::TEXT)
        return value.as<capnp::Text>().cStr(); // without the quotes of the printed form
    return kj::str(value).cStr();
}

bool field_is(capnp::DynamicStruct::Reader body, const std::vector<std::string>& path,
              const std::string& value) {
    for (std::size_t i = 0; i < path.size(); ++i) {
        KJ_IF_MAYBE (found, body.getSchema().findFieldByName(path[i].c_str())) {
            if (!body.has(*found, capnp::HasMode::NON_NULL))
                return false;
            if (i + 1 == path.size())
                return text_of(body.get(*found)) == value;
            if (!found->getType().isStruct())
                return false;
            body = body.get(*found).as<capnp::DynamicStruct>();
        } else {
            return false;
        }
    }
    return false;
}

} // namespace

result<message_filter> message_filter::parse(proto::Filter::Reader from) {
    message_filter filter;
    const message_type* type = nullptr;
    if (const std::string name = from.getType(); !name.empty()) {
        type = find_message_type(name);
        if (type == nullptr)
            return error{errc::usage, "there is no message type " + name +
                                          "; types are spelled as in the schemas: Activation"};
        filter.type_ = type->id;
    }
    filter.actor_ = from.getActor();
    filter.minibatch_ = from.getMinibatch();
    if (from.getFields().size() > limits::filter_fields_max)
        return error{errc::usage, "a filter has at most " +
                                      std::to_string(limits::filter_fields_max) + " fields"};
    for (const auto condition : from.getFields()) {
        field f{split(condition.getPath()), condition.getValue()};
        if (type != nullptr)
            if (auto checked = check_path(*type, f.path); !checked)
                return checked.failure();
        filter.fields_.push_back(std::move(f));
    }
    return filter;
}

bool message_filter::matches(const trace_event& event, const std::string& receiver) const {
    if (type_ != 0 && (event.kind != trace_kind::message || event.type != type_))
        return false;
    if (minibatch_ != ~0ull && event.minibatch.value() != minibatch_)
        return false;
    return actor_.empty() || actor_ == receiver || actor_ == std::to_string(event.to_actor.value());
}

bool message_filter::matches_fields(const frame& f) const {
    if (fields_.empty())
        return true;
    const message_type* type = find_message_type(f.body_type());
    if (type == nullptr)
        return false;
    try {
        const auto body = f.root().getBody().getAs<capnp::DynamicStruct>(type->schema);
        return std::all_of(fields_.begin(), fields_.end(),
                           [&](const field& c) { return field_is(body, c.path, c.value); });
    } catch (const kj::Exception&) {
        return false;
    }
}

} // namespace troupe
