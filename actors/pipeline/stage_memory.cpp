// Where a stage's tensors lie: what a device with a memory of its own computes with, there; what is sent to others, in
// memory of the host, but for a stage on the same device.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "actors/pipeline/stage_actor.hpp"
#include "schemas/base/quantities.hpp"

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

std::uint64_t bytes_of(std::span<const tensor> all) {
    std::uint64_t bytes = 0;
    for (const tensor& t : all)
        bytes += t.bytes();
    return bytes;
}

} // namespace

// Behind an error of memory that has run out: what this stage holds, the largest first. What the work that failed had taken
// over to write in its place, weights that are updated, is counted by its layout.
error stage_actor::with_holdings(const error& why) const {
    struct holding {
        std::string what;
        std::uint64_t bytes = 0;
    };
    const weights_layout layout = options_.program->layout(options_.rule->state());
    std::set<weight_version> versions;
    holding parameters, state{"the optimizer's state"}, sums{"summed gradients"}, waiting, kept;
    if (latest_) {
        versions.insert(latest_->version);
        parameters.bytes = bytes_of(latest_->parameters) + bytes_of(latest_->averages);
        state.bytes = bytes_of(latest_->state);
    } else if (epoch_) {
        versions.insert(weight_version{epoch_->first_version.value() + epoch_->position.updates});
        parameters.bytes = layout.bytes() - layout.state_bytes();
        state.bytes = layout.state_bytes();
    }
    sums.bytes = bytes_of(gradient_sum_);
    for (const auto* frames : {&activations_, &gradients_})
        for (const frame_ptr& f : *frames)
            waiting.bytes += bytes_of(f->tensors());
    std::size_t keeping = 0; // microbatches
    for (const auto& [key, s] : stash_) {
        std::uint64_t bytes = s.loss_gradient.bytes();
        for (const saved_layer& layer : s.saved.layers)
            bytes += bytes_of(layer.tensors);
        kept.bytes += bytes;
        keeping += bytes > 0 ? 1 : 0;
        if (s.used && versions.insert(s.used->version).second)
            parameters.bytes += bytes_of(s.used->parameters);
    }
    parameters.what =
        versions.size() > 1 ? "weights in " + counted(versions.size(), "version") : "weights";
    waiting.what = "what has arrived for " +
                   counted(activations_.size() + gradients_.size(), "pass", "passes");
    kept.what =
        "activations of " + counted(keeping, "microbatch", "microbatches") + " for the way back";
    std::vector<holding> all{parameters, state, sums, waiting, kept};
    std::ranges::sort(all, std::greater{}, &holding::bytes);
    std::string text;
    for (const holding& h : all)
        if (h.bytes > 0)
            text += (text.empty() ? "; this stage holds " : ", ") + h.what + " (" +
                    bytes_text(h.bytes) + ")";
    return {why.code(), why.message() + text};
}

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

result<void> stage_actor::hand_on(compute_context& context, std::span<tensor> all, way w,
                                  const number_form* form) {
    if (auto encoded = encode_numbers(context, form, all); !encoded)
        return encoded;
    return w == way::beside ? result<void>{} : take_out(context, all);
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
