// Memory that this node has set aside for frames of one peer, by the names that the frames will bear. What a peer sends can
// only choose among these, each for one frame of exactly as many bytes.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "transport/endpoint.hpp"

namespace troupe {

class named_places {
  public:
    // In place of another of the same name. False, and nothing is kept, where no frame can be received (endpoint::expect).
    bool add(frame_place place) {
        const auto address = reinterpret_cast<std::uintptr_t>(place.memory.data());
        if (!place.name || !place.memory || !place.memory.is_host() || address % sizeof(float) != 0)
            return false;
        std::lock_guard guard{lock_};
        places_[place.name] = std::move(place.memory);
        return true;
    }

    void remove(actor_number actor) {
        std::lock_guard guard{lock_};
        const auto first = places_.lower_bound({actor, 0});
        places_.erase(first, places_.lower_bound({actor.next(), 0}));
    }

    // The memory of this name, which has it no longer; nothing if there is none of so many bytes.
    tensor take(place_name name, std::size_t bytes) {
        if (!name)
            return {};
        std::lock_guard guard{lock_};
        const auto found = places_.find(name);
        if (found == places_.end() || found->second.bytes() != bytes)
            return {};
        return std::move(places_.extract(found).mapped());
    }

  private:
    std::mutex lock_;
    std::map<place_name, tensor> places_;
};

} // namespace troupe
