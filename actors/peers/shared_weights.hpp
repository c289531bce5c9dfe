// Weights in memory that several replicas of one node update without locks: Hogwild, Niu et al. 2011.
//
// Each number is read and written atomically, with no order between numbers: a replica may read some numbers from before
// another's update and some from after it, but no update of a number is lost. Without concurrent updates a replica stores
// its computed values bit by bit.
//
// Threads: any, concurrently.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

namespace troupe {

class shared_weights {
  public:
    // The first call sets the numbers; all callers pass the same ones.
    void begin(std::span<const float> first);

    // Adds the differences of an update that changed the numbers from `before` to `after`. Numbers that did not change are
    // not written.
    void add(std::span<const float> before, std::span<const float> after);
    void read(std::span<float> into);

  private:
    std::once_flag begun_;
    std::vector<float> values_;
};

} // namespace troupe
