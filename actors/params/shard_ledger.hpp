// Record of the pushes and reads of a shard's workers, and the decisions of its consistency rule: which push is applied
// next, which is dropped, which worker waits for which. Pure: messages and tensors stay with the actor.
//
//     ledger.begin_epoch();
//     if (ledger.push({number, worker, version})) ...        a push has arrived; false: it is dropped
//     while (auto update = ledger.next()) { apply it; ledger.applied(size of the change); }
//     ledger.asks(worker);                                   it wants to read
//     if (!ledger.waits_for(worker)) answer its read, ledger.read(worker);
//     else if (ledger.calls_back(whom)) tell whom it waits for to ask again
//
// Versions count updates over the run.
#pragma once

#include <deque>
#include <span>

#include "actors/params/consistency.hpp"

namespace troupe {

// A push that has arrived. `number` is assigned by the caller and increases.
struct arrived_push {
    std::uint64_t number = 0;
    std::size_t worker = 0;
    std::uint64_t version = 0; // of the weights that the gradient was computed with
};

class shard_ledger {
  public:
    shard_ledger(const consistency& rule, std::size_t workers);

    void start_at(std::uint64_t version); // version of the first weights
    void begin_epoch();                   // requires that the last epoch is over
    // True if all workers have finished the epoch and all their pushes have been applied or dropped.
    bool epoch_is_over() const noexcept;

    std::uint64_t version() const noexcept { return version_; }
    const worker_clocks& clocks() const noexcept { return clocks_; }
    std::uint64_t pushes(std::size_t worker) const noexcept { return workers_[worker].pushes; }
    std::uint64_t unapplied(std::size_t worker) const noexcept {
        return workers_[worker].unapplied;
    }
    std::uint64_t dropped() const noexcept { return dropped_; } // pushes, over the run
    bool is_gone(std::size_t worker) const noexcept { return workers_[worker].gone; }

    // Records a push of a worker that has not finished; false if the rule drops it.
    bool push(const arrived_push& arrived);
    // The pushes of the next update, in the order of their sum, if one is due and none is under way. It is then under way
    // until applied() or skipped(). With backup workers it must be asked for after every push, finish and loss.
    std::optional<std::vector<arrived_push>> next();
    bool is_updating() const noexcept { return !under_way_.empty(); }
    // `change`: the largest change of a weight; used by value-bounded only.
    void applied(double change = 0);
    void skipped(); // no new version: its gradients are dropped

    // The worker that this worker's next read has to wait for; none if it may read. Where an update combines the pushes of
    // several workers, it is one whose push is missing. The worker itself: an update with its push is due or under way.
    std::optional<std::size_t> waits_for(std::size_t worker) const;
    void asks(std::size_t worker) { workers_[worker].sight = reading::asks; }
    void read(std::size_t worker); // its read has been answered
    // True if a worker that another one waits for is to pull again: it has its answer, but may be waiting for the other one
    // at another shard. At most once per answer, under value-bounded only.
    bool calls_back(std::size_t worker);
    void finish(std::size_t worker) { clocks_.finish(worker); } // for this epoch
    // The worker is lost: its pushes still count, its pending read does not, and nobody waits for it in later epochs
    // either.
    void lose(std::size_t worker);
    void join(std::size_t worker); // takes the place of a lost worker, between two epochs

  private:
    enum class reading : std::uint8_t { not_yet, asks, is_answered, is_called_back };
    struct worker_state {
        std::uint64_t pushes = 0;         // in this epoch
        std::uint64_t unapplied = 0;      // pushes of this epoch that are not applied
        std::uint64_t run_clock = 0;      // gradients pushed over the run
        std::vector<double> unseen;       // by worker: sum of the changes that it has not read
        reading sight = reading::not_yet; // since its last push or the start of the epoch
        bool gone = false;
    };

    void settle(); // the update under way
    std::size_t due() const;
    std::optional<std::size_t> missing() const;
    std::optional<std::size_t> waits_for_sight(std::size_t worker) const;

    consistency rule_;
    worker_clocks clocks_;
    std::vector<worker_state> workers_;
    std::deque<arrived_push> arrived_;
    std::vector<arrived_push> under_way_;
    std::uint64_t version_ = 0;
    std::uint64_t dropped_ = 0;
};

} // namespace troupe
