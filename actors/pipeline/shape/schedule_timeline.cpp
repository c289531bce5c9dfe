#include "actors/pipeline/shape/schedule_timeline.hpp"

#include <algorithm>
#include <numeric>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

constexpr std::size_t minibatches_first = 24; // of the epoch that is tried for a steady state
constexpr std::uint32_t cycle_max = 12;       // minibatches after which it repeats

fraction share(const schedule_table& table) {
    return {1, std::max<std::int64_t>(1, table.stages /
                                             static_cast<std::int64_t>(table.devices.size()))};
}

std::int64_t whole_ticks(fraction time, std::int64_t per_unit) {
    const fraction ticks = time * fraction{per_unit};
    TROUPE_CHECK(ticks.under() == 1, "a tick divides all times");
    return ticks.over();
}

std::vector<std::uint32_t> equal_minibatches(const schedule_table& table, std::size_t count) {
    return std::vector<std::uint32_t>(count, table.microbatches);
}

// The ends of a device's steps of the rounds [first, first + count), in order.
std::vector<std::int64_t> ends_of_rounds(const schedule_course& course, std::uint32_t device,
                                         std::uint64_t first, std::uint64_t count,
                                         std::size_t warm_up) {
    std::vector<std::int64_t> ends;
    for (std::size_t i = 0; i < course.steps(device).size(); ++i) {
        const epoch_step& e = course.steps(device)[i];
        if (e.position >= warm_up && e.round >= first && e.round < first + count)
            ends.push_back(course.spans(device)[i].end);
    }
    return ends;
}

// The ticks by which all of the rounds' steps come later than `cycle` rounds before; none if they differ.
std::optional<std::int64_t> shift_of(const schedule_table& table, const schedule_course& course,
                                     std::uint64_t first, std::uint64_t count,
                                     std::uint32_t cycle) {
    std::optional<std::int64_t> shift;
    for (std::uint32_t d = 0; d < table.devices.size(); ++d) {
        const std::size_t warm_up = table.devices[d].warm_up.size();
        const auto now = ends_of_rounds(course, d, first, count, warm_up);
        const auto before = ends_of_rounds(course, d, first - cycle, count, warm_up);
        TROUPE_CHECK(now.size() == before.size(), "rounds in the middle of an epoch are alike");
        for (std::size_t i = 0; i < now.size(); ++i) {
            if (shift && now[i] - before[i] != *shift)
                return std::nullopt;
            shift = now[i] - before[i];
        }
    }
    return shift;
}

std::int64_t last_end(const schedule_table& table, const schedule_course& course,
                      std::uint64_t round) {
    std::int64_t last = 0;
    for (std::uint32_t d = 0; d < table.devices.size(); ++d)
        for (const std::int64_t end :
             ends_of_rounds(course, d, round, 1, table.devices[d].warm_up.size()))
            last = std::max(last, end);
    return last;
}

} // namespace

tick_times ticks_of(const schedule_table& table, const timeline_options& options) {
    TROUPE_CHECK(options.stages.size() == 1 || options.stages.size() == table.stages,
                 "times are of all stages or of each");
    const auto of_stage = [&](std::uint32_t s) {
        return options.stages[options.stages.size() == 1 ? 0 : s % table.stages];
    };
    const fraction chunk = share(table);
    tick_times ticks;
    ticks.per_unit = options.hop.under();
    for (const pass_times& t : options.stages)
        for (const fraction f : {t.forward, t.backward_input, t.backward_weight})
            ticks.per_unit = std::lcm(ticks.per_unit, (f * chunk).under());
    for (std::uint32_t s = 0; s < table.chain_stages(); ++s) {
        const pass_times t = of_stage(s);
        ticks.times.forward.push_back(whole_ticks(t.forward * chunk, ticks.per_unit));
        ticks.times.backward_input.push_back(whole_ticks(t.backward_input * chunk, ticks.per_unit));
        ticks.times.backward_weight.push_back(
            whole_ticks(t.backward_weight * chunk, ticks.per_unit));
    }
    ticks.times.hop = whole_ticks(options.hop, ticks.per_unit);
    ticks.times.updates_wait_for_all = options.updates_wait_for_all;
    return ticks;
}

fraction steady_pace::most_idle() const {
    return idle(
        static_cast<std::size_t>(std::min_element(work.begin(), work.end()) - work.begin()));
}

double steady_pace::idle_share() const {
    fraction all = 0;
    for (const fraction w : work)
        all = all + w;
    const double whole = per_minibatch().approximate() * static_cast<double>(work.size());
    return whole > 0 ? 1 - all.approximate() / whole : 0;
}

steady_pace find_steady_pace(const schedule_table& table, const timeline_options& options) {
    const tick_times ticks = ticks_of(table, options);
    const std::uint64_t overlap = ahead_max(table);
    steady_pace pace;
    for (const device_steps& d : table.devices) {
        std::int64_t work = 0;
        for (const schedule_step& s : d.body) {
            work += s.kind == step_kind::forward ? ticks.times.forward[s.stage] : 0;
            work += gives_input_gradient(s.kind) ? ticks.times.backward_input[s.stage] : 0;
            work += ends_microbatch(s.kind) ? ticks.times.backward_weight[s.stage] : 0;
        }
        pace.work.push_back({work, ticks.per_unit});
    }
    // A round depends on rounds that lie `overlap` before and behind at most.
    const std::uint64_t window = 2 * overlap + 2;
    for (std::uint64_t count = minibatches_first + 4 * overlap;; count *= 2) {
        const auto minibatches = equal_minibatches(table, count);
        schedule_course course{table, minibatches, ticks.times};
        TROUPE_CHECK(course.run(), "a table is checked before it is timed");
        const std::uint64_t first = count - overlap - window;
        for (std::uint32_t cycle = 1; cycle <= cycle_max && cycle < first; ++cycle)
            if (const auto shift = shift_of(table, course, first, window, cycle)) {
                pace.period = {*shift, ticks.per_unit};
                pace.minibatches = cycle;
                return pace;
            }
        if (2 * count * table.steps() > limits::schedule_tried_steps_max / 4 || count > 1000) {
            const std::uint64_t half = first / 2;
            pace.period = {last_end(table, course, first) - last_end(table, course, first - half),
                           ticks.per_unit};
            pace.minibatches = static_cast<std::uint32_t>(half);
            pace.is_exact = false;
            return pace;
        }
    }
}

bool can_wait_for_all(const schedule_table& table) {
    const auto epoch = equal_minibatches(table, ahead_max(table) + 2);
    const std::vector<std::int64_t> ticks(table.chain_stages(), 1);
    return schedule_course{table, epoch, {ticks, ticks, ticks, 0, true}}.run();
}

fraction makespan_of(const schedule_table& table, const timeline_options& options,
                     std::uint32_t minibatches) {
    const tick_times ticks = ticks_of(table, options);
    const auto epoch = equal_minibatches(table, minibatches);
    schedule_course course{table, epoch, ticks.times};
    TROUPE_CHECK(course.run(), "a table is checked before it is timed");
    std::int64_t last = 0;
    for (std::uint32_t d = 0; d < table.devices.size(); ++d)
        for (const step_span& s : course.spans(d))
            last = std::max(last, s.end);
    return {last, ticks.per_unit};
}

} // namespace troupe
