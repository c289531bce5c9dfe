#include "actors/checkpoint/tensor_fit.hpp"

#include <algorithm>
#include <map>

#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

constexpr std::size_t shown_max = 8;       // of each list
constexpr std::size_t compared_max = 1000; // names that one is compared with

std::string shown(std::string_view name) {
    return printable(name, limits::name_bytes_max);
}

// "2 tensors are missing, a, b"
std::string listed(std::vector<std::string> texts, std::string_view is, std::string_view are) {
    const std::size_t all = texts.size();
    if (all == 0)
        return {};
    texts.resize(std::min(all, shown_max));
    if (all > shown_max)
        texts.push_back("and " + std::to_string(all - shown_max) + " more");
    return counted(all, "tensor") + " " + std::string{all == 1 ? is : are} + ", " + join(texts);
}

// The unwanted name that this is the end of, or that ends it, else the nearest one.
std::string like(const std::string& missing, const std::vector<std::string>& unwanted) {
    const auto ends_it = [&](const std::string& name) {
        return missing.ends_with("." + name) || name.ends_with("." + missing);
    };
    const auto found = std::ranges::find_if(unwanted, ends_it);
    return found == unwanted.end() ? nearest(missing, unwanted) : *found;
}

std::string form_of(data_type type, const tensor_shape& shape) {
    return std::string{to_string(type)} + " " + to_string(shape);
}

} // namespace

std::string without_wrappers(std::string_view name) {
    std::string rest;
    while (!name.empty()) {
        const std::string_view part = name.substr(0, std::min(name.find('.'), name.size() - 1) + 1);
        name.remove_prefix(part.size());
        if (part != "module." && part != "_orig_mod.")
            rest += part;
    }
    return rest;
}

std::string why_not_fitting(std::span<const weights_layout::entry> wanted,
                            std::span<const named_tensor> given, bool may_have_more) {
    std::map<std::string_view, const named_tensor*> by_name;
    for (const named_tensor& t : given)
        by_name.emplace(t.name, &t);
    std::vector<const weights_layout::entry*> not_there;
    std::vector<std::string> others;
    bool has_doubles = false;
    for (const weights_layout::entry& entry : wanted) {
        const auto found = by_name.find(entry.name);
        if (found == by_name.end()) {
            if (!entry.is_state)
                not_there.push_back(&entry);
            continue;
        }
        const named_tensor& t = *found->second;
        by_name.erase(found);
        if (t.type == data_type::float32 && t.shape == entry.shape)
            continue;
        has_doubles |= t.type == data_type::float64;
        others.push_back(entry.name + " is " + form_of(t.type, t.shape) + ", but the model wants " +
                         form_of(data_type::float32, entry.shape));
    }
    std::vector<std::string> unwanted;
    for (const auto& [name, t] : by_name)
        unwanted.push_back(shown(name));
    std::vector<std::string> compared = unwanted;
    compared.resize(std::min(compared.size(), compared_max));
    std::vector<std::string> missing;
    for (const weights_layout::entry* entry : not_there) {
        const std::string near =
            missing.size() < shown_max ? like(entry->name, compared) : std::string{};
        missing.push_back(entry->name + (near.empty() ? "" : " (like " + near + ")"));
    }
    if (may_have_more)
        unwanted.clear();
    std::string why;
    for (const std::string& part :
         {listed(std::move(missing), "is missing", "are missing"),
          listed(std::move(unwanted), "is none of the model's", "are none of the model's"),
          listed(std::move(others), "is of another form", "are of another form")})
        if (!part.empty())
            why.append(why.empty() ? "" : "; ").append(part);
    return why + (has_doubles ? "; convert float64 first, in PyTorch by tensor.float()" : "");
}

} // namespace troupe
