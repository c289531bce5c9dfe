// What an actor that serves workers shows of them to inspectors: how far each is, how late what it brought was, and for whom
// it waits. The actor gives it to the runtime when it is made (actor::show_workers) and keeps it up to date.
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
    static constexpr std::size_t late_max = 31; // what is later is counted as so late

    struct row {
        std::uint32_t worker = 0;
        std::uint64_t clock = 0;                        // updates that it has brought
        std::array<std::uint64_t, late_max + 1> late{}; // how many were so many versions late
        std::optional<std::uint32_t> waits_for;         // a worker
    };

    // One of `worker`'s updates has been taken, which makes its clock `clock`.
    void took(std::uint32_t worker, std::uint64_t clock, std::uint64_t versions_late);
    // Nobody: it is not held up any more.
    void waits(std::uint32_t worker, std::optional<std::uint32_t> for_whom);

    void left(std::uint32_t worker); // it is lost, and nothing is known of it any more

    std::vector<row> rows() const; // by worker; those of which anything is known

  private:
    row& row_of(std::uint32_t worker);

    mutable std::mutex lock_;
    std::vector<row> rows_;
};

} // namespace troupe
