#include "actors/runtime/worker_board.hpp"

#include <algorithm>

namespace troupe {

worker_board::row& worker_board::row_of(std::uint32_t worker) {
    const auto at = std::ranges::lower_bound(rows_, worker, {}, &row::worker);
    if (at != rows_.end() && at->worker == worker)
        return *at;
    return *rows_.insert(at, row{.worker = worker, .clock = 0, .late = {}, .waits_for = {}});
}

void worker_board::took(std::uint32_t worker, std::uint64_t clock, std::uint64_t versions_late) {
    const std::lock_guard guard{lock_};
    row& r = row_of(worker);
    r.clock = clock;
    ++r.late[std::min<std::uint64_t>(versions_late, late_max)];
}

void worker_board::waits(std::uint32_t worker, std::optional<std::uint32_t> for_whom) {
    const std::lock_guard guard{lock_};
    row_of(worker).waits_for = for_whom;
}

void worker_board::left(std::uint32_t worker) {
    const std::lock_guard guard{lock_};
    std::erase_if(rows_, [&](const row& r) { return r.worker == worker; });
}

std::vector<worker_board::row> worker_board::rows() const {
    const std::lock_guard guard{lock_};
    return rows_;
}

} // namespace troupe
