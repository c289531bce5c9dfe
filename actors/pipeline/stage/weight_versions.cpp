#include "actors/pipeline/stage/weight_versions.hpp"

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

void weight_versions::set(weights_ptr latest) {
    latest_ = std::move(latest);
    while (!older_.empty() && older_.front()->version.value() + behind_ < latest_->version.value())
        older_.pop_front();
}

weights_ptr weight_versions::take() {
    if (behind_ > 0)
        older_.push_back(for_passes(*latest_));
    return std::exchange(latest_, nullptr);
}

weights_ptr weight_versions::find(weight_version version) const {
    if (latest_ && latest_->version == version)
        return for_passes(*latest_);
    const auto kept = std::ranges::find_if(
        older_, [&](const weights_ptr& older) { return older->version == version; });
    if (kept != older_.end())
        return *kept;
    const auto newest = std::find_if(held_.rbegin(), held_.rend(), [&](const auto& held) {
        return held.second->version == version;
    });
    TROUPE_CHECK(newest != held_.rend(), "a forward pass uses a version that is there");
    return newest->second;
}

void weight_versions::replace(const copied_weights& copies) {
    if (copies.empty())
        return;
    latest_ = copies.in(latest_);
    common_ = copies.in(common_);
    for (weights_ptr& version : older_)
        version = copies.in(version);
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
    const auto add = [&](const weights_ptr& version) {
        if (versions.insert(version->version).second)
            use.parameter_bytes += bytes_of(version->parameters);
    };
    std::ranges::for_each(older_, add);
    for (const auto& [pass, version] : held_)
        add(version);
    use.versions = versions.size();
    return use;
}

} // namespace troupe
