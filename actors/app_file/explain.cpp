// The documentation of the app file's keys, from the schema.
#include <algorithm>

#include <capnp/dynamic.h>

#include "actors/app_file/app_file.hpp"
#include "actors/app_file/schema.hpp"
#include "actors/app_file/synonyms.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

using namespace app_file;

std::vector<std::string> words(const std::vector<word>& from) {
    std::vector<std::string> keys;
    for (const word& w : from)
        keys.push_back(w.key);
    return keys;
}

// "whole number, 1 to 64", "list of 1 to 7 whole numbers": what a value must be.
std::string kind_text(const field_rules& rules, capnp::Type type) {
    switch (type.which()) {
    case capnp::schema::Type::VOID:
        return "word";
    case capnp::schema::Type::BOOL:
        return "true or false";
    case capnp::schema::Type::TEXT:
        return rules.is_path ? "file name" : "text";
    case capnp::schema::Type::ENUM:
        return alternatives(words(words_of(type.asEnum())));
    case capnp::schema::Type::STRUCT: {
        const struct_rules below = rules_of(type.asStruct());
        return below.by_kind     ? "word, number or list"
               : below.has_union ? "one of " + alternatives(below.union_keys())
                                 : "map";
    }
    case capnp::schema::Type::LIST:
        return "list of " +
               range_text(
                   {double(rules.items_min.value_or(0)), double(rules.items_max.value_or(0))}) +
               " values, each: " + kind_text(rules, type.asList().getElementType());
    default:
        break;
    }
    const std::string range = range_text(range_of(rules, type));
    return (is_integer(type) ? "whole number" : "number") + (range.empty() ? "" : ", " + range);
}

std::string summary(const field_rules& rules) {
    std::string out = kind_text(rules, rules.type());
    if (rules.required)
        return out + "; required";
    const std::string preset = default_text(rules);
    if (!preset.empty())
        return out + "; default " + preset;
    return rules.in_union ? out : out + "; optional";
}

void list_keys(std::string& out, const std::string& title, const struct_rules& rules,
               bool of_union) {
    std::size_t width = 0;
    for (const field_rules& f : rules.fields)
        if (f.in_union == of_union)
            width = std::max(width, f.key.size());
    if (width == 0)
        return;
    out += "  " + title + ":\n";
    for (const field_rules& f : rules.fields) {
        if (f.in_union != of_union)
            continue;
        out += "    " + f.key + std::string(width - f.key.size() + 2, ' ') + f.doc + "\n";
        out += "    " + std::string(width + 2, ' ') + "(" + summary(f) + ")\n";
    }
}

void list_keys(std::string& out, capnp::StructSchema schema, const std::string& whose = "") {
    const struct_rules rules = rules_of(schema);
    list_keys(out, (rules.by_kind ? "forms" : "exactly one of") + whose, rules, true);
    list_keys(out, (rules.has_union ? "and keys" : "keys") + whose, rules, false);
}

std::optional<capnp::StructSchema> struct_below(capnp::Type type) {
    if (type.isList())
        type = type.asList().getElementType();
    return type.isStruct() ? std::optional{type.asStruct()} : std::nullopt;
}

// The elements of the list that values of this type may be: a list, or a struct of which one form is a list.
std::optional<capnp::StructSchema> element_of(capnp::Type type) {
    if (type.isList())
        return struct_below(type);
    if (type.isStruct())
        if (const struct_rules forms = rules_of(type.asStruct()); forms.by_kind)
            for (const field_rules& form : forms.fields)
                if (form.type().isList())
                    return struct_below(form.type());
    return std::nullopt;
}

std::string explain_field(const std::string& path, const field_rules& rules) {
    std::string out = path + ": " + rules.doc + "\n  " + summary(rules) + "\n";
    if (rules.is_path)
        out += "  One that is not absolute starts at the app file's folder; given with --set, at "
               "the current folder.\n";
    if (rules.type().isEnum())
        for (const word& w : words_of(rules.type().asEnum()))
            out += "    " + w.key + ": " + w.doc + "\n";
    const auto below = struct_below(rules.type());
    if (below)
        list_keys(out, *below);
    if (const auto element = element_of(rules.type()); element && *element != *below) {
        list_keys(out, *element, " of each in a list");
    }
    return out;
}

// The keys of "model.layers[0].conv2d" or "model.layers.0.conv2d": model, layers, conv2d.
std::vector<std::string> keys_of(std::string_view path) {
    std::vector<std::string> keys;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('.'), path.size());
        std::string key{path.substr(0, std::min(path.find('['), end))};
        if (key.find_first_not_of("0123456789") != std::string::npos || key.empty())
            keys.push_back(std::move(key));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return keys;
}

// Appends every path to a key of this name; within layers no further layers are looked into.
void find_key(const std::string& key, capnp::StructSchema schema, const std::string& path,
              std::vector<capnp::StructSchema>& around, std::vector<std::string>& found) {
    if (std::ranges::find(around, schema) != around.end())
        return;
    around.push_back(schema);
    for (const field_rules& f : rules_of(schema).fields) {
        const std::string here = path + (path.empty() ? "" : ".") + f.key;
        if (f.key == key)
            found.push_back(here);
        const auto below = struct_below(f.type());
        const auto element = element_of(f.type());
        if (below)
            find_key(key, *below, here, around, found);
        if (element && *element != *below)
            find_key(key, *element, here, around, found);
    }
    around.pop_back();
}

result<std::string> explain_path(const std::vector<std::string>& keys, const app_kind& kind) {
    const app_words& words = kind.words;
    capnp::StructSchema schema = kind.schema;
    std::optional<field_rules> field;
    std::string known;
    for (const std::string& key : keys) {
        if (field) {
            const auto below = struct_below(field->type());
            if (!below)
                return error{errc::usage, "\"" + known + "\" has no keys below it"};
            // An author of a list writes its elements' keys, not the name of its form.
            const auto element = element_of(field->type());
            schema = element && !rules_of(*below).find(key) ? *element : *below;
        }
        const struct_rules rules = rules_of(schema);
        const field_rules* next = rules.find(key);
        if (next == nullptr)
            return error{errc::usage, (known.empty() ? "" : known + ": ") +
                                          std::string{"no key \""} + key.substr(0, 64) + "\"; " +
                                          key_hint(words, key, rules.keys())};
        field = *next;
        known += (known.empty() ? "" : ".") + key;
    }
    if (field)
        return explain_field(known, *field);
    std::string out = rules_of(schema).doc + "\n";
    list_keys(out, schema);
    return out;
}

// Explains a path that begins somewhere below the top, at every place where it goes on.
result<std::string> explain_below(const std::vector<std::string>& keys, const app_kind& kind,
                                  error why) {
    std::vector<std::string> places;
    std::vector<capnp::StructSchema> around;
    find_key(keys.front(), kind.schema, "", around, places);
    std::vector<std::string> texts;
    for (const std::string& place : places) {
        std::vector<std::string> whole = keys_of(place);
        whole.insert(whole.end(), keys.begin() + 1, keys.end());
        if (auto text = explain_path(whole, kind))
            texts.push_back(std::move(*text));
        else if (place == places.front())
            why = text.failure();
    }
    if (texts.empty())
        return why;
    if (texts.size() == 1)
        return texts.front();
    std::string out =
        "\"" + keys.front() + "\" stands in " + std::to_string(texts.size()) + " places:\n";
    for (const std::string& text : texts)
        out += "  " + text.substr(0, text.find('\n') + 1);
    return out;
}

result<std::string> explain_of_kind(std::string_view path, const app_kind& kind) {
    const std::vector<std::string> keys = keys_of(path);
    auto text = explain_path(keys, kind);
    if (text || rules_of(kind.schema).find(keys.front()) != nullptr)
        return text;
    auto below = explain_below(keys, kind, text.failure());
    if (const std::string_view key = key_for(kind.words, path); !below && !key.empty())
        return explain_path(keys_of(key), kind);
    return below;
}

} // namespace

result<std::string> explain_app_key(std::string_view path, std::span<const app_kind> kinds) {
    if (path.empty()) {
        std::string all;
        for (const app_kind& kind : kinds)
            all += (all.empty() ? "" : "\n") + explain_path({}, kind).value();
        return all;
    }
    for (const app_kind& kind : kinds)
        if (rules_of(kind.schema).find(keys_of(path).front()) != nullptr)
            return explain_of_kind(path, kind);
    auto text = explain_of_kind(path, kinds.front());
    for (const app_kind& kind : kinds.subspan(1))
        if (!text)
            if (auto other = explain_of_kind(path, kind))
                text = std::move(other);
    return text;
}

} // namespace troupe
