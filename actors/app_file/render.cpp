// The app definition as YAML.
#include <algorithm>

#include <capnp/dynamic.h>

#include "actors/app_file/app_file.hpp"
#include "actors/app_file/open_union.hpp"
#include "actors/app_file/schema.hpp"

namespace troupe {

namespace {

using namespace app_file;
using capnp::DynamicList;
using capnp::DynamicStruct;
using capnp::DynamicValue;

constexpr std::size_t line_width = 100;

// A text as a YAML scalar: plain if nobody can take it for something else, in double quotes otherwise.
std::string scalar_text(std::string_view text) {
    constexpr std::string_view harmless =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
    const bool plain =
        text.find('/') != std::string_view::npos &&
        text.find_first_not_of(std::string{harmless} + "-") == std::string_view::npos &&
        text.front() != '-';
    if (plain)
        return std::string{text};
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + "\"";
}

std::string float_text(const DynamicValue::Reader& value, capnp::Type type) {
    return type.isFloat64() ? number_text(value.as<double>()) : number_text(value.as<float>());
}

class renderer {
  public:
    explicit renderer(app_members members) : members_{members} {}

    void list_values(DynamicStruct::Reader from, const std::string& above,
                     std::vector<app_value>& to) const;
    std::string render(DynamicStruct::Reader root) const {
        std::string out;
        block_struct(out, 0, root, false);
        return out;
    }

  private:
    struct_rules rules_of(DynamicStruct::Reader from) const {
        return app_file::rules_of(from.getSchema(), members_);
    }
    bool has_default_member(capnp::Type type) const;
    std::vector<field_rules> members_of(DynamicStruct::Reader from) const;
    std::optional<std::string> as_word(DynamicStruct::Reader from) const;

    // A value on one line.
    std::string flow(const DynamicValue::Reader& value, capnp::Type type) const;
    std::string flow_list(DynamicList::Reader list, capnp::Type element) const;
    std::string flow_struct(DynamicStruct::Reader from) const;

    std::size_t depth(const DynamicValue::Reader& value) const;
    void block(std::string& out, std::size_t indent, const DynamicValue::Reader& value,
               capnp::Type type) const;
    void block_entry(std::string& out, std::size_t indent, const field_rules& m,
                     DynamicStruct::Reader from) const;
    void block_struct(std::string& out, std::size_t indent, DynamicStruct::Reader from,
                      bool begun) const;
    void block_list(std::string& out, std::size_t indent, DynamicList::Reader list,
                    capnp::Type element) const;

    const app_members members_;
};

bool renderer::has_default_member(capnp::Type type) const {
    return type.isStruct() && !is_open(type.asStruct()) &&
           app_file::rules_of(type.asStruct(), members_).has_union;
}

// The fields of a struct that a file would name: all but members of the union that are not active, or a word that holds
// without being named, and optional values that are absent. An absent struct of a union stands for the union's first member
// and is shown as that.
std::vector<field_rules> renderer::members_of(DynamicStruct::Reader from) const {
    std::vector<field_rules> out;
    struct_rules rules = rules_of(from);
    for (field_rules& f : rules.fields) {
        const capnp::Type type = f.type();
        if (rules.union_has_default && &f == rules.first_member() && type.isVoid())
            continue;
        const bool is_pointer = type.isStruct() || type.isList() || type.isText();
        if (f.in_union ? is_active(from, f)
                       : !is_pointer || has_default_member(type) || has(from, f))
            out.push_back(f);
    }
    return out;
}

// A struct of a union whose active member is a word, with nothing to say beside it, or whose value stands for itself
// ($byKind); empty otherwise.
std::optional<std::string> renderer::as_word(DynamicStruct::Reader from) const {
    const auto is_said = [&](const field_rules& f) {
        return !f.in_union && from.has(f.field, capnp::HasMode::NON_DEFAULT);
    };
    KJ_IF_MAYBE (active, from.which()) {
        const struct_rules rules = rules_of(from);
        if (std::ranges::any_of(rules.fields, is_said))
            return std::nullopt;
        if (active->getType().isVoid())
            return snake_case(active->getProto().getName().cStr());
        if (rules.by_kind && !active->getType().isList())
            return flow(from.get(*active), active->getType());
    }
    return std::nullopt;
}

std::string renderer::flow_list(DynamicList::Reader list, capnp::Type element) const {
    std::string out = "[";
    for (capnp::uint i = 0; i < list.size(); ++i)
        out += (i == 0 ? "" : ", ") + flow(list[i], element);
    return out + "]";
}

std::string renderer::flow_struct(DynamicStruct::Reader from) const {
    if (auto word = as_word(from))
        return *word;
    const auto members = members_of(from);
    if (rules_of(from).by_kind)
        return flow(get(from, members[0]), members[0].type());
    std::string out = "{";
    for (const field_rules& m : members)
        out += (out.size() == 1 ? "" : ", ") + m.key + ": " + flow(get(from, m), m.type());
    return out + "}";
}

std::string renderer::flow(const DynamicValue::Reader& value, capnp::Type type) const {
    switch (value.getType()) {
    case DynamicValue::STRUCT:
        return flow_struct(value.as<DynamicStruct>());
    case DynamicValue::LIST:
        return flow_list(value.as<DynamicList>(), type.asList().getElementType());
    case DynamicValue::TEXT:
        return scalar_text(value.as<capnp::Text>().cStr());
    case DynamicValue::BOOL:
        return value.as<bool>() ? "true" : "false";
    case DynamicValue::UINT:
        return std::to_string(value.as<std::uint64_t>());
    case DynamicValue::FLOAT:
        return float_text(value, type);
    case DynamicValue::VOID:
        return "{}";
    case DynamicValue::ENUM:
        KJ_IF_MAYBE (e, value.as<capnp::DynamicEnum>().getEnumerant()) {
            return snake_case(e->getProto().getName().cStr());
        }
        break;
    default:
        break;
    }
    TROUPE_CHECK(false, "the app schema has only kinds of values that the loader knows");
}

// How deep lists and maps lie in a value: 0 for a scalar. Deep values are easier to read on lines of their own.
std::size_t renderer::depth(const DynamicValue::Reader& value) const {
    std::size_t deepest = 0;
    if (value.getType() == DynamicValue::LIST) {
        for (const auto item : value.as<DynamicList>())
            deepest = std::max(deepest, depth(item));
        return deepest + 1;
    }
    if (value.getType() != DynamicValue::STRUCT || as_word(value.as<DynamicStruct>()))
        return 0;
    const auto from = value.as<DynamicStruct>();
    for (const field_rules& m : members_of(from))
        deepest = std::max(deepest, depth(get(from, m)));
    return deepest + 1;
}

// "KEY: VALUE" where the line has begun already, with what does not fit on it below.
void renderer::block_entry(std::string& out, std::size_t indent, const field_rules& m,
                           DynamicStruct::Reader from) const {
    const auto value = get(from, m);
    out += m.key + ":";
    const std::string line = flow(value, m.type());
    const std::size_t deep = depth(value);
    if (deep == 0 || (deep == 1 && indent + m.key.size() + 2 + line.size() <= line_width)) {
        out += " " + line + "\n";
        return;
    }
    out += "\n";
    block(out, indent + 2, value, m.type());
}

void renderer::block_struct(std::string& out, std::size_t indent, DynamicStruct::Reader from,
                            bool begun) const {
    for (const field_rules& m : members_of(from)) {
        if (!std::exchange(begun, false))
            out.append(indent, ' ');
        block_entry(out, indent, m, from);
    }
}

void renderer::block_list(std::string& out, std::size_t indent, DynamicList::Reader list,
                          capnp::Type element) const {
    for (const auto item : list) {
        out.append(indent, ' ') += "- ";
        const std::string line = flow(item, element);
        if (depth(item) == 0 || (depth(item) == 1 && indent + 2 + line.size() <= line_width))
            out += line + "\n";
        else
            block_struct(out, indent + 2, item.as<DynamicStruct>(), true);
    }
}

void renderer::block(std::string& out, std::size_t indent, const DynamicValue::Reader& value,
                     capnp::Type type) const {
    if (value.getType() == DynamicValue::LIST)
        return block_list(out, indent, value.as<DynamicList>(), type.asList().getElementType());
    const auto from = value.as<DynamicStruct>();
    if (!rules_of(from).by_kind)
        return block_struct(out, indent, from, false);
    const auto active = members_of(from)[0];
    block(out, indent, get(from, active), active.type());
}

void renderer::list_values(DynamicStruct::Reader from, const std::string& above,
                           std::vector<app_value>& to) const {
    for (const field_rules& m : members_of(from)) {
        const auto value = get(from, m);
        const std::string path = above + m.key;
        const std::size_t before = to.size();
        if (value.getType() == DynamicValue::STRUCT && depth(value) > 0) {
            list_values(value.as<DynamicStruct>(), path + ".", to);
            if (to.size() == before)
                to.push_back({path, "{}"});
        } else if (m.is_path && value.getType() == DynamicValue::TEXT)
            to.push_back({path, std::filesystem::absolute(value.as<capnp::Text>().cStr())
                                    .lexically_normal()
                                    .string()});
        else
            to.push_back({path, flow(value, m.type())});
    }
}

} // namespace

std::vector<app_value> values_of(capnp::DynamicStruct::Reader part, app_members members) {
    std::vector<app_value> all;
    renderer{members}.list_values(part, "", all);
    return all;
}

std::string render_app(const app_definition& definition) {
    return render_app(definition.root(), definition.members());
}

std::string render_app(capnp::DynamicStruct::Reader part, app_members members) {
    return renderer{members}.render(part);
}

} // namespace troupe
