// The app file's rules as JSON Schema (draft 7).
#include <algorithm>
#include <capnp/dynamic.h>
#include <map>

#include "actors/app_file/app_file.hpp"
#include "actors/app_file/schema.hpp"
#include "schemas/base/json.hpp"

namespace troupe {

namespace {

using namespace app_file;
class schema_writer {
  public:
    std::string write(std::span<const app_kind> kinds) {
        json out = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "Troupe app file"}};
        json roots = json::array();
        for (const app_kind& kind : kinds) {
            members_ = kind.members;
            roots.push_back(struct_json(kind.schema));
            json& required = roots.back()["required"]; // the key that tells its kind, too
            if (std::ranges::count(required.items(), json{kind.key}) == 0)
                required.push_back(kind.key);
        }
        if (kinds.size() == 1)
            out.update(roots.back());
        else
            out["oneOf"] = std::move(roots);
        out["definitions"] = definitions_;
        return out.dump(2) + "\n";
    }

  private:
    // A struct by reference, so that a recursive schema ends.
    json reference(capnp::StructSchema schema) {
        std::string name = schema.getProto().getDisplayName().cStr();
        name = name.substr(name.find_last_of(":.") + 1);
        // Structs of two kinds may have the same name.
        if (const auto [known, is_new] = ids_.emplace(name, schema.getProto().getId());
            !is_new && known->second != schema.getProto().getId())
            name += "_" + std::to_string(schema.getProto().getId());
        if (!definitions_.contains(name)) {
            definitions_[name] = nullptr;
            definitions_[name] = struct_json(schema);
        }
        return {{"$ref", "#/definitions/" + name}};
    }

    json struct_json(capnp::StructSchema schema) {
        const struct_rules rules = rules_of(schema, members_);
        return rules.has_union ? union_json(rules) : object_json(rules, nullptr);
    }

    // A map with the keys of a struct and, of its union, `member` if there is one.
    json object_json(const struct_rules& rules, const field_rules* member) {
        json properties = json::object();
        json required = json::array();
        for (const field_rules& f : rules.fields) {
            if (f.in_union && &f != member)
                continue;
            properties[f.key] = field_json(f);
            if (f.required || f.in_union)
                required.push_back(f.key);
        }
        json out = {
            {"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
        if (!required.empty())
            out["required"] = required;
        return out;
    }

    json union_json(const struct_rules& rules) {
        json choices = json::array();
        for (const field_rules& f : rules.fields) {
            if (!f.in_union)
                continue;
            if (stands_alone(f))
                choices.push_back({{"const", f.key}, {"description", f.doc}});
            if (!f.type().isVoid() && rules.by_kind)
                choices.push_back(field_json(f));
            else if (!rules.by_kind)
                choices.push_back(object_json(rules, &f));
        }
        if (rules.union_has_default) {
            choices.push_back(object_json(rules, nullptr));
            choices.back()["minProperties"] = 1;
        }
        return {{"oneOf", choices}};
    }

    json field_json(const field_rules& rules) {
        json out = type_json(rules, rules.type());
        if (out.contains("$ref")) // draft 7 ignores what stands beside a reference
            out = {{"allOf", json::array({out})}};
        out["description"] = rules.doc;
        if (const std::string preset = default_text(rules); !preset.empty())
            out["default"] = rules.type().isEnum() || rules.type().isStruct()
                                 ? json(preset)
                                 : json::parse(preset).value();
        return out;
    }

    json type_json(const field_rules& rules, capnp::Type type) {
        switch (type.which()) {
        case capnp::schema::Type::VOID:
            return {{"type", json::array({"null", "object"})}, {"maxProperties", 0}};
        case capnp::schema::Type::BOOL:
            return {{"type", "boolean"}};
        case capnp::schema::Type::TEXT:
            return {{"type", "string"}, {"minLength", 1}};
        case capnp::schema::Type::STRUCT:
            return reference(type.asStruct());
        case capnp::schema::Type::ENUM: {
            json choices = json::array();
            for (const word& w : words_of(type.asEnum()))
                choices.push_back({{"const", w.key}, {"description", w.doc}});
            return {{"oneOf", choices}};
        }
        case capnp::schema::Type::LIST:
            return {{"type", "array"},
                    {"minItems", rules.items_min.value_or(0)},
                    {"maxItems", rules.items_max.value_or(0)},
                    {"items", type_json(rules, type.asList().getElementType())}};
        default:
            break;
        }
        json out = {{"type", is_integer(type) ? "integer" : "number"}};
        const number_range range = range_of(rules, type);
        if (range.min)
            out["minimum"] = json::parse(number_text(*range.min)).value();
        if (range.max)
            out["maximum"] = json::parse(number_text(*range.max)).value();
        return out;
    }

    app_members members_; // of the kind that is being written
    json definitions_ = json::object();
    std::map<std::string, std::uint64_t> ids_; // by name, of the first struct of this name
};

} // namespace

std::string app_json_schema(std::span<const app_kind> kinds) {
    return schema_writer{}.write(kinds);
}

} // namespace troupe
