#include "actors/app_file/bases.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "actors/app_file/file_names.hpp"
#include "actors/app_file/schema.hpp"
#include "schemas/base/limits.hpp"

namespace troupe::app_file {

result<std::string> read_text(const std::filesystem::path& file) {
    const auto refuse = [&](const std::string& sentence) {
        return error{errc::io, file.string() + ": " + sentence};
    };
    std::error_code failed;
    const auto status = std::filesystem::status(file, failed);
    if (!std::filesystem::exists(status))
        return refuse("no such app file");
    if (std::filesystem::is_directory(status))
        return refuse("a folder, not an app file");
    std::ifstream in{file, std::ios::binary};
    if (!in)
        return refuse("cannot be opened; check its permissions");
    // One byte more than allowed, so that parsing sees that there is more.
    std::string text(limits::app_file_bytes_max + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad())
        return refuse("cannot be read");
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

namespace {

entry* find(node& map, std::string_view key) {
    const auto found = std::ranges::find(map.entries, key, &entry::key);
    return found == map.entries.end() ? nullptr : &*found;
}

// The parts of joining two trees.
struct joining {
    app_members members;
    const sources& names;
};

// `below` with the values of `over`, which lies over it at `path`; both are of this schema.
result<node> joined(node below, node over, capnp::StructSchema schema, const std::string& path,
                    const joining& by) {
    if (below.what != node::kind::map || over.what != node::kind::map)
        return over;
    const struct_rules rules = rules_of(schema, by.members);
    const auto is_choice = [&](const entry& e) {
        const field_rules* field = rules.find(e.key);
        return field != nullptr && field->in_union;
    };
    const auto chosen = std::ranges::find_if(over.entries, is_choice);
    if (chosen != over.entries.end())
        std::erase_if(below.entries,
                      [&](const entry& e) { return is_choice(e) && e.key != chosen->key; });
    std::map<std::string, place> given;
    for (entry& e : over.entries) {
        const std::string key_path = path + (path.empty() ? "" : ".") + printable(e.key);
        if (const auto [first, is_new] = given.emplace(e.key, e.where); !is_new)
            return by.names.fail_repeated(e.where, key_path, first->second);
        entry* const same = find(below, e.key);
        if (same == nullptr) {
            below.entries.push_back(std::move(e));
            continue;
        }
        same->where = e.where;
        const field_rules* field = rules.find(e.key);
        if (field == nullptr || !field->type().isStruct()) {
            same->value = std::move(e.value);
            continue;
        }
        auto value = joined(std::move(same->value), std::move(e.value), field->type().asStruct(),
                            key_path, by);
        if (!value)
            return value;
        same->value = std::move(value).value();
    }
    below.where = over.where;
    return below;
}

// Takes `base` out of the tree; null where there is none.
result<node> take_base(node& tree, const sources& names) {
    if (tree.what != node::kind::map)
        return node{};
    entry* const base = find(tree, "base");
    if (base == nullptr)
        return node{};
    const auto behind = tree.entries.begin() + (base - tree.entries.data()) + 1;
    if (const auto again = std::ranges::find(behind, tree.entries.end(), "base", &entry::key);
        again != tree.entries.end())
        return names.fail_repeated(again->where, "base", base->where);
    node value = std::move(base->value);
    if (value.what != node::kind::scalar || value.text.empty())
        return names.fail(value.where, "base",
                          "must be the name of an app file, not " + describe(value));
    if (!is_one_line(value.text))
        return names.fail(value.where, "base",
                          "must not contain line breaks or other control characters");
    tree.entries.erase(behind - 1);
    return value;
}

} // namespace

result<std::vector<node>> parse_with_bases(std::string_view text, sources& names) {
    auto tree = parse_tree(text, {}, names);
    if (!tree)
        return tree.failure();
    std::vector<node> trees;
    trees.push_back(std::move(tree).value());
    for (;;) {
        auto base = take_base(trees.back(), names);
        if (!base)
            return base.failure();
        if (base->what == node::kind::null)
            return trees;
        if (trees.size() > limits::app_file_bases_max)
            return names.fail(base->where, "base",
                              "more than " + std::to_string(limits::app_file_bases_max) +
                                  " files below each other; does one of them build on itself?");
        const auto named = with_home(base->text, names.home);
        if (!named)
            return names.fail(base->where, "base", named.failure().message());
        const auto file =
            (std::filesystem::path{names.files.back()}.parent_path() / *named).lexically_normal();
        auto read = read_text(file);
        if (!read)
            return names.fail(base->where, "base", read.failure().message());
        names.files.push_back(file.string());
        auto below = parse_tree(*read, {.file = static_cast<int>(names.files.size()) - 1}, names);
        if (!below)
            return below.failure();
        trees.push_back(std::move(below).value());
    }
}

result<node> join_bases(std::vector<node> trees, const app_kind& kind, const sources& names) {
    const joining by{kind.members, names};
    result<node> whole = std::move(trees.back());
    for (trees.pop_back(); whole && !trees.empty(); trees.pop_back())
        whole = joined(std::move(whole).value(), std::move(trees.back()), kind.schema, "", by);
    return whole;
}

} // namespace troupe::app_file
