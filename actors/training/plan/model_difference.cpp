// The difference between two models, by the first key at which their texts differ.
#include <algorithm>

#include "actors/app_file/tree.hpp"
#include "actors/training/plan/training_app.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

using namespace app_file;

const node* value_of(const node& map, const std::string& key) {
    const auto found = std::ranges::find(map.entries, key, &entry::key);
    return found == map.entries.end() ? nullptr : &found->value;
}

// A short form of a value; a layer is named by its kind without its settings.
std::string in_short(const node* value) {
    if (value == nullptr || value->what == node::kind::null)
        return "none";
    if (value->what == node::kind::scalar)
        return value->text;
    const bool is_list = value->what == node::kind::list;
    std::string out;
    for (const node& item : value->items)
        out += (out.empty() ? "" : ", ") + in_short(&item);
    for (const entry& e : value->entries)
        out += (out.empty() ? "" : ", ") + e.key;
    return is_list ? "[" + out + "]" : out;
}

std::string difference(const std::string& path, const node* then, const node* now);

std::string list_difference(const std::string& path, const node& then, const node& now) {
    for (std::size_t i = 0; i < std::max(then.items.size(), now.items.size()); ++i) {
        const auto at = [i](const node& n) { return i < n.items.size() ? &n.items[i] : nullptr; };
        auto found = difference(path + "[" + std::to_string(i) + "]", at(then), at(now));
        if (!found.empty())
            return found;
    }
    return "";
}

std::string map_difference(const std::string& path, const node& then, const node& now) {
    for (const entry& e : then.entries)
        if (auto found = difference(path + "." + e.key, &e.value, value_of(now, e.key));
            !found.empty())
            return found;
    for (const entry& e : now.entries)
        if (value_of(then, e.key) == nullptr)
            return difference(path + "." + e.key, nullptr, &e.value);
    return "";
}

// "PATH THEN, not NOW" for the first values that differ; empty if none do.
std::string difference(const std::string& path, const node* then, const node* now) {
    if (then != nullptr && now != nullptr && then->what == now->what) {
        if (then->what == node::kind::list)
            return list_difference(path, *then, *now);
        // Layers of two kinds have no key in common.
        if (then->what == node::kind::map &&
            std::ranges::any_of(then->entries,
                                [&](const entry& e) { return value_of(*now, e.key) != nullptr; }))
            return map_difference(path, *then, *now);
        if (then->what == node::kind::scalar && then->text == now->text)
            return "";
    }
    return troupe::printable(path, limits::reason_bytes_max) + " " + printable(in_short(then)) +
           ", not " + printable(in_short(now));
}

} // namespace

std::string model_difference(std::string_view saved, proto::Model::Reader model) {
    const std::string text = render_app(model);
    if (saved == text)
        return "";
    const sources names{.files = {"model"}, .setting_keys = {}};
    const auto then = parse_tree(saved, {}, names);
    const auto now = parse_tree(text, {}, names);
    std::string found = then && now ? difference("model", &*then, &*now) : "";
    return found.empty() ? "another model" : found;
}

} // namespace troupe
