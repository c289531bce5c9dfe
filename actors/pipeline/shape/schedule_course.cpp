#include "actors/pipeline/shape/schedule_course.hpp"

#include <algorithm>
#include <utility>

#include "schemas/base/check.hpp"

namespace troupe {

// Events: for each minibatch, stage and microbatch that its output is there, and its input's gradient; behind them, for each
// minibatch, that all gradients of a stage's weights are there, of all its copies, or those of all stages.

schedule_course::schedule_course(const schedule_table& table,
                                 std::span<const std::uint32_t> microbatches, course_times times)
    : table_{table},
      microbatches_(microbatches.begin(), microbatches.end()), times_{std::move(times)},
      rows_(table.devices.size()) {
    const std::size_t units = microbatches.size() * table.chain_stages();
    const std::size_t events = units * table.microbatches * 2;
    when_.assign(events + microbatches.size() * table.stages, -1);
    waiting_.assign(when_.size(), static_cast<std::uint32_t>(rows_.size()));
    missing_.assign(microbatches.size() * table.stages, 0);
    latest_.assign(missing_.size(), 0);
    for (std::uint32_t d = 0; d < rows_.size(); ++d) {
        rows_[d].steps = list_steps(table.devices[d], microbatches_);
        rows_[d].spans.reserve(rows_[d].steps.size());
        for (const epoch_step& e : rows_[d].steps)
            if (ends_microbatch(e.what.kind))
                ++missing_[gradients_of(e.minibatch, e.what.stage) - events];
        runnable_.push_back(d);
    }
}

std::size_t schedule_course::event_of(step_kind kind, std::uint64_t minibatch, std::uint32_t stage,
                                      std::uint32_t microbatch) const {
    const std::size_t unit =
        (minibatch * table_.chain_stages() + stage) * table_.microbatches + microbatch;
    return unit * 2 + (kind == step_kind::forward ? 0 : 1);
}

std::size_t schedule_course::gradients_of(std::uint64_t minibatch, std::uint32_t stage) const {
    const std::size_t first =
        microbatches_.size() * table_.chain_stages() * table_.microbatches * 2;
    return first + minibatch * table_.stages +
           (times_.updates_wait_for_all ? 0 : stage % table_.stages);
}

// Calls visit(event, stage that gives it, its kind) for each cause, until one returns false.
template <class Visit>
bool schedule_course::visit_causes(const epoch_step& step, Visit visit) const {
    const auto& [kind, s, m, ahead, behind] = step.what;
    const auto cause = [&](step_kind of, std::uint32_t stage) {
        return visit(event_of(of, step.minibatch, stage, m), stage, of);
    };
    switch (kind) {
    case step_kind::forward:
        return table_.is_first(s) || cause(step_kind::forward, s - 1);
    case step_kind::backward:
    case step_kind::backward_input:
        return cause(step_kind::forward, s) &&
               (table_.is_last(s) || cause(step_kind::backward_input, s + 1));
    case step_kind::backward_weight:
        return cause(step_kind::backward_input, s);
    case step_kind::update:
        return visit(gradients_of(step.minibatch, s), s, step_kind::update);
    }
    return true;
}

std::int64_t schedule_course::duration_of(const schedule_step& step) const {
    switch (step.kind) {
    case step_kind::forward:
        return times_.forward[step.stage];
    case step_kind::backward:
        return times_.backward_input[step.stage] + times_.backward_weight[step.stage];
    case step_kind::backward_input:
        return times_.backward_input[step.stage];
    case step_kind::backward_weight:
        return times_.backward_weight[step.stage];
    case step_kind::update:
        return 0;
    }
    return 0;
}

bool schedule_course::run() {
    while (!runnable_.empty()) {
        const std::uint32_t device = runnable_.back();
        runnable_.pop_back();
        advance(device);
    }
    return std::ranges::all_of(rows_,
                               [](const row& r) { return r.spans.size() == r.steps.size(); });
}

void schedule_course::advance(std::uint32_t device) {
    row& r = rows_[device];
    while (r.spans.size() < r.steps.size()) {
        const epoch_step step = r.steps[r.spans.size()];
        std::int64_t start = r.free;
        const bool is_ready =
            visit_causes(step, [&](std::size_t event, std::uint32_t stage, step_kind kind) {
                if (when_[event] < 0) {
                    r.next_waiting = std::exchange(waiting_[event], device);
                    return false;
                }
                const bool crosses = kind != step_kind::update && table_.device_of[stage] != device;
                start = std::max(start, when_[event] + (crosses ? times_.hop : 0));
                return true;
            });
        if (!is_ready)
            return;
        r.free = start + duration_of(step.what);
        r.spans.push_back({start, r.free});
        finish(step, r.spans.back());
    }
}

void schedule_course::finish(const epoch_step& step, step_span span) {
    const schedule_step& s = step.what;
    if (s.kind == step_kind::update)
        return;
    if (s.kind != step_kind::backward_weight)
        occur(event_of(s.kind, step.minibatch, s.stage, s.microbatch), span.end);
    if (!ends_microbatch(s.kind))
        return;
    const std::size_t gradients = gradients_of(step.minibatch, s.stage);
    const std::size_t first = when_.size() - missing_.size();
    latest_[gradients - first] = std::max(latest_[gradients - first], span.end);
    if (--missing_[gradients - first] == 0)
        occur(gradients, latest_[gradients - first]);
}

void schedule_course::occur(std::size_t event, std::int64_t when) {
    when_[event] = when;
    const auto none = static_cast<std::uint32_t>(rows_.size());
    for (std::uint32_t d = std::exchange(waiting_[event], none); d != none;
         d = std::exchange(rows_[d].next_waiting, none))
        runnable_.push_back(d);
}

std::optional<schedule_course::wait> schedule_course::wait_of(std::uint32_t device) const {
    const row& r = rows_[device];
    if (r.spans.size() == r.steps.size())
        return std::nullopt;
    const epoch_step& step = r.steps[r.spans.size()];
    wait found{step};
    visit_causes(step, [&](std::size_t event, std::uint32_t stage, step_kind kind) {
        if (when_[event] >= 0)
            return true;
        found = {step, kind, stage, step.minibatch, step.what.microbatch};
        return false;
    });
    return found;
}

} // namespace troupe
