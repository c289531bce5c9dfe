// What one replica of a stage has of an epoch: its minibatches, and how they and its updates are
// numbered over the run. Pure.
//
// A replica numbers its own minibatches from 0 in each epoch. Over the run a minibatch has the
// number that the data source gave it: of R replicas that take turns, minibatch m of the epoch is
// that of replica m mod R; where minibatches are assigned dynamically, it is whichever came.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/pipeline/epoch_shape.hpp"

namespace troupe {

class epoch_share {
  public:
    epoch_share(std::uint32_t number, std::uint64_t first_minibatch, epoch_shape whole,
                replica_place at, bool is_dynamic);

    std::uint32_t number() const noexcept { return number_; }
    std::uint64_t first_minibatch() const noexcept { return first_minibatch_; } // over the run
    const epoch_shape& whole() const noexcept { return whole_; }                // of all replicas
    const epoch_shape& shape() const noexcept {
        return shape_;
    } // of this one, as far as it is known

    // Whether this minibatch, numbered over the run, is one of the epoch's.
    bool contains(std::uint64_t minibatch) const noexcept {
        return minibatch >= first_minibatch_ && minibatch - first_minibatch_ < whole_.minibatches;
    }
    // Over the run, from this replica's number; not yet known where it is assigned dynamically and
    // has not come.
    bool is_known(std::uint64_t own) const noexcept {
        return !is_dynamic_ || own < assigned_.size();
    }
    std::uint64_t run_minibatch(std::uint64_t own) const;
    // Which of the stage's replicas has this minibatch of the run, where they take turns.
    std::size_t replica_of(std::uint64_t minibatch, std::size_t replicas) const noexcept {
        return (minibatch - first_minibatch_) % replicas;
    }

    // Updates of this replica in the epoch: where replicas take turns, one for each round of them.
    std::uint64_t updates() const noexcept;
    // Whether update `update` is of a minibatch that has come.
    bool has_minibatch_of(std::uint64_t update) const noexcept;
    // The minibatch of the run that update `update` goes by. Where replicas update together, the
    // first of theirs.
    std::uint64_t minibatch_of(std::uint64_t update) const;
    // Of these the one of this replica, by which traces name it.
    std::uint64_t own_minibatch_of(std::uint64_t update) const;
    // The minibatch of the last of so many updates; the epoch's first where there is none.
    std::uint64_t minibatch_of_last(std::uint64_t updates) const;

    // ---- what arrives changes it ----

    // A minibatch is assigned to this replica by its arrival, if it comes after those before.
    void assign(std::uint64_t minibatch);
    // The epoch ends after so many minibatches of all replicas, `own` of them this one's where they
    // are assigned dynamically.
    void end_after(std::uint64_t minibatches, std::uint64_t own);

  private:
    std::uint32_t number_;
    std::uint64_t first_minibatch_;
    epoch_shape whole_, shape_;
    replica_place at_;
    bool is_dynamic_;
    std::vector<std::uint64_t> assigned_; // over the run, in the order of arrival
};

} // namespace troupe
