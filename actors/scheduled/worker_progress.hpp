// How far the workers of a run are, as the inspector's view of staleness shows it. A partial result is as many phases late as
// its sender is behind the worker that is the farthest.
//
// Threads: one; the board is any thread's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/runtime/worker_board.hpp"

namespace troupe::scheduled {

class worker_progress {
  public:
    std::shared_ptr<const worker_board> board() const { return board_; }

    // The phases go on from this one, perhaps once more.
    void start(std::uint64_t phase_number) { newest_ = phase_number; }

    // A partial result of this phase has come.
    void took(std::uint32_t worker, std::uint64_t phase_number) {
        if (worker >= partials_.size())
            partials_.resize(std::size_t{worker} + 1);
        newest_ = std::max(newest_, phase_number);
        board_->took(worker, ++partials_[worker], newest_ - phase_number);
    }

  private:
    std::shared_ptr<worker_board> board_ = std::make_shared<worker_board>();
    std::vector<std::uint64_t> partials_; // by worker: number of those that have come
    std::uint64_t newest_ = 0;            // phase of which any has come
};

} // namespace troupe::scheduled
