#include "actors/pipeline/weight_versions.hpp"

#include <algorithm>
#include <set>

namespace troupe {

namespace {

std::uint64_t bytes_of(const std::vector<tensor>& all) {
    std::uint64_t bytes = 0;
    for (const tensor& t : all)
        bytes += t.bytes();
    return bytes;
}

} // namespace

result<weights_ptr> copied_weights::on_device(compute_context& context, const weights_ptr& w) {
    if (context.memory.kind() == memory_kind::host)
        return w;
    auto moved = std::make_shared<weights>(*w);
    for (auto* part : {&moved->parameters, &moved->state, &moved->averages})
        for (tensor& t : *part) {
            if (!t.is_host())
                continue;
            auto there = copied_to_device(context, t);
            if (!there)
                return there.failure();
            copies_.emplace_back(std::exchange(t, *there), *there);
        }
    return weights_ptr{std::move(moved)};
}

weights_ptr copied_weights::in(const weights_ptr& w) const {
    if (!w)
        return w;
    auto moved = std::make_shared<weights>(*w);
    bool any = false;
    for (auto* part : {&moved->parameters, &moved->state, &moved->averages})
        for (tensor& t : *part) {
            const auto copy = std::ranges::find_if(
                copies_, [&](const auto& pair) { return t && pair.first.data() == t.data(); });
            if (copy == copies_.end())
                continue;
            t = copy->second;
            any = true;
        }
    return any ? weights_ptr{std::move(moved)} : w;
}

void weight_versions::renumber(weight_version version) {
    auto same = std::make_shared<weights>(*latest_);
    same->version = version;
    latest_ = std::move(same);
}

void weight_versions::replace(const copied_weights& copies) {
    if (copies.empty())
        return;
    latest_ = copies.in(latest_);
    common_ = copies.in(common_);
    for (auto& [pass, version] : held_)
        version = copies.in(version);
}

weight_versions::memory_use weight_versions::use(std::optional<weight_version> written) const {
    memory_use use;
    std::set<weight_version> versions;
    if (written)
        versions.insert(*written);
    if (latest_) {
        versions.insert(latest_->version);
        use.parameter_bytes = bytes_of(latest_->parameters) + bytes_of(latest_->averages);
        use.state_bytes = bytes_of(latest_->state);
    }
    for (const auto& [pass, version] : held_)
        if (versions.insert(version->version).second)
            use.parameter_bytes += bytes_of(version->parameters);
    use.versions = versions.size();
    return use;
}

} // namespace troupe
