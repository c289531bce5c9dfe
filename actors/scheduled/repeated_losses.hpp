// Whether an actor of a run is lost again and again at the same place: what it computes there may end its process, and would
// end those of all nodes, one after the other.
//
// Threads, ownership: a value of the leader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace troupe::scheduled {

class repeated_losses {
  public:
    // So often one actor may be lost in succession, no phase having been folded between. More than two, as nodes may be
    // lost for other reasons while a run recovers.
    static constexpr std::uint32_t in_succession_max = 3;

    // These are lost when all phases below `folded` have been folded. Returns those that have been lost that often.
    std::vector<std::size_t> add(const std::vector<std::size_t>& members, std::uint64_t folded) {
        std::vector<std::size_t> again;
        for (const std::size_t m : members) {
            losses& of = by_member_[m];
            if (of.folded != folded)
                of = {folded, 0};
            if (++of.count >= in_succession_max)
                again.push_back(m);
        }
        return again;
    }

  private:
    struct losses {
        std::uint64_t folded = 0;
        std::uint32_t count = 0;
    };
    std::map<std::size_t, losses> by_member_;
};

} // namespace troupe::scheduled
