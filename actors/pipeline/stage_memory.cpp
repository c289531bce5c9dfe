// Where a stage's tensors lie: what is sent is in host memory; what a device with a memory of its own computes with, there.
#include <algorithm>
#include <utility>

#include "actors/pipeline/stage_actor.hpp"

namespace troupe {

namespace {

using replacements = std::vector<std::pair<tensor, tensor>>;

// Whether one of them stands for it now; then it does.
bool replace(tensor& t, const replacements& all) {
    const auto found = std::ranges::find_if(
        all, [&](const auto& pair) { return t && pair.first.data() == t.data(); });
    if (found == all.end())
        return false;
    t = found->second;
    return true;
}

void replace(weights_ptr& w, const replacements& all) {
    if (!w)
        return;
    auto moved = std::make_shared<weights>(*w);
    bool any = false;
    for (auto* part : {&moved->parameters, &moved->state, &moved->averages})
        for (tensor& t : *part)
            any |= replace(t, all);
    if (any)
        w = std::move(moved);
}

} // namespace

result<weights_ptr> stage_actor::work_results::here(compute_context& context,
                                                    const weights_ptr& w) {
    if (context.memory.kind() == memory_kind::host)
        return w;
    auto moved = std::make_shared<troupe::weights>(*w);
    for (auto* part : {&moved->parameters, &moved->state, &moved->averages})
        for (tensor& t : *part) {
            if (!t.is_host())
                continue;
            auto there = brought_in(context, t);
            if (!there)
                return there.failure();
            moved_in.emplace_back(std::exchange(t, *there), *there);
        }
    return weights_ptr{std::move(moved)};
}

bool stage_actor::has_own_memory() const {
    return options_.compute->memory().kind() == memory_kind::device;
}

void stage_actor::take_out_then(std::vector<tensor> tensors,
                                std::function<void(std::vector<tensor>)> then) {
    if (std::ranges::all_of(tensors, &tensor::is_host))
        return then(std::move(tensors));
    auto out = std::make_shared<std::vector<tensor>>(std::move(tensors));
    submit(
        {.label = "take out",
         .work = [out](compute_context& context, work_results&) { return take_out(context, *out); },
         .then = [out, then = std::move(then)] { then(std::move(*out)); }});
}

void stage_actor::keep_brought_in() {
    if (results_->moved_in.empty())
        return;
    replace(latest_, results_->moved_in);
    replace(common_, results_->moved_in);
    for (auto& [key, s] : stash_)
        replace(s.used, results_->moved_in);
}

} // namespace troupe
