// Memory that this node has set aside for frames of one peer, by the names that the frames will bear. What a peer sends can
// only choose among these, each for one frame of exactly as many bytes.
//
// Threads: any.
#pragma once

#include <map>
#include <mutex>

#include "transport/endpoint.hpp"

namespace troupe {

class named_places {
  public:
    void add(frame_place place) { // in place of another of the same name
        std::lock_guard guard{lock_};
        places_[place.name] = std::move(place.memory);
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
