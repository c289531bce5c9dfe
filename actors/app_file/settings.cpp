// --set KEY=VALUE arguments, applied to the tree of an app file before it is checked.
#include <algorithm>
#include <charconv>
#include <optional>
#include <variant>

#include "actors/app_file/tree.hpp"
#include "schemas/base/limits.hpp"

namespace troupe::app_file {

namespace {

using step = std::variant<std::string, std::size_t>; // a key of a map, or an index of a list

std::optional<std::size_t> parse_index(std::string_view text) {
    std::size_t index = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (failed != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return index;
}

// "model.layers[0].conv2d.out" or "model.layers.0.conv2d.out" as steps; nothing if it is not of this form.
std::optional<std::vector<step>> parse_key(std::string_view key) {
    std::vector<step> steps;
    while (true) {
        const std::size_t dot = std::min(key.find('.'), key.size());
        std::string_view part = key.substr(0, dot);
        const std::size_t bracket = std::min(part.find('['), part.size());
        const std::string_view name = part.substr(0, bracket);
        part.remove_prefix(bracket);
        if (name.empty() || name.find(']') != std::string_view::npos)
            return std::nullopt;
        if (const auto index = parse_index(name))
            steps.emplace_back(*index);
        else
            steps.emplace_back(std::string{name});
        while (!part.empty()) {
            const std::size_t close = part.find(']');
            if (part.front() != '[' || close == std::string_view::npos)
                return std::nullopt;
            const auto index = parse_index(part.substr(1, close - 1));
            if (!index)
                return std::nullopt;
            steps.emplace_back(*index);
            part.remove_prefix(close + 1);
        }
        if (steps.size() > limits::app_file_depth_max)
            return std::nullopt;
        if (dot == key.size())
            return steps;
        key.remove_prefix(dot + 1);
    }
}

// The node one step below `from`, made when it is a missing key; an error sentence otherwise.
result<node*> descend(node& from, const step& next, const place& where, const sources& names) {
    if (const auto* index = std::get_if<std::size_t>(&next)) {
        if (from.what != node::kind::list)
            return names.fail(where, "",
                              "index " + std::to_string(*index) + " into " + describe(from) +
                                  ", which is no list");
        if (*index >= from.items.size())
            return names.fail(where, "",
                              "index " + std::to_string(*index) + " into a list of " +
                                  std::to_string(from.items.size()) + " (counted from 0)");
        return &from.items[*index];
    }
    const auto& key = std::get<std::string>(next);
    if (from.what == node::kind::list)
        return names.fail(where, "",
                          "key " + in_quotes(key) + " into a list; give an index, as in layers[0]");
    if (from.what != node::kind::map) { // a word for a union's member gives way to a map
        node map;
        map.what = node::kind::map;
        map.where = where;
        if (from.what == node::kind::scalar && !from.quoted)
            map.word = from.text;
        from = std::move(map);
    }
    for (entry& e : from.entries)
        if (e.key == key)
            return &e.value;
    return &from.entries.emplace_back(entry{key, where, {}}).value;
}

void remove(node& from, const step& last) {
    if (const auto* key = std::get_if<std::string>(&last))
        std::erase_if(from.entries, [&](const entry& e) { return e.key == *key; });
    else
        from.items.erase(from.items.begin() +
                         static_cast<std::ptrdiff_t>(std::get<std::size_t>(last)));
}

result<void> apply_setting(node& root, std::string_view setting, const place& where,
                           const sources& names) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos)
        return names.fail(where, "", "needs a value, as in --set train.epochs=3");
    const auto steps = parse_key(setting.substr(0, equals));
    if (!steps)
        return names.fail(where, "", "not a key; write it as in model.layers[0].linear.out");
    if (equals + 1 == setting.size())
        return names.fail(where, "",
                          "needs a value, as in --set train.epochs=3; null removes a key");
    auto value = parse_tree(setting.substr(equals + 1), where, names);
    if (!value)
        return value.failure();

    node* parent = &root;
    node* target = &root;
    for (const step& next : *steps) {
        auto below = descend(*target, next, where, names);
        if (!below)
            return below.failure();
        parent = target;
        target = *below;
    }
    if (value->what == node::kind::null)
        remove(*parent, steps->back());
    else
        *target = std::move(*value);
    return {};
}

} // namespace

result<void> apply_settings(node& root, const std::vector<std::string>& settings, sources& names) {
    for (const std::string& setting : settings) {
        const std::string key = setting.substr(0, setting.find('='));
        names.setting_keys.push_back(printable(key));
        const place where{static_cast<int>(names.setting_keys.size()) - 1, 0, 0};
        if (auto applied = apply_setting(root, setting, where, names); !applied)
            return applied;
    }
    return {};
}

} // namespace troupe::app_file
