// The state of an actor's workers as inspectors see it: each worker's progress, the lateness of its updates, and the worker
// that it waits for. The actor gives the board to the runtime when it is made (actor::show_workers) and keeps it up to date.
//
// Threads: any. A change takes a lock for some nanoseconds; nobody reads but inspectors.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

class worker_board {
  public:
    static constexpr std::size_t late_max = 31; // later updates are counted here

    struct row {
        std::uint32_t worker = 0;
        std::uint64_t clock = 0; // number of its updates
        // late[k]: number of updates k versions late.
        std::array<std::uint64_t, late_max + 1> late{};
        std::optional<std::uint32_t> waits_for; // a worker
    };

    // Notes that an update of `worker` has been taken, which makes its clock `clock`.
    void took(std::uint32_t worker, std::uint64_t clock, std::uint64_t versions_late);
    // Notes the worker that `worker` waits for; none: it is not held up any more.
    void waits(std::uint32_t worker, std::optional<std::uint32_t> for_whom);

    void left(std::uint32_t worker); // forgets a worker that is lost

    std::vector<row> rows() const; // rows by worker; only those with known state

  private:
    row& row_of(std::uint32_t worker);

    mutable std::mutex lock_;
    std::vector<row> rows_;
};

} // namespace troupe
