// Schedules of two directions: two replicas of the pipeline on the same devices, the second one mirrored, each with
// minibatches of its own. Their gradients are summed before an update, as those of other replicas.
//
//   chimera    1F1B in both directions, merged: by list scheduling at equal times for forward and backward, with as many
//              microbatches in flight on a device as there are devices. Source: Li and Hoefler, Chimera, SC 2021.
//   gems       one microbatch at a time, of the two replicas in turn: the least memory.
//              Source: Jain et al., GEMS, SC 2020.
//   dual_pipe  both directions with halves of backward passes where gaps are.
//              Source: DeepSeek-V3 Technical Report, arXiv 2412.19437.
#include <algorithm>

#include "actors/pipeline/shape/list_schedule.hpp"
#include "actors/pipeline/shape/schedule_checker.hpp"
#include "actors/pipeline/shape/schedule_makers.hpp"

namespace troupe {

namespace {

result<schedule_table> two_replicas(const table_request& request) {
    if (request.devices % 2 != 0)
        return error{errc::usage, "two directions need an even number of devices; take " +
                                      std::to_string(request.devices + 1)};
    return synchronous_table(mirrored_places(request.devices), request.devices, 2,
                             request.microbatches);
}

// The steps of a device, whose two stages count microbatches by themselves. Direction 0 is that of the replica whose first
// stage is nearer.
class two_way_steps {
  public:
    two_way_steps(std::uint32_t device, std::uint32_t devices)
        : stages_{device, 2 * devices - 1 - device} {
        if (2 * device >= devices)
            std::swap(stages_[0], stages_[1]);
    }

    void forward(std::size_t direction) {
        steps_.push_back({step_kind::forward, stages_[direction], forwards_[direction]++});
    }
    void backward(std::size_t direction, bool in_halves) {
        const schedule_step step{in_halves ? step_kind::backward_input : step_kind::backward,
                                 stages_[direction], backwards_[direction]++};
        steps_.push_back(step);
        if (in_halves) {
            waiting_.push_back(step);
            waiting_.back().kind = step_kind::backward_weight;
        }
    }
    void pair(std::size_t forward_of, std::size_t backward_of) {
        forward(forward_of);
        backward(backward_of, false);
    }
    // The weight half that has waited longest.
    void weight() { steps_.push_back(waiting_[weights_++]); }
    std::vector<schedule_step> of_first(std::uint32_t microbatches) && {
        std::erase_if(steps_, [&](const schedule_step& s) { return s.microbatch >= microbatches; });
        return std::move(steps_);
    }

  private:
    std::uint32_t stages_[2];
    std::uint32_t forwards_[2]{};
    std::uint32_t backwards_[2]{};
    std::vector<schedule_step> steps_;
    std::vector<schedule_step> waiting_;
    std::size_t weights_ = 0;
};

// For as many microbatches of a replica as devices at least; with fewer the rest is absent.
std::vector<schedule_step> dual_pipe_steps(std::uint32_t device, const table_request& of) {
    const std::uint32_t all = std::max(of.microbatches, of.devices);
    const std::uint32_t from_end = std::min(device, of.devices - 1 - device);
    const std::uint32_t inner =
        of.devices / 2 - 1 - from_end; // devices of this half that lie further in
    two_way_steps steps{device, of.devices};
    const auto repeat = [](std::uint32_t times, auto what) {
        for (std::uint32_t i = 0; i < times; ++i)
            what(i);
    };
    repeat(2 * inner, [&](std::uint32_t) { steps.forward(0); });
    repeat(from_end + 1, [&](std::uint32_t) {
        steps.forward(0);
        steps.forward(1);
    });
    repeat(inner, [&](std::uint32_t) {
        steps.backward(1, true);
        steps.weight();
        steps.forward(1);
    });
    repeat(all - of.devices + from_end + 1, [&](std::uint32_t) {
        steps.pair(0, 1);
        steps.pair(1, 0);
    });
    repeat(inner, [&](std::uint32_t) {
        steps.backward(1, false);
        steps.pair(1, 0);
    });
    // The second half of the last backward passes leaves its weight halves for the end.
    const std::uint32_t half = (from_end + 1) / 2;
    repeat(from_end + 1, [&](std::uint32_t i) {
        steps.backward(1, i > half || (i == half && from_end % 2 == 1));
        steps.backward(0, i >= half);
    });
    repeat(inner, [&](std::uint32_t) {
        steps.weight();
        steps.backward(0, true);
    });
    repeat(from_end + 1, [&](std::uint32_t) { steps.weight(); });
    return std::move(steps).of_first(of.microbatches);
}

} // namespace

result<schedule_table> make_chimera(const table_request& request) {
    auto places = two_replicas(request);
    if (!places)
        return places;
    list_rules rules;
    rules.times.forward.assign(places->chain_stages(), 2);
    rules.times.backward_input.assign(places->chain_stages(), 1);
    rules.times.backward_weight.assign(places->chain_stages(), 1);
    rules.bound.assign(request.devices, request.devices);
    auto table = list_schedule(std::move(*places), rules);
    TROUPE_CHECK(table.has_value(), "every stage has room for a microbatch of each direction");
    return std::move(*table);
}

result<schedule_table> make_gems(const table_request& request) {
    auto table = two_replicas(request);
    if (!table)
        return table;
    for (std::uint32_t r = 0; r < request.devices; ++r)
        for (std::uint32_t m = 0; m < request.microbatches; ++m)
            for (const std::uint32_t stage : {r, 2 * request.devices - 1 - r})
                for (const step_kind kind : {step_kind::forward, step_kind::backward})
                    table->devices[r].body.push_back({kind, stage, m});
    append_updates(*table);
    return table;
}

result<schedule_table> make_dual_pipe(const table_request& request) {
    auto table = two_replicas(request);
    if (!table)
        return table;
    for (std::uint32_t r = 0; r < request.devices; ++r)
        table->devices[r].body = dual_pipe_steps(r, request);
    append_updates(*table);
    return table;
}

} // namespace troupe
