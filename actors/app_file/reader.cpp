// Structs, unions and lists; scalars.cpp reads the values in them.
#include "actors/app_file/reader.hpp"

#include <algorithm>

#include "actors/app_file/open_union.hpp"
#include "actors/app_file/synonyms.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe::app_file {

namespace {

constexpr std::size_t places_named_max = 3; // where a key may have been meant to stand

std::string below(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
}

} // namespace

result<void> tree_reader::read(const node& root, capnp::DynamicStruct::Builder into) {
    if (root.what == node::kind::null)
        return names_.fail(
            {}, "", "empty; it needs " + alternatives(rules_of(into.getSchema(), members_).keys()));
    return read_struct(root, into, "");
}

error tree_reader::wrong_kind(const node& from, const std::string& path,
                              const std::string& expected) const {
    return names_.fail(from.where, path, "must be " + expected + ", not " + describe(from));
}

result<void> tree_reader::read_struct(const node& from, capnp::DynamicStruct::Builder into,
                                      const std::string& path) {
    const struct_rules rules = rules_of(into.getSchema(), members_);
    places_.emplace(path, from.where);
    if (rules.by_kind)
        return read_by_kind(from, rules, into, path);
    if (from.what == node::kind::map)
        return read_map(from, rules, into, path);
    if (from.what == node::kind::scalar && rules.has_union)
        return read_word(from, rules, into, path);
    return wrong_kind(from, path, "a map with " + alternatives(rules.keys()));
}

// Where a member of an open union is not nearly one of those that there are.
std::string tree_reader::hint_at_members(const struct_rules& rules,
                                         const std::string& wrong) const {
    if (!rules.is_open || words_.other_members.empty() || !nearest(wrong, rules.keys()).empty())
        return {};
    return "; " + std::string{words_.other_members};
}

// A key that is none here may be one of a member of the union: the given one, or the one that holds where none is given, or
// else any.
std::string tree_reader::hint_at_key(const node& from, const struct_rules& rules,
                                     const std::string& wrong) const {
    const auto is_given = [&](const field_rules& f) {
        return f.in_union &&
               (f.key == from.word || std::ranges::count(from.entries, f.key, &entry::key) > 0);
    };
    const bool has_given = std::ranges::any_of(rules.fields, is_given);
    std::vector<std::string> keys = rules.keys();
    std::vector<std::string> owners(keys.size()); // none of those that stand here
    for (const field_rules& f : rules.fields) {
        const bool holds =
            has_given ? is_given(f) : !rules.union_has_default || &f == rules.first_member();
        if (!f.in_union || !f.type().isStruct() || !holds)
            continue;
        for (std::string& key : rules_of(f.type().asStruct(), members_).keys())
            keys.push_back(std::move(key));
        owners.resize(keys.size(), f.key);
    }
    const std::string meant = nearest(wrong, keys);
    std::vector<std::string> places;
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (keys[i] == meant)
            places.push_back(owners[i].empty() ? "" : "\"" + below(owners[i], meant) + "\"");
    if (places.empty() || places.size() > places_named_max || places.front().empty())
        return key_hint(words_, wrong, rules.keys()) + hint_at_members(rules, wrong);
    return "did you mean " + alternatives(places) + "?";
}

result<void> tree_reader::read_map(const node& from, const struct_rules& rules,
                                   capnp::DynamicStruct::Builder into, const std::string& path) {
    std::vector<const entry*> seen(rules.fields.size());
    const entry* member = nullptr; // of the union
    for (const entry& e : from.entries) {
        const field_rules* field = rules.find(e.key);
        // A bad key has no place in the schema; on a line of its own it is shown with what was written.
        const std::string key_path = below(path, field ? e.key : printable(e.key));
        if (field == nullptr)
            return names_.fail(e.where, key_path,
                               "unknown key; " + hint_at_key(from, rules, e.key));
        const entry*& first = seen[static_cast<std::size_t>(field - rules.fields.data())];
        if (first != nullptr)
            return names_.fail_repeated(e.where, key_path, first->where);
        if (field->in_union && member != nullptr)
            return names_.fail(e.where, key_path,
                               "conflicts with \"" + member->key + "\" at " +
                                   names_.name(member->where) + "; give exactly one of " +
                                   alternatives(rules.union_keys()));
        first = &e;
        if (field->in_union)
            member = &e;
        if (auto read = read_field(e.value, *field, into, key_path); !read)
            return read;
    }
    if (member == nullptr && rules.has_union && !from.word.empty()) {
        node word;
        word.what = node::kind::scalar;
        word.where = from.where;
        word.text = from.word;
        if (auto read = read_word(word, rules, into, path); !read)
            return read;
    }
    return check_complete(from, rules, seen, path);
}

result<void> tree_reader::check_complete(const node& from, const struct_rules& rules,
                                         const std::vector<const entry*>& seen,
                                         const std::string& path) const {
    bool has_member = !from.word.empty();
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const field_rules& field = rules.fields[i];
        if (field.required && seen[i] == nullptr)
            return names_.fail(from.where, path, "missing key \"" + field.key + "\": " + field.doc);
        has_member = has_member || (field.in_union && seen[i] != nullptr);
    }
    const bool has_other = std::ranges::any_of(seen, [](const entry* e) { return e != nullptr; });
    if (rules.has_union && !has_member && !(rules.union_has_default && has_other))
        return names_.fail(from.where, path,
                           (has_other ? "incomplete" : "empty") +
                               std::string{"; give exactly one of "} +
                               alternatives(rules.union_keys()));
    return {};
}

result<void> tree_reader::read_word(const node& from, const struct_rules& rules,
                                    capnp::DynamicStruct::Builder into, const std::string& path) {
    const field_rules* member = rules.find(from.text);
    if (member == nullptr || !member->in_union)
        return names_.fail(from.where, path,
                           "unknown word " + in_quotes(from.text) + "; " +
                               hint(words_, from.text, rules.union_keys()) +
                               hint_at_members(rules, from.text));
    if (!stands_alone(*member))
        return names_.fail(from.where, path,
                           "\"" + member->key + "\" needs settings; write it as a key, {" +
                               member->key + ": {...}}");
    if (member->type().isVoid())
        into.set(member->field, capnp::VOID);
    else
        init_struct(into, *member);
    return {};
}

result<void> tree_reader::read_by_kind(const node& from, const struct_rules& rules,
                                       capnp::DynamicStruct::Builder into,
                                       const std::string& path) {
    std::vector<std::string> words;
    for (const field_rules& member : rules.fields) {
        const capnp::Type type = member.type();
        if (type.isVoid()) {
            words.push_back(member.key);
            if (from.what == node::kind::scalar && from.text == member.key) {
                into.set(member.field, capnp::VOID);
                return {};
            }
        } else if (is_integer(type) ? looks_like_integer(from) : from.what == node::kind::list) {
            return read_field(from, member, into, path);
        }
    }
    return wrong_kind(from, path, "\"" + alternatives(words) + "\", a whole number or a list");
}

result<void> tree_reader::read_field(const node& from, const field_rules& rules,
                                     capnp::DynamicStruct::Builder into, const std::string& path) {
    places_.emplace(path, from.where);
    const capnp::Type type = rules.type();
    if (type.isVoid()) {
        if (from.what != node::kind::null &&
            !(from.what == node::kind::map && from.entries.empty()))
            return names_.fail(from.where, path, "takes no settings, but got " + describe(from));
        into.set(rules.field, capnp::VOID);
        return {};
    }
    if (from.what == node::kind::null)
        return names_.fail(from.where, path, "has no value");
    if (type.isStruct())
        return read_struct(from, init_struct(into, rules), path);
    if (type.isList())
        return read_list(from, rules, into, path);
    std::string storage;
    auto value = read_scalar(from, {rules, type}, path, storage);
    if (!value)
        return value.failure();
    into.set(rules.field, *value);
    return {};
}

result<void> tree_reader::read_list(const node& from, const field_rules& rules,
                                    capnp::DynamicStruct::Builder into, const std::string& path) {
    TROUPE_CHECK(rules.items_max.has_value(), "every list of the app schema is bounded");
    if (from.what != node::kind::list)
        return wrong_kind(from, path, "a list");
    const std::size_t count = from.items.size();
    if (count < rules.items_min.value_or(0) || count > *rules.items_max)
        return names_.fail(
            from.where, path,
            "must have " +
                range_text({double(rules.items_min.value_or(0)), double(*rules.items_max)}) +
                " elements, not " + std::to_string(count));
    const capnp::Type element = rules.type().asList().getElementType();
    auto list = into.init(rules.field, static_cast<capnp::uint>(count)).as<capnp::DynamicList>();
    for (capnp::uint i = 0; i < count; ++i) {
        const std::string item_path = path + "[" + std::to_string(i) + "]";
        const node& item = from.items[i];
        if (element.isStruct()) {
            if (auto read = read_struct(item, list[i].as<capnp::DynamicStruct>(), item_path); !read)
                return read;
            continue;
        }
        places_.emplace(item_path, item.where);
        std::string storage;
        auto value = read_scalar(item, {rules, element}, item_path, storage);
        if (!value)
            return value.failure();
        list.set(i, *value);
    }
    return {};
}

} // namespace troupe::app_file
