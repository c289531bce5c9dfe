#include "actors/pipeline/shape/stage_order.hpp"

#include <algorithm>

#include "actors/pipeline/shape/schedule_checker.hpp"
#include "schemas/base/check.hpp"

namespace troupe {

std::string to_string(const instruction& i) {
    const std::string what = letter_of(i.what) + std::to_string(i.minibatch);
    return i.what == step_kind::update ? what : what + "." + std::to_string(i.microbatch);
}

stage_order::stage_order(device_steps steps)
    : steps_{std::move(steps)}, behind_{updates_behind(steps_)} {}

void stage_order::leave(position& at) const {
    if (++at.step < step_count(steps_))
        return;
    at.step = steps_.warm_up.size();
    ++at.round;
}

std::optional<instruction> stage_order::seek(position& at, const epoch_shape& epoch) const {
    for (; at.round < epoch.minibatches; leave(at)) {
        const schedule_step& s = step_at(steps_, at.step);
        const std::uint64_t minibatch = at.round + s.ahead;
        if (minibatch < epoch.minibatches &&
            (s.kind == step_kind::update || s.microbatch < epoch.microbatches_of(minibatch)))
            return instruction{s.kind, minibatch, s.microbatch};
    }
    return std::nullopt;
}

std::optional<instruction> stage_order::next(const epoch_shape& epoch) const {
    TROUPE_CHECK(!at_.runs_forward, "one step at a time");
    position at = at_;
    return step_count(steps_) > 0 ? seek(at, epoch) : std::nullopt;
}

void stage_order::begin(const instruction& i, const epoch_shape& epoch) {
    TROUPE_CHECK(next(epoch) == i, "what begins is due");
    at_.runs_forward = i.what == step_kind::forward;
}

void stage_order::finish(const instruction& i, const epoch_shape& epoch) {
    at_.runs_forward = false;
    const auto due = seek(at_, epoch);
    TROUPE_CHECK(due == i || i.what == step_kind::update, "what is finished was due");
    if (due == i)
        leave(at_);
    if (ends_microbatch(i.what))
        ++at_.gradients;
    if (i.what != step_kind::update)
        return;
    ++at_.updates;
    at_.gradients = 0;
}

bool stage_order::has_finished_forwards(const epoch_shape& epoch) const {
    return !at_.runs_forward && expected_activation(0, epoch).minibatch == epoch.minibatches;
}

bool stage_order::is_last_of_gradients(const instruction& pass,
                                       const epoch_shape& epoch) const noexcept {
    return ends_microbatch(pass.what) && at_.gradients + 1 == epoch.microbatches_of(pass.minibatch);
}

instruction stage_order::expected_activation(std::size_t waiting, const epoch_shape& epoch) const {
    std::size_t before = waiting + (at_.runs_forward ? 1 : 0);
    position at = at_;
    while (const auto i = seek(at, epoch)) {
        if (i->what == step_kind::forward && before-- == 0)
            return *i;
        leave(at);
    }
    return {step_kind::forward, epoch.minibatches, 0};
}

std::uint64_t stage_order::version_of(const instruction& forward) const {
    return version_behind(forward.minibatch, behind_.at(forward.microbatch));
}

std::optional<stage_order::pass_place> stage_order::next_pass(const epoch_shape& epoch) const {
    position at = at_;
    for (; const auto i = seek(at, epoch); leave(at))
        if (i->what != step_kind::update)
            return pass_place{at.step < steps_.warm_up.size() ? 0 : at.round + 1, at.step};
    return std::nullopt;
}

stage_order::pass_place stage_order::first_pass() const {
    for (std::size_t p = 0; p < step_count(steps_); ++p)
        if (step_at(steps_, p).kind != step_kind::update)
            return {p < steps_.warm_up.size() ? 0u : 1u, p};
    return {};
}

std::vector<std::uint32_t> updates_behind(const device_steps& steps) {
    std::vector<std::uint32_t> behind;
    for (std::size_t p = 0; p < step_count(steps); ++p) {
        const schedule_step& s = step_at(steps, p);
        if (s.kind != step_kind::forward)
            continue;
        behind.resize(std::max<std::size_t>(behind.size(), s.microbatch + std::size_t{1}));
        behind[s.microbatch] = s.behind;
    }
    return behind;
}

device_steps steps_of(const schedule_table& table, std::uint32_t stage) {
    device_steps own;
    const device_steps& all = table.devices[table.device_of[stage]];
    for (const auto& [from, to] : {std::pair{&all.warm_up, &own.warm_up}, {&all.body, &own.body}})
        for (schedule_step s : *from)
            if (s.stage == stage) {
                s.stage = 0;
                to->push_back(s);
            }
    return own;
}

std::vector<std::uint32_t> places_of(const schedule_table& table, std::uint32_t stage) {
    const device_steps& all = table.devices[table.device_of[stage]];
    std::vector<std::uint32_t> places;
    for (std::size_t p = 0; p < step_count(all); ++p)
        if (step_at(all, p).stage == stage)
            places.push_back(static_cast<std::uint32_t>(p));
    return places;
}

namespace {

result<void> check_sums(const stage_order& order, std::uint32_t microbatches,
                        std::uint64_t minibatches) {
    const epoch_shape epoch =
        epoch_shape::of(minibatches * microbatches, microbatches, microbatches);
    std::uint64_t updates = 0;
    for (const instruction& i : list_instructions(order, epoch)) {
        if (ends_microbatch(i.what) && i.minibatch != updates)
            return error{errc::protocol, to_string(i) + " before " +
                                             to_string(instruction{step_kind::update, updates, 0})};
        updates += i.what == step_kind::update ? 1 : 0;
    }
    return {};
}

} // namespace

result<void> check_stage_steps(const device_steps& steps, std::uint32_t microbatches,
                               bool stashes_weights) {
    const schedule_table alone{.stages = 1,
                               .replicas = 1,
                               .microbatches = microbatches,
                               .device_of = {0},
                               .devices = {steps},
                               .stashes_weights = stashes_weights};
    if (const auto fault = find_fault(alone))
        return error{errc::protocol, "a stage's steps: " + to_string(*fault)};
    const std::vector<std::uint32_t> behind = updates_behind(steps);
    for (std::size_t p = 0; p < step_count(steps); ++p)
        if (const schedule_step& s = step_at(steps, p);
            s.kind == step_kind::forward && s.behind != behind[s.microbatch])
            return error{errc::protocol, "a stage's steps: microbatch " +
                                             std::to_string(s.microbatch) +
                                             " is not equally many updates behind in all of them"};
    if (auto sums = check_sums(stage_order{steps}, microbatches, ahead_max(alone) + 2); !sums)
        return sums.failure().in("a stage's steps");
    return {};
}

namespace {

using pass_list =
    std::vector<std::pair<std::uint64_t, std::uint32_t>>; // minibatches and microbatches

pass_list passes_of(const schedule_table& table, std::uint32_t stage, bool forward) {
    const epoch_shape epoch =
        epoch_shape::of(std::uint64_t{table.microbatches} * (ahead_max(table) + 2),
                        table.microbatches, table.microbatches);
    pass_list passes;
    for (const instruction& i : list_instructions(stage_order{steps_of(table, stage)}, epoch))
        if (forward ? i.what == step_kind::forward : gives_input_gradient(i.what))
            passes.emplace_back(i.minibatch, i.microbatch);
    return passes;
}

} // namespace

result<void> check_one_order(const schedule_table& table) {
    const auto refuse = [](std::uint32_t stage, const std::string& why) {
        return error{errc::data, "stage " + std::to_string(stage) + why};
    };
    const pass_list first = passes_of(table, 0, true);
    if (!std::ranges::is_sorted(first))
        return refuse(0, " takes microbatches in another order than 0, 1, 2, as they come; number "
                         "them so");
    pass_list back = passes_of(table, 0, false);
    for (std::uint32_t s = 1; s < table.chain_stages(); ++s) {
        if (passes_of(table, s, true) != first)
            return refuse(s, " takes microbatches forward in another order than stage " +
                                 std::to_string(s - 1) + "; runs keep one order over all stages");
        pass_list own = passes_of(table, s, false);
        if (own != back)
            return refuse(s, " gives gradients back in another order than stage " +
                                 std::to_string(s - 1) + "; runs keep one order over all stages");
        back = std::move(own);
    }
    return {};
}

std::uint32_t versions_kept(const device_steps& steps, std::uint32_t microbatches) {
    const schedule_table alone{.devices = {steps}};
    const std::uint64_t minibatches = std::uint64_t{ahead_max(alone)} + behind_max(alone) +
                                      2; // what it does later repeats itself
    const epoch_shape epoch =
        epoch_shape::of(minibatches * microbatches, microbatches, microbatches);
    const stage_order order{steps};
    std::uint64_t updates = 0, most = 0;
    for (const instruction& i : list_instructions(order, epoch)) {
        if (i.what == step_kind::forward)
            most = std::max(most, updates - std::min(updates, order.version_of(i)));
        updates += i.what == step_kind::update ? 1 : 0;
    }
    return static_cast<std::uint32_t>(most);
}

std::vector<instruction> list_instructions(stage_order order, const epoch_shape& epoch) {
    std::vector<instruction> list;
    while (const auto i = order.next(epoch)) {
        list.push_back(*i);
        order.finish(*i, epoch);
    }
    return list;
}

} // namespace troupe
