// Cities that wait to be looked at, first come, first served; each is there at most once.
//
// Threads: one.
#pragma once

#include <vector>

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

class work_queue {
  public:
    explicit work_queue(std::size_t cities) : ring_(cities), waits_(cities) {}

    bool is_empty() const noexcept { return count_ == 0; }
    void push(city c) {
        if (waits_[static_cast<std::size_t>(c)] != 0)
            return;
        waits_[static_cast<std::size_t>(c)] = 1;
        const std::size_t at = first_ + count_++;
        ring_[at < ring_.size() ? at : at - ring_.size()] = c;
    }
    city pop() {
        const city c = ring_[first_];
        first_ = first_ + 1 < ring_.size() ? first_ + 1 : 0;
        --count_;
        waits_[static_cast<std::size_t>(c)] = 0;
        return c;
    }

  private:
    std::vector<city> ring_;
    std::vector<unsigned char> waits_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

} // namespace troupe::tsp
