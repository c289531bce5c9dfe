// Checks that the language can read, render and explain members of open unions.
#include <algorithm>
#include <set>

#include "actors/app_file/schema.hpp"
#include "actors/app_file/tree.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

using namespace app_file;

bool is_key(std::string_view name) {
    return !name.empty() && name.size() <= limits::name_bytes_max && name.front() >= 'a' &&
           name.front() <= 'z' &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

bool is_value(capnp::Type type) {
    return is_number(type) || type.isBool() || type.isText() || type.isEnum();
}

// Looks at the settings of one member, and at what stands in them.
class settings_check {
  public:
    explicit settings_check(const std::string& member) : member_{member} {}

    result<void> check(capnp::StructSchema schema, const std::string& path) {
        if (!seen_.insert(schema.getProto().getId()).second)
            return {};
        if (is_open(schema))
            return refuse(path, "an open union in settings");
        const struct_rules rules = rules_of(schema, {});
        for (const field_rules& field : rules.fields) {
            const std::string here = path + (path.empty() ? "" : ".") + field.key;
            if (auto fits = check_field(field, rules, here); !fits)
                return fits;
        }
        return {};
    }

  private:
    error refuse(const std::string& path, const std::string& sentence) const {
        return {errc::data, in_quotes(member_) + ": " + printable(path) +
                                (path.empty() ? "" : ": ") + sentence};
    }

    result<void> check_field(const field_rules& field, const struct_rules& of,
                             const std::string& path) {
        const capnp::Type type = field.type();
        if (of.by_kind &&
            (!field.in_union || !(type.isVoid() || is_integer(type) || type.isList())))
            return refuse(path, "settings by the kind of the value are a union of words, a whole "
                                "number and a list");
        if (type.isVoid() ? field.in_union : is_value(type))
            return {};
        if (type.isList())
            return check_list(field, path);
        if (!type.isStruct() || field.field.getProto().isGroup())
            return refuse(path, "a type that app files do not have; they have Bool, UInt8, UInt16, "
                                "UInt32, UInt64, Float32, Float64, Text, enums, structs and lists "
                                "of these, and Void in unions");
        if (auto fits = check(type.asStruct(), path); !fits)
            return fits;
        const struct_rules below = rules_of(type.asStruct(), {});
        if (below.has_union && !field.required && !field.in_union &&
            !stands_alone(*below.first_member()))
            return refuse(path, "its first member must have defaults for all settings, as it holds "
                                "when the key is absent; or the key must be required");
        return {};
    }

    result<void> check_list(const field_rules& field, const std::string& path) {
        const capnp::Type element = field.type().asList().getElementType();
        if (!field.items_max)
            return refuse(path, "a list without $maxItems");
        if (element.isStruct())
            return check(element.asStruct(), path);
        if (!is_value(element))
            return refuse(path, "a list of what app files do not have lists of");
        return {};
    }

    const std::string& member_;
    std::set<std::uint64_t> seen_; // schemas, of which one may stand in itself
};

} // namespace

result<void> check_members(app_members members) {
    std::set<std::string_view> names;
    for (const app_member& member : members) {
        if (!is_key(member.name))
            return error{errc::data, in_quotes(member.name) +
                                         " cannot be a key of app files; use small letters, digits "
                                         "and \"_\", and a letter first"};
        if (!names.insert(member.name).second)
            return error{errc::data, "there are two of the name " + in_quotes(member.name) +
                                         "; rename or remove one of them"};
        if (auto fits = settings_check{member.name}.check(member.settings, ""); !fits)
            return fits;
    }
    return {};
}

} // namespace troupe
