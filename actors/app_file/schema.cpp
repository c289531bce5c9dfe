#include "actors/app_file/schema.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace troupe::app_file {

namespace {

// The ids of schemas/annotations.capnp, for which the compiler generates no names.
constexpr std::uint64_t doc_id = 0xb7a1e0c2f4d95a02;
constexpr std::uint64_t min_id = 0xb7a1e0c2f4d95a03;
constexpr std::uint64_t max_id = 0xb7a1e0c2f4d95a04;
constexpr std::uint64_t required_id = 0xb7a1e0c2f4d95a05;
constexpr std::uint64_t path_id = 0xb7a1e0c2f4d95a06;
constexpr std::uint64_t by_kind_id = 0xb7a1e0c2f4d95a07;
constexpr std::uint64_t items_min_id = 0xb7a1e0c2f4d95a08;
constexpr std::uint64_t items_max_id = 0xb7a1e0c2f4d95a09;
constexpr std::uint64_t open_id = 0xb7a1e0c2f4d95a0b;
constexpr std::uint64_t assumed_id = 0xb7a1e0c2f4d95a0c;

using annotations = capnp::List<capnp::schema::Annotation>::Reader;

std::optional<capnp::schema::Value::Reader> annotation(annotations list, std::uint64_t id) {
    for (const auto a : list)
        if (a.getId() == id)
            return a.getValue();
    return std::nullopt;
}

std::string doc_of(annotations list) {
    const auto value = annotation(list, doc_id);
    return value ? std::string{value->getText().cStr()} : std::string{};
}

field_rules rules_of_field(capnp::StructSchema::Field field) {
    const auto proto = field.getProto();
    const auto list = proto.getAnnotations();
    field_rules rules{field, snake_case(proto.getName().cStr()), doc_of(list), {}, {}, {}, {}};
    if (const auto value = annotation(list, min_id))
        rules.min = value->getFloat64();
    if (const auto value = annotation(list, max_id))
        rules.max = value->getFloat64();
    if (const auto value = annotation(list, items_min_id))
        rules.items_min = value->getUint32();
    if (const auto value = annotation(list, items_max_id))
        rules.items_max = value->getUint32();
    rules.required = annotation(list, required_id).has_value();
    rules.is_path = annotation(list, path_id).has_value();
    rules.in_union = proto.getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT;
    rules.is_assumed = annotation(list, assumed_id).has_value();
    return rules;
}

std::vector<field_rules> rules_of_members(capnp::StructSchema open, app_members members) {
    TROUPE_CHECK(!members.empty(), "the members of an open union are known");
    const auto settings = open.getFieldByName("settings");
    TROUPE_CHECK(open.getFields().size() == 2 && settings.getType().isAnyPointer() &&
                     open.getFieldByName("name").getType().isText(),
                 "an open union is a name and its settings");
    std::vector<field_rules> rules;
    for (const app_member& member : members) {
        rules.push_back({settings, member.name, member.doc, {}, {}, {}, {}});
        rules.back().in_union = true;
        rules.back().settings = member.settings;
    }
    return rules;
}

bool is_required(capnp::StructSchema::Field field) {
    return annotation(field.getProto().getAnnotations(), required_id).has_value();
}

bool has_union(capnp::StructSchema schema) {
    return is_open(schema) || schema.getProto().getStruct().getDiscriminantCount() > 0;
}

bool has_defaults_for_all(capnp::StructSchema settings) {
    if (has_union(settings))
        return false;
    for (const auto field : settings.getFields())
        if (is_required(field))
            return false;
    return true;
}

} // namespace

const field_rules* struct_rules::find(std::string_view key) const {
    const auto found = std::ranges::find(fields, key, &field_rules::key);
    return found == fields.end() ? nullptr : &*found;
}

std::vector<std::string> struct_rules::keys() const {
    std::vector<std::string> keys;
    for (const field_rules& f : fields)
        keys.push_back(f.key);
    return keys;
}

std::vector<std::string> struct_rules::union_keys() const {
    std::vector<std::string> keys;
    for (const field_rules& f : fields)
        if (f.in_union)
            keys.push_back(f.key);
    return keys;
}

const field_rules* struct_rules::first_member() const {
    const auto first = std::ranges::find_if(fields, &field_rules::in_union);
    return first == fields.end() ? nullptr : &*first;
}

bool is_open(capnp::StructSchema schema) {
    return annotation(schema.getProto().getAnnotations(), open_id).has_value();
}

struct_rules rules_of(capnp::StructSchema schema, app_members members) {
    const auto list = schema.getProto().getAnnotations();
    struct_rules rules;
    rules.doc = doc_of(list);
    rules.by_kind = annotation(list, by_kind_id).has_value();
    rules.is_open = is_open(schema);
    if (rules.is_open)
        rules.fields = rules_of_members(schema, members);
    else
        for (const auto field : schema.getFields())
            rules.fields.push_back(rules_of_field(field));
    const field_rules* const first = rules.first_member();
    rules.has_union = first != nullptr;
    rules.union_has_default = rules.has_union && !rules.by_kind &&
                              (first->type().isVoid() || first->is_assumed) &&
                              !std::ranges::all_of(rules.fields, &field_rules::in_union);
    return rules;
}

std::vector<word> words_of(capnp::EnumSchema schema) {
    std::vector<word> words;
    for (const auto e : schema.getEnumerants())
        words.push_back(
            {e, snake_case(e.getProto().getName().cStr()), doc_of(e.getProto().getAnnotations())});
    return words;
}

number_range range_of(const field_rules& rules, capnp::Type type) {
    number_range range{rules.min, rules.max};
    const auto of_type = [&](double lowest, double highest) {
        range.min = std::max(range.min.value_or(lowest), lowest);
        range.max = std::min(range.max.value_or(highest), highest);
    };
    switch (type.which()) {
    case capnp::schema::Type::UINT8:
        of_type(0, 0xff);
        break;
    case capnp::schema::Type::UINT16:
        of_type(0, 0xffff);
        break;
    case capnp::schema::Type::UINT32:
        of_type(0, 0xffffffff);
        break;
    case capnp::schema::Type::UINT64:
        range.min = std::max(range.min.value_or(0), 0.0);
        break;
    default:
        break;
    }
    return range;
}

std::string default_text(const field_rules& rules) {
    const capnp::Type type = rules.type();
    if (rules.required || rules.in_union)
        return {};
    if (type.isStruct()) {
        if (is_open(type.asStruct()))
            return {};
        const struct_rules below = rules_of(type.asStruct(), {});
        return below.has_union ? below.first_member()->key : std::string{};
    }
    const auto value = rules.field.getProto().getSlot().getDefaultValue();
    switch (value.which()) {
    case capnp::schema::Value::BOOL:
        return value.getBool() ? "true" : "false";
    case capnp::schema::Value::UINT8:
        return std::to_string(value.getUint8());
    case capnp::schema::Value::UINT16:
        return std::to_string(value.getUint16());
    case capnp::schema::Value::UINT32:
        return std::to_string(value.getUint32());
    case capnp::schema::Value::UINT64:
        return std::to_string(value.getUint64());
    case capnp::schema::Value::ENUM:
        return words_of(type.asEnum())[value.getEnum()].key;
    case capnp::schema::Value::FLOAT32:
        return number_text(value.getFloat32());
    case capnp::schema::Value::FLOAT64:
        return number_text(value.getFloat64());
    default:
        return {};
    }
}

bool stands_alone(const field_rules& member) {
    if (member.type().isVoid())
        return true;
    return member.type().isStruct() && has_defaults_for_all(member.type().asStruct());
}

bool is_integer(capnp::Type type) {
    return type.isUInt8() || type.isUInt16() || type.isUInt32() || type.isUInt64();
}

bool is_number(capnp::Type type) {
    return is_integer(type) || type.isFloat32() || type.isFloat64();
}

std::string snake_case(std::string_view camel_case) {
    std::string out;
    for (const char c : camel_case) {
        if (c >= 'A' && c <= 'Z') {
            out += '_';
            out += static_cast<char>(c - 'A' + 'a');
        } else {
            out += c;
        }
    }
    return out;
}

std::string number_text(double value) {
    char text[32];
    const auto end =
        value == std::floor(value) && std::abs(value) < 1e15
            ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value)).ptr
            : std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

std::string number_text(float value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string range_text(const number_range& range) {
    if (range.min && range.max)
        return number_text(*range.min) + " to " + number_text(*range.max);
    if (range.min)
        return number_text(*range.min) + " or more";
    if (range.max)
        return "at most " + number_text(*range.max);
    return {};
}

} // namespace troupe::app_file
