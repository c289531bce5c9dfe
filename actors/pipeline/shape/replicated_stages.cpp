#include "actors/pipeline/shape/replicated_stages.hpp"

#include <algorithm>

namespace troupe {

std::vector<std::uint32_t> warm_ups(std::span<const std::uint32_t> replicas) {
    std::vector<std::uint32_t> forwards(replicas.size());
    std::uint32_t from_here_on = 0;
    // Minibatches that all replicas of the next stage together hold before their first backward pass.
    std::uint32_t next_holds = 0;
    for (std::size_t s = replicas.size(); s-- > 0;) {
        from_here_on += replicas[s];
        const std::uint32_t needed = std::max(from_here_on, next_holds + replicas[s] - 1);
        const std::uint32_t held = (needed + replicas[s] - 1) / replicas[s];
        next_holds = held * replicas[s];
        forwards[s] = held - 1;
    }
    return forwards;
}

schedule_table make_replicated_stages(std::span<const std::uint32_t> replicas) {
    const auto stages = static_cast<std::uint32_t>(replicas.size());
    const std::vector<std::uint32_t> forwards = warm_ups(replicas);
    schedule_table table;
    table.stages = stages;
    table.microbatches = 1;
    table.device_of = looped_places(stages, 1);
    for (std::uint32_t s = 0; s < stages; ++s) {
        const std::uint32_t first = forwards[s];
        device_steps steps;
        for (std::uint32_t k = 0; k < first; ++k)
            steps.warm_up.push_back({step_kind::forward, s, 0, k, first});
        steps.body = {{step_kind::forward, s, 0, first, first},
                      {step_kind::backward, s},
                      {step_kind::update, s}};
        table.devices.push_back(std::move(steps));
    }
    return table;
}

} // namespace troupe
