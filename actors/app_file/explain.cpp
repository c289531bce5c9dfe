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

std::optional<capnp::StructSchema> struct_below(capnp::Type type) {
    if (type.isList())
        type = type.asList().getElementType();
    return type.isStruct() ? std::optional{type.asStruct()} : std::nullopt;
}

// The documentation of the app files of a kind.
class manual {
  public:
    explicit manual(const app_kind& kind) : kind_{kind} {}

    // Whether a key of this name stands anywhere.
    bool has(const std::string& key) const;
    result<std::string> explain(std::string_view path) const;
    result<std::string> explain_path(const std::vector<std::string>& keys) const;

  private:
    struct_rules rules_of(capnp::StructSchema schema) const {
        return app_file::rules_of(schema, kind_.members);
    }
    std::optional<capnp::StructSchema> element_of(capnp::Type type) const;

    std::string kind_text(const field_rules& rules, capnp::Type type) const;
    std::string summary(const field_rules& rules) const;
    void list_keys(std::string& out, const std::string& title, const struct_rules& rules,
                   bool of_union) const;
    void list_keys(std::string& out, capnp::StructSchema schema,
                   const std::string& whose = "") const;
    std::string explain_field(const std::string& path, const field_rules& rules) const;

    void find_key(const std::string& key, capnp::StructSchema schema, const std::string& path,
                  std::vector<capnp::StructSchema>& around, std::vector<std::string>& found) const;
    result<std::string> explain_below(const std::vector<std::string>& keys, error why) const;

    const app_kind& kind_;
};

// "whole number, 1 to 64", "list of 1 to 7 whole numbers": what a value must be.
std::string manual::kind_text(const field_rules& rules, capnp::Type type) const {
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

std::string manual::summary(const field_rules& rules) const {
    std::string out = kind_text(rules, rules.type());
    if (rules.required)
        return out + "; required";
    const std::string preset = default_text(rules);
    if (!preset.empty())
        return out + "; default " + preset;
    return rules.in_union ? out : out + "; optional";
}

void manual::list_keys(std::string& out, const std::string& title, const struct_rules& rules,
                       bool of_union) const {
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

void manual::list_keys(std::string& out, capnp::StructSchema schema,
                       const std::string& whose) const {
    const struct_rules rules = rules_of(schema);
    list_keys(out, (rules.by_kind ? "forms" : "exactly one of") + whose, rules, true);
    list_keys(out, (rules.has_union ? "and keys" : "keys") + whose, rules, false);
}

// The elements of the list that values of this type may be: a list, or a struct of which one form is a list.
std::optional<capnp::StructSchema> manual::element_of(capnp::Type type) const {
    if (type.isList())
        return struct_below(type);
    if (type.isStruct())
        if (const struct_rules forms = rules_of(type.asStruct()); forms.by_kind)
            for (const field_rules& form : forms.fields)
                if (form.type().isList())
                    return struct_below(form.type());
    return std::nullopt;
}

std::string manual::explain_field(const std::string& path, const field_rules& rules) const {
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

// Appends every path to a key of this name; within layers no further layers are looked into.
void manual::find_key(const std::string& key, capnp::StructSchema schema, const std::string& path,
                      std::vector<capnp::StructSchema>& around,
                      std::vector<std::string>& found) const {
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

result<std::string> manual::explain_path(const std::vector<std::string>& keys) const {
    capnp::StructSchema schema = kind_.schema;
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
                                          key_hint(kind_.words, key, rules.keys())};
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
result<std::string> manual::explain_below(const std::vector<std::string>& keys, error why) const {
    std::vector<std::string> places;
    std::vector<capnp::StructSchema> around;
    find_key(keys.front(), kind_.schema, "", around, places);
    std::vector<std::string> texts;
    for (const std::string& place : places) {
        std::vector<std::string> whole = keys_of(place);
        whole.insert(whole.end(), keys.begin() + 1, keys.end());
        if (auto text = explain_path(whole))
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

bool manual::has(const std::string& key) const {
    std::vector<std::string> places;
    std::vector<capnp::StructSchema> around;
    find_key(key, kind_.schema, "", around, places);
    return !places.empty();
}

result<std::string> manual::explain(std::string_view path) const {
    const std::vector<std::string> keys = keys_of(path);
    auto text = explain_path(keys);
    if (text || rules_of(kind_.schema).find(keys.front()) != nullptr)
        return text;
    auto below = explain_below(keys, text.failure());
    if (const std::string_view key = key_for(kind_.words, path); !below && !key.empty())
        return explain_path(keys_of(key));
    return below;
}

// The answer of one kind of job, or its failure.
struct said {
    const app_kind& kind;
    std::string text;
};

void add(std::vector<said>& to, const app_kind& kind, const std::string& text) {
    if (std::ranges::find(to, text, &said::text) == to.end())
        to.push_back({kind, text});
}

// The error for a path that is explained nowhere.
error not_explained(const std::string& key, const std::vector<said>& failures,
                    std::span<const app_kind> kinds) {
    if (!failures.empty()) {
        std::string all = failures.front().text;
        for (const said& other : std::span{failures}.subspan(1))
            all += "; with \"" + other.kind.key + "\": " + other.text;
        return {errc::usage, all};
    }
    std::vector<std::string> keys;
    for (const app_kind& kind : kinds)
        for (const std::string& known : rules_of(kind.schema, kind.members).keys())
            if (std::ranges::find(keys, known) == keys.end())
                keys.push_back(known);
    std::string advice = suggestion(key, keys);
    for (const app_kind& kind : kinds)
        if (const std::string hint = key_hint(kind.words, key, keys); hint != suggestion(key, keys))
            advice = hint;
    return {errc::usage, "no key \"" + key.substr(0, 64) + "\"; " + advice};
}

} // namespace

result<std::string> explain_app_key(std::string_view path, std::span<const app_kind> kinds) {
    if (path.empty()) {
        std::string all;
        for (const app_kind& kind : kinds)
            all += (all.empty() ? "" : "\n") + manual{kind}.explain_path({}).value();
        return all;
    }
    const std::vector<std::string> keys = keys_of(path);
    const std::string first = keys.empty() ? std::string{path} : keys.front();
    std::vector<said> texts, failures;
    for (const app_kind& kind : kinds) {
        const manual of{kind};
        if (const auto text = of.explain(path))
            add(texts, kind, *text);
        else if (of.has(first))
            add(failures, kind, text.failure().message());
    }
    if (texts.empty())
        return not_explained(first, failures, kinds);
    if (texts.size() == 1)
        return texts.front().text;
    std::string all;
    for (const said& one : texts)
        all += (all.empty() ? "" : "\n") + ("with \"" + one.kind.key + "\":\n" + one.text);
    return all;
}

} // namespace troupe
