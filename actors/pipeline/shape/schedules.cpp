#include "actors/pipeline/shape/schedules.hpp"

#include <algorithm>

#include "actors/pipeline/shape/schedule_checker.hpp"
#include "actors/pipeline/shape/schedule_makers.hpp"

namespace troupe {

namespace {

constexpr schedule_row rows[] = {
    {"gpipe",
     "all forwards of a minibatch, then all its backward passes; synchronous",
     {},
     make_gpipe},
    {"one_f_one_b",
     "forward and backward passes in turn, with a flush; synchronous",
     {.doubled_warm_up = true},
     make_one_f_one_b},
    {"interleaved",
     "1F1B with several stages on each device; synchronous",
     {.stages_per_device = true},
     make_one_f_one_b,
     2},
    {"zero_bubble",
     "1F1B with backward passes in two halves, of which the second fills gaps; synchronous",
     {.stages_per_device = true, .doubled_warm_up = true},
     make_zero_bubble},
    {"zero_bubble_v",
     "two stages a device in a V, backward passes in two halves; synchronous",
     {.activations = true},
     make_zero_bubble_v,
     2},
    {"chimera",
     "1F1B in two directions, each with minibatches of its own; synchronous",
     {},
     make_chimera,
     2},
    {"gems", "a microbatch at a time, in two directions in turn; synchronous", {}, make_gems, 2},
    {"dual_pipe",
     "two directions with halves of backward passes in the gaps; synchronous",
     {},
     make_dual_pipe,
     2},
    {"pipedream",
     "1F1B without a flush, each backward with the weights of its forward",
     {.vertical_sync = true},
     make_pipedream},
    {"two_versions",
     "1F1B without a flush on the weights before the last, two versions in all",
     {},
     make_two_versions},
    {"local_accumulation",
     "1F1B without a flush on the latest weights, of which none is kept",
     {},
     make_local_accumulation},
};

// A setting that a schedule does not take, or none.
std::string_view refused_setting(const settings_taken& takes, const table_request& request) {
    if (!takes.stages_per_device && request.stages_per_device != 0)
        return "stages per device";
    if (!takes.doubled_warm_up && request.doubled_warm_up)
        return "a doubled warm-up";
    if (!takes.activations && request.activations != 1)
        return "a share of the activations";
    if (!takes.vertical_sync && request.vertical_sync)
        return "vertical sync";
    return {};
}

std::string bounds(std::string_view what, std::uint64_t most) {
    return std::string{what} + " must be from 1 to " + std::to_string(most);
}

} // namespace

std::span<const schedule_row> schedule_rows() {
    return rows;
}

std::string schedule_names() {
    std::string names;
    for (const schedule_row& row : rows)
        names += (names.empty() ? "" : ", ") + std::string{row.name};
    return names;
}

result<schedule_table> make_table(std::string_view name, const table_request& request) {
    const auto row = std::ranges::find(rows, name, &schedule_row::name);
    if (row == std::end(rows))
        return error{errc::usage,
                     "there is no schedule of this name; the schedules are " + schedule_names()};
    const auto refuse = [&](const std::string& why) {
        return error{errc::usage, std::string{name} + ": " + why};
    };
    if (const std::string_view setting = refused_setting(row->takes, request); !setting.empty())
        return refuse("takes no setting for " + std::string{setting} + "; leave it out");
    table_request whole = request;
    if (whole.stages_per_device == 0)
        whole.stages_per_device = row->stages_per_device;
    if (whole.devices == 0 || whole.devices > limits::stages_max)
        return refuse(bounds("devices", limits::stages_max));
    if (whole.microbatches == 0 || whole.microbatches > limits::schedule_microbatches_max)
        return refuse(bounds("microbatches", limits::schedule_microbatches_max));
    if (std::uint64_t{whole.stages_per_device} * whole.devices > limits::stages_max)
        return refuse("devices times stages per device must be at most " +
                      std::to_string(limits::stages_max));
    const std::uint64_t steps =
        std::uint64_t{whole.devices} * whole.stages_per_device * whole.microbatches * 3;
    if (steps > limits::schedule_steps_max)
        return refuse("devices, stages per device and microbatches make more than " +
                      std::to_string(limits::schedule_steps_max) + " steps; take fewer");
    auto table = row->make(whole);
    return table ? std::move(table) : refuse(table.failure().message());
}

} // namespace troupe
