#include "actors/pipeline/stage/stage_holdings.hpp"

#include <algorithm>
#include <functional>

#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

std::uint64_t bytes_of(std::span<const tensor> all) {
    std::uint64_t bytes = 0;
    for (const tensor& t : all)
        bytes += t.bytes();
    return bytes;
}

} // namespace

void kept_activations::add(const saved_activations& saved, const tensor& loss_gradient,
                           std::uint64_t of_half) {
    std::uint64_t more = loss_gradient.bytes() + of_half;
    for (const saved_layer& layer : saved.layers)
        more += bytes_of(layer.tensors);
    bytes += more;
    microbatches += more > 0 ? 1 : 0;
}

std::string describe_holdings(const stage_state& state, const kept_activations& kept,
                              const weights_layout& layout) {
    struct holding {
        std::string what;
        std::uint64_t bytes = 0;
    };
    std::optional<weight_version> written; // the version that an update is making from the latest
    if (!state.weights.latest() && state.arrivals.is_running())
        written = weight_version{state.arrivals.first_version().value() + state.order.updates()};
    auto weights = state.weights.use(written);
    if (written) {
        weights.parameter_bytes += layout.bytes() - layout.state_bytes();
        weights.state_bytes += layout.state_bytes();
    }
    std::vector<holding> all{
        {weights.versions > 1 ? "weights in " + counted(weights.versions, "version") : "weights",
         weights.parameter_bytes},
        {"the optimizer's state", weights.state_bytes},
        {"summed gradients", bytes_of(state.gradients)},
        {"what has arrived for " + counted(state.arrivals.waiting(), "pass", "passes"),
         state.arrivals.waiting_bytes()},
        {"activations of " + counted(kept.microbatches, "microbatch", "microbatches") +
             " for the way back",
         kept.bytes}};
    std::ranges::sort(all, std::greater{}, &holding::bytes);
    std::string text;
    for (const holding& h : all)
        if (h.bytes > 0)
            text += (text.empty() ? "; this stage holds " : ", ") + h.what + " (" +
                    bytes_text(h.bytes) + ")";
    return text;
}

} // namespace troupe
