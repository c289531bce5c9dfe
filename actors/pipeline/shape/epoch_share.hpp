// The share of an epoch that one replica of a stage has: its minibatches, and the numbers that they
// and its updates have over the run. Pure.
//
// A replica numbers its own minibatches from 0 in each epoch. Over the run a minibatch has the
// number that the data source gave it. Where R replicas take turns, minibatch m of the epoch belongs
// to replica m mod R; with dynamic assignment it belongs to the replica that it was sent to.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/pipeline/shape/epoch_shape.hpp"

namespace troupe {

class epoch_share {
  public:
    epoch_share(std::uint32_t number, std::uint64_t first_minibatch, epoch_shape whole,
                replica_place at, bool is_dynamic);

    std::uint32_t number() const noexcept { return number_; }
    std::uint64_t first_minibatch() const noexcept { return first_minibatch_; } // over the run
    // The epoch of all replicas, and this replica's share as far as it is known.
    const epoch_shape& whole() const noexcept { return whole_; }
    const epoch_shape& shape() const noexcept { return shape_; }

    // True if this minibatch of the run belongs to the epoch.
    bool contains(std::uint64_t minibatch) const noexcept {
        return minibatch >= first_minibatch_ && minibatch - first_minibatch_ < whole_.minibatches;
    }
    // The minibatch of the run that is this replica's minibatch `own` of the epoch; with dynamic
    // assignment it is known once it has arrived.
    bool is_known(std::uint64_t own) const noexcept {
        return !is_dynamic_ || own < assigned_.size();
    }
    std::uint64_t run_minibatch(std::uint64_t own) const;
    // The one of `replicas` replicas that has this minibatch of the run, where they take turns.
    std::size_t replica_of(std::uint64_t minibatch, std::size_t replicas) const noexcept {
        return (minibatch - first_minibatch_) % replicas;
    }

    // Updates of this replica in the epoch: where replicas take turns, one for each round.
    std::uint64_t updates() const noexcept;
    // True if the epoch has this update, and minibatch_of(update) is known.
    bool has_minibatch_of(std::uint64_t update) const noexcept;
    // The minibatch of the run that gives an update its position. Where replicas take turns, the
    // first minibatch of the round.
    std::uint64_t minibatch_of(std::uint64_t update) const;
    // This replica's own minibatch of that update, which identifies it in traces; minibatch_of() if
    // it has none.
    std::uint64_t own_minibatch_of(std::uint64_t update) const;
    // The minibatch of the last of `updates` updates; the epoch's first minibatch if there is none.
    std::uint64_t minibatch_of_last(std::uint64_t updates) const;

    // ---- changes by arrivals ----

    // Assigns a minibatch that has arrived to this replica, if it follows those before in the epoch.
    void assign(std::uint64_t minibatch);
    // Ends the epoch after `minibatches` minibatches of all replicas; with dynamic assignment `own`
    // of them are this replica's.
    void end_after(std::uint64_t minibatches, std::uint64_t own);

  private:
    std::uint32_t number_;
    std::uint64_t first_minibatch_;
    epoch_shape whole_, shape_;
    replica_place at_;
    bool is_dynamic_;
    std::vector<std::uint64_t> assigned_; // minibatches of the run, in the order of arrival
};

} // namespace troupe
