#include "actors/runtime/field_condition.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

using capnp::schema::Type;

error usage(std::string sentence) {
    return {errc::usage, std::move(sentence)};
}

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

template <class Number>
std::optional<Number> read_number(const std::string& text) {
    Number number{};
    const char* end = text.data() + text.size();
    const auto [stopped, code] = std::from_chars(text.data(), end, number);
    if (code != std::errc{} || stopped != end)
        return std::nullopt;
    return number;
}

template <class Number>
result<void> check_whole(const std::string& value) {
    if (read_number<Number>(value))
        return {};
    return usage("a whole number from " + std::to_string(std::numeric_limits<Number>::min()) +
                 " to " + std::to_string(std::numeric_limits<Number>::max()));
}

result<void> check_word(const std::string& value, const std::vector<std::string>& words) {
    if (std::ranges::find(words, value) != words.end())
        return {};
    return usage(alternatives(words));
}

std::vector<std::string> enumerants_of(capnp::EnumSchema schema) {
    std::vector<std::string> names;
    for (const auto enumerant : schema.getEnumerants())
        names.emplace_back(enumerant.getProto().getName().cStr());
    return names;
}

// Returns an error that describes the values of this type if `value` is not one of them.
result<void> check_value(capnp::Type type, const std::string& value) {
    switch (type.which()) {
    case Type::BOOL:
        return check_word(value, {"true", "false"});
    case Type::INT8:
        return check_whole<std::int8_t>(value);
    case Type::INT16:
        return check_whole<std::int16_t>(value);
    case Type::INT32:
        return check_whole<std::int32_t>(value);
    case Type::INT64:
        return check_whole<std::int64_t>(value);
    case Type::UINT8:
        return check_whole<std::uint8_t>(value);
    case Type::UINT16:
        return check_whole<std::uint16_t>(value);
    case Type::UINT32:
        return check_whole<std::uint32_t>(value);
    case Type::UINT64:
        return check_whole<std::uint64_t>(value);
    case Type::FLOAT32:
    case Type::FLOAT64:
        return read_number<double>(value) ? result<void>{} : usage("a number");
    case Type::ENUM:
        return check_word(value, enumerants_of(type.asEnum()));
    default: // any text can occur
        return {};
    }
}

bool equals(capnp::DynamicValue::Reader value, capnp::Type type, const std::string& wanted) {
    switch (value.getType()) {
    case capnp::DynamicValue::TEXT:
        // The printed form's quotes are left out.
        return value.as<capnp::Text>() == wanted.c_str();
    case capnp::DynamicValue::INT:
        return read_number<std::int64_t>(wanted) == value.as<std::int64_t>();
    case capnp::DynamicValue::UINT:
        return read_number<std::uint64_t>(wanted) == value.as<std::uint64_t>();
    case capnp::DynamicValue::FLOAT: {
        const auto number = read_number<double>(wanted);
        if (number && type.isFloat32())
            return static_cast<float>(*number) == value.as<float>();
        return number == value.as<double>();
    }
    default:
        return wanted == kj::str(value).cStr();
    }
}

} // namespace

std::vector<std::string> fields_of(capnp::StructSchema schema) {
    std::vector<std::string> names;
    for (const auto field : schema.getFields())
        names.emplace_back(field.getProto().getName().cStr());
    return names;
}

field_condition::field_condition(const std::string& path, std::string value)
    : path_{split(path)}, value_{std::move(value)} {}

result<void> field_condition::check(const message_type& type, const message_catalog& known) const {
    return check_from(0, type.schema, type.name, known);
}

// The rest of the path, from this depth on.
result<void> field_condition::check_from(std::size_t depth, capnp::StructSchema schema,
                                         const std::string& named,
                                         const message_catalog& known) const {
    const std::string& name = path_[depth];
    KJ_IF_MAYBE (found, schema.findFieldByName(name.c_str())) {
        const capnp::Type kind = found->getType();
        if (depth + 1 == path_.size()) {
            const auto possible = check_value(kind, value_);
            return possible ? result<void>{}
                            : usage(name + " of " + named + " is " + possible.failure().message() +
                                    ", never '" + value_ + "'");
        }
        if (kind.isAnyPointer())
            return check_in_any(depth + 1, named + "." + name, known);
        if (!kind.isStruct())
            return usage("field " + name + " of " + named + " has no fields of its own");
        return check_from(depth + 1, kind.asStruct(), named + "." + name, known);
    }
    const auto fields = fields_of(schema);
    return usage(
        named + " has no field " + name + "; " +
        (fields.empty() ? "it has none" : guess(name, fields) + "its fields are " + join(fields)));
}

// Checks the rest of the path in a field that holds any struct: it must fit some type.
result<void> field_condition::check_in_any(std::size_t depth, const std::string& named,
                                           const message_catalog& known) const {
    for (const message_type& type : known.all())
        if (check_from(depth, type.schema, type.name, known))
            return {};
    return usage("nothing that can be " + named + " has a field " + path_[depth] +
                 " that can be so");
}

bool field_condition::holds(capnp::DynamicStruct::Reader body, const message_catalog& known) const {
    for (std::size_t i = 0; i < path_.size(); ++i) {
        KJ_IF_MAYBE (found, body.getSchema().findFieldByName(path_[i].c_str())) {
            if (!body.has(*found, capnp::HasMode::NON_NULL))
                return false;
            if (i + 1 == path_.size())
                return equals(body.get(*found), found->getType(), value_);
            if (found->getType().isAnyPointer()) {
                const message_type* type = known.type_of_any(body, *found);
                if (type == nullptr)
                    return false;
                body = body.get(*found).as<capnp::AnyPointer>().getAs<capnp::DynamicStruct>(
                    type->schema);
                continue;
            }
            if (!found->getType().isStruct())
                return false;
            body = body.get(*found).as<capnp::DynamicStruct>();
        } else {
            return false;
        }
    }
    return false;
}

} // namespace troupe
