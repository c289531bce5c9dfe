// States that the actors of a run have saved at a phase: a commit, once everybody has. Pure values.
//
//     if (commits_.take(phase, member, std::move(state)))
//         ...                                     // complete: it takes the place of the one before
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "actors/scheduled/saved_state.hpp"

namespace troupe::scheduled {

class commits {
  public:
    explicit commits(std::size_t members) : members_{members} {}

    // Takes the members of a checkpoint: the run goes on from it.
    void start_from(std::vector<saved_state> members) { latest_ = std::move(members); }

    // True if the commit of this phase is now complete. What is repeated, or of a phase before the latest commit, is
    // dropped.
    bool take(std::size_t member, saved_state state);

    // The latest complete one, by member; null if there is none.
    const std::vector<saved_state>* latest() const noexcept {
        return latest_ ? &*latest_ : nullptr;
    }
    std::uint64_t phase() const { return latest_->front().number; } // of the latest

    // Commits under way will never be complete: an actor is lost.
    void give_up_incomplete() { under_way_.clear(); }

  private:
    struct partly {
        std::vector<std::optional<saved_state>> states;
        std::size_t count = 0;
    };

    std::size_t members_;
    std::map<std::uint64_t, partly> under_way_; // by phase
    std::optional<std::vector<saved_state>> latest_;
};

} // namespace troupe::scheduled
