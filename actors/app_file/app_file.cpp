#include "actors/app_file/app_file.hpp"

#include <algorithm>
#include <map>

#include <capnp/message.h>

#include "actors/app_file/bases.hpp"
#include "actors/app_file/reader.hpp"
#include "actors/app_file/tree.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

struct app_definition::state {
    std::string file;
    app_file::sources names;
    std::map<std::string, app_file::place, std::less<>> places;
    capnp::MallocMessageBuilder message;
    capnp::DynamicStruct::Reader root;
    app_kind kind;

    state() = default;
    ~state() noexcept {} // the message's destructor is declared to throw, and does not
};

capnp::DynamicStruct::Reader app_definition::root() const noexcept {
    return state_->root;
}

const std::string& app_definition::kind() const noexcept {
    return state_->kind.key;
}

app_members app_definition::members() const noexcept {
    return state_->kind.members;
}

const std::string& app_definition::file() const noexcept {
    return state_->file;
}

error app_definition::error_at(std::string_view path, std::string_view sentence) const {
    for (std::string_view known = path;;) {
        if (const auto found = state_->places.find(known); found != state_->places.end())
            return state_->names.fail(found->second, path, sentence);
        const std::size_t end = known.find_last_of(".[");
        known = known.substr(0, end == std::string_view::npos ? 0 : end);
    }
}

error app_definition::at_its_place(const error& why) const {
    const std::string_view message = why.message();
    const std::size_t end = message.find(": ");
    TROUPE_CHECK(end != std::string_view::npos, "the error begins with a key");
    return {why.code(), error_at(message.substr(0, end), message.substr(end + 2)).message()};
}

bool app_definition::is_given(std::string_view path) const {
    return state_->places.contains(path);
}

namespace {

using app_file::entry;
using app_file::node;

// The kind whose key one of these files has; with none, the first.
const app_kind& kind_named_in(const std::vector<node>& trees, std::span<const app_kind> kinds) {
    for (const node& tree : trees)
        for (const entry& e : tree.entries)
            if (const auto kind = std::ranges::find(kinds, e.key, &app_kind::key);
                kind != kinds.end())
                return *kind;
    return kinds.front();
}

bool has_key(const app_kind& kind, std::string_view key) {
    return app_file::rules_of(kind.schema, kind.members).find(key) != nullptr;
}

// "model", in quotes: the kinds whose files may have this key at their top.
std::vector<std::string> kinds_with(std::string_view key, std::span<const app_kind> kinds) {
    std::vector<std::string> with;
    for (const app_kind& kind : kinds)
        if (has_key(kind, key))
            with.push_back(app_file::in_quotes(kind.key));
    return with;
}

std::vector<std::string> keys_of(std::span<const app_kind> kinds) {
    std::vector<std::string> keys;
    for (const app_kind& kind : kinds)
        keys.push_back(kind.key);
    return keys;
}

// A file that has the key of no kind: perhaps it is mistyped.
error no_job(const node& tree, const app_file::sources& names, std::span<const app_kind> kinds) {
    const std::vector<std::string> keys = keys_of(kinds);
    for (const entry& e : tree.entries)
        if (kinds_with(e.key, kinds).empty() && !nearest(e.key, keys).empty())
            return names.fail(e.where, app_file::printable(e.key),
                              "unknown key; " + suggestion(e.key, keys));
    return names.fail(tree.where, "", "no job; give one of " + alternatives(keys));
}

// A file that has no keys: all that files of these kinds may have at their top.
error no_keys(const node& tree, const app_file::sources& names, std::span<const app_kind> kinds) {
    std::vector<std::string> keys;
    for (const app_kind& kind : kinds)
        for (const std::string& key : app_file::rules_of(kind.schema, kind.members).keys())
            if (std::ranges::count(keys, key) == 0)
                keys.push_back(key);
    if (tree.what == node::kind::null)
        return names.fail({}, "", "empty; it needs some of " + alternatives(keys));
    return names.fail(tree.where, "",
                      "must be a map with " + alternatives(keys) + ", not " +
                          app_file::describe(tree));
}

// The kind that the file is of, by the keys at its top; those of other kinds are refused.
result<const app_kind*> kind_of(const node& tree, const app_file::sources& names,
                                std::span<const app_kind> kinds) {
    const app_kind* chosen = nullptr;
    const entry* by = nullptr;
    for (const entry& e : tree.entries) {
        const auto kind = std::ranges::find(kinds, e.key, &app_kind::key);
        if (kind == kinds.end() || &*kind == chosen)
            continue;
        if (chosen != nullptr)
            return names.fail(e.where, e.key,
                              "conflicts with \"" + chosen->key + "\" at " + names.name(by->where) +
                                  "; an app file is one job, with one of " +
                                  alternatives(keys_of(kinds)));
        chosen = &*kind;
        by = &e;
    }
    if (chosen == nullptr && kinds.size() > 1)
        return tree.what == node::kind::map ? no_job(tree, names, kinds)
                                            : no_keys(tree, names, kinds);
    if (chosen == nullptr)
        return &kinds.front(); // says what is missing
    for (const entry& e : tree.entries)
        if (const auto others = kinds_with(e.key, kinds);
            !others.empty() && !has_key(*chosen, e.key))
            return names.fail(e.where, e.key,
                              "goes with " + alternatives(others) + ", not with \"" + chosen->key +
                                  "\"; leave it out");
    return chosen;
}

} // namespace

result<app_definition> parse_app(std::string_view text, const std::filesystem::path& file,
                                 const app_settings& settings, std::span<const app_kind> kinds,
                                 const std::string& home) {
    TROUPE_CHECK(!kinds.empty(), "there is a kind of job");
    auto state = std::make_shared<app_definition::state>();
    state->file = file.string();
    state->names.files.push_back(file.string());
    state->names.home = home;
    auto trees = app_file::parse_with_bases(text, state->names);
    if (!trees)
        return trees.failure();
    const app_kind& named = kind_named_in(*trees, kinds);
    auto tree = app_file::join_bases(std::move(*trees), named, state->names);
    if (!tree)
        return tree.failure();
    if (auto applied = app_file::apply_settings(*tree, settings, state->names); !applied)
        return applied.failure();
    const auto kind = kind_of(*tree, state->names, kinds);
    if (!kind)
        return kind.failure();
    state->kind = **kind;

    app_file::tree_reader reader{state->names, state->kind};
    auto root = state->message.initRoot<capnp::DynamicStruct>(state->kind.schema);
    if (auto read = reader.read(*tree, root); !read)
        return read.failure();
    state->places = reader.take_places();
    state->root = root.asReader();
    app_definition definition{std::move(state)};
    if (const auto check = (*kind)->check)
        if (auto checked = check(definition); !checked)
            return checked.failure();
    return definition;
}

result<app_definition> load_app(const std::filesystem::path& file, const app_settings& settings,
                                std::span<const app_kind> kinds, const std::string& home) {
    auto text = app_file::read_text(file);
    if (!text)
        return text.failure();
    return parse_app(*text, file, settings, kinds, home);
}

} // namespace troupe
