// Zero bubble in the shape of a V: two stages on each device, r and 2P-1-r, so that the first device has the loss, too;
// backward passes in halves. Source: Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362.
#include <algorithm>

#include "actors/pipeline/shape/schedule_makers.hpp"

namespace troupe {

namespace {

// Steps of a device in an order that counts microbatches by itself.
class counted_steps {
  public:
    counted_steps(std::uint32_t down, std::uint32_t up) : stages_{down, up} {}

    // The next microbatch of this kind at the device's first (0) or second (1) stage.
    void add(step_kind kind, std::size_t stage) {
        steps_.push_back({kind, stages_[stage], count(kind, stage)++});
    }
    // Both halves of a backward.
    void add_backward(std::size_t stage) {
        add(step_kind::backward_input, stage);
        add(step_kind::backward_weight, stage);
    }
    std::uint32_t& count(step_kind kind, std::size_t stage) {
        return counts_[static_cast<std::size_t>(kind)][stage];
    }
    // The steps of the first microbatches. The others are absent work.
    std::vector<schedule_step> of_first(std::uint32_t microbatches) && {
        std::erase_if(steps_, [&](const schedule_step& s) { return s.microbatch >= microbatches; });
        return std::move(steps_);
    }

  private:
    std::uint32_t stages_[2];
    std::uint32_t counts_[5][2]{};
    std::vector<schedule_step> steps_;
};

// All of 1F1B's activations: the fixed order, for 2P-1 microbatches at least; with fewer the rest of it is absent.
std::vector<schedule_step> fixed_order(std::uint32_t device, std::uint32_t devices,
                                       std::uint32_t microbatches) {
    constexpr auto f = step_kind::forward;
    constexpr auto i = step_kind::backward_input;
    constexpr auto w = step_kind::backward_weight;
    const std::uint32_t all = std::max(microbatches, 2 * devices - 1);
    counted_steps steps{device, 2 * devices - 1 - device};
    for (std::uint32_t n = 0; n < 2 * (devices - device) - 1; ++n)
        steps.add(f, 0);
    for (std::uint32_t n = 0; n < device; ++n) {
        steps.add(f, 1);
        steps.add(f, 0);
    }
    for (std::uint32_t n = 0; n < devices - device; ++n) {
        steps.add(f, 1);
        steps.add_backward(1);
    }
    while (steps.count(f, 1) < all) {
        if (steps.count(f, 0) < all)
            steps.add(f, 0);
        steps.add_backward(0);
        steps.add(f, 1);
        steps.add_backward(1);
    }
    for (std::uint32_t n = 0; n < device; ++n) {
        steps.add(i, 0);
        steps.add(i, 1);
    }
    for (std::uint32_t n = 0; n < devices - device; ++n)
        steps.add_backward(0);
    for (const std::size_t stage : {1, 0})
        while (steps.count(w, stage) < all)
            steps.add(w, stage);
    return std::move(steps).of_first(microbatches);
}

} // namespace

result<schedule_table> make_zero_bubble_v(const table_request& request) {
    if (request.activations > 3)
        return error{errc::usage,
                     "keeps all, 1 of 2 or 1 of 3 parts of the activations; take 1, 2 or 3"};
    if (request.activations > 1)
        return make_repeated_v(request);
    schedule_table table = synchronous_table(v_shaped_places(request.devices), request.devices, 1,
                                             request.microbatches);
    for (std::uint32_t r = 0; r < request.devices; ++r)
        table.devices[r].body = fixed_order(r, request.devices, request.microbatches);
    append_updates(table);
    return table;
}

} // namespace troupe
