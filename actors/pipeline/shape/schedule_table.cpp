#include "actors/pipeline/shape/schedule_table.hpp"

#include <algorithm>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

template <class Number>
std::uint32_t largest(const schedule_table& table, Number number) noexcept {
    std::uint32_t most = 0;
    for (const device_steps& d : table.devices)
        for (const auto* part : {&d.warm_up, &d.body})
            for (const schedule_step& s : *part)
                most = std::max(most, number(s));
    return most;
}

} // namespace

std::size_t schedule_table::steps() const noexcept {
    std::size_t all = 0;
    for (const device_steps& d : devices)
        all += step_count(d);
    return all;
}

const schedule_step& step_at(const device_steps& steps, std::size_t position) {
    TROUPE_CHECK(position < step_count(steps), "a position lies in the device's steps");
    return position < steps.warm_up.size() ? steps.warm_up[position]
                                           : steps.body[position - steps.warm_up.size()];
}

std::size_t step_count(const device_steps& steps) noexcept {
    return steps.warm_up.size() + steps.body.size();
}

std::uint32_t ahead_max(const schedule_table& table) noexcept {
    return largest(table, [](const schedule_step& s) { return s.ahead; });
}

std::uint32_t behind_max(const schedule_table& table) noexcept {
    return largest(table, [](const schedule_step& s) { return s.behind; });
}

bool looks_back(const schedule_table& table) noexcept {
    return behind_max(table) > 0 || !table.stashes_weights;
}

std::vector<epoch_step> list_steps(const device_steps& steps,
                                   std::span<const std::uint32_t> microbatches) {
    std::vector<epoch_step> list;
    const auto add = [&](const schedule_step& s, std::uint64_t round, std::size_t position) {
        const std::uint64_t minibatch = round + s.ahead;
        if (minibatch < microbatches.size() &&
            (s.kind == step_kind::update || s.microbatch < microbatches[minibatch]))
            list.push_back({s, minibatch, static_cast<std::uint32_t>(position), round});
    };
    for (std::size_t p = 0; p < steps.warm_up.size(); ++p)
        add(steps.warm_up[p], 0, p);
    for (std::uint64_t k = 0; k < microbatches.size(); ++k)
        for (std::size_t p = 0; p < steps.body.size(); ++p)
            add(steps.body[p], k, steps.warm_up.size() + p);
    return list;
}

char letter_of(step_kind kind) noexcept {
    constexpr char letters[] = {'F', 'B', 'I', 'W', 'U'};
    return letters[static_cast<std::size_t>(kind)];
}

std::string to_string(const schedule_step& step) {
    std::string cell = std::to_string(step.stage) + letter_of(step.kind);
    if (step.kind != step_kind::update)
        cell += std::to_string(step.microbatch);
    return cell;
}

std::vector<std::uint32_t> looped_places(std::uint32_t devices, std::uint32_t per_device) {
    std::vector<std::uint32_t> places;
    for (std::uint32_t s = 0; s < devices * per_device; ++s)
        places.push_back(s % devices);
    return places;
}

std::vector<std::uint32_t> v_shaped_places(std::uint32_t devices) {
    std::vector<std::uint32_t> places;
    for (std::uint32_t s = 0; s < 2 * devices; ++s)
        places.push_back(std::min(s, 2 * devices - 1 - s));
    return places;
}

std::vector<std::uint32_t> mirrored_places(std::uint32_t devices) {
    std::vector<std::uint32_t> places;
    for (std::uint32_t s = 0; s < devices; ++s)
        places.push_back(s);
    for (std::uint32_t s = 0; s < devices; ++s)
        places.push_back(devices - 1 - s);
    return places;
}

schedule_table synchronous_table(std::vector<std::uint32_t> device_of, std::uint32_t devices,
                                 std::uint32_t replicas, std::uint32_t microbatches) {
    schedule_table table;
    table.stages = static_cast<std::uint32_t>(device_of.size()) / replicas;
    table.replicas = replicas;
    table.microbatches = microbatches;
    table.device_of = std::move(device_of);
    table.devices.resize(devices);
    return table;
}

void append_updates(schedule_table& table) {
    for (std::uint32_t s = 0; s < table.chain_stages(); ++s)
        table.devices[table.device_of[s]].body.push_back({step_kind::update, s});
}

} // namespace troupe
