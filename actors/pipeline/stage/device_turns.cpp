#include "actors/pipeline/stage/device_turns.hpp"

#include <algorithm>

#include "schemas/pipeline.capnp.h"

namespace troupe {

std::uint32_t device_turns::first() const {
    return std::ranges::min_element(entries_, {}, [](const auto& e) { return e.second.next; })
        ->first;
}

void device_turns::announce(std::uint32_t stage, const pass& next, const self_handle& handle) {
    const std::lock_guard guard{lock_};
    entries_.insert_or_assign(stage, entry{next, handle});
    if (const std::uint32_t has_it = first(); has_it != stage)
        entries_.at(has_it).handle.post(frame_builder<proto::TurnCame>{});
}

void device_turns::leave(std::uint32_t stage) {
    const std::lock_guard guard{lock_};
    entries_.erase(stage);
    if (!entries_.empty())
        entries_.at(first()).handle.post(frame_builder<proto::TurnCame>{});
}

bool device_turns::has_turn(std::uint32_t stage) const {
    const std::lock_guard guard{lock_};
    return first() == stage;
}

} // namespace troupe
