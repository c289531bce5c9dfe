// The last milestones of a run as inspectors see them: what the root of the run tells its listener, kept for whoever comes
// later. The actor gives the board to the runtime when it is made (actor::show_milestones) and keeps it up to date.
//
//     milestones_->reached({.number = 11, .since_start = now() - began, .numbers = {{"objective", 0.25}}});
//
// Threads: any. A change takes a lock; nobody reads but inspectors. Numbers are for people: what programs must know is sent
// in messages.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "schemas/base/time_source.hpp"

namespace troupe {

class milestone_board {
  public:
    static constexpr std::size_t milestones_max = 16; // earlier ones are forgotten
    static constexpr std::size_t numbers_max = 16;    // of one of them; further ones are left out
    static constexpr std::size_t name_bytes_max = 32; // longer names are cut

    struct number {
        std::string name;
        double value = 0;
    };
    struct milestone {
        std::uint32_t number = 0; // counts from 0
        duration since_start{};
        std::vector<milestone_board::number> numbers;
    };

    void reached(milestone m);

    std::vector<milestone> milestones() const; // the latest as the last

  private:
    mutable std::mutex lock_;
    std::deque<milestone> milestones_;
};

} // namespace troupe
