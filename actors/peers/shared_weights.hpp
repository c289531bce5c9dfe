// Weights in memory that several replicas of one node update without any lock: Hogwild, Niu et al. 2011.
//
// Every number is read and written by itself, atomically and in no order with the others: what a replica reads may have some
// numbers of before another's update and some of after it, but no update of a number is lost. A replica that nobody else
// interferes with stores what it has computed, bit by bit.
//
// Threads: all, at the same time.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

namespace troupe {

class shared_weights {
  public:
    // The first to call gives the numbers; they all have the same.
    void begin(std::span<const float> first);

    // Where the numbers were `before` and became `after` by an update: adds the differences. Numbers that are as they were
    // are not touched.
    void add(std::span<const float> before, std::span<const float> after);
    void read(std::span<float> into);

  private:
    std::once_flag begun_;
    std::vector<float> values_;
};

} // namespace troupe
