// What a shard of a parameter server knows of its workers' pushes and reads, and what its rule makes of that: which push is
// next to be applied, which is dropped, who waits for whom. Pure: messages and tensors stay with the actor.
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

// A push that has arrived. `number` is the caller's, and grows.
struct arrived_push {
    std::uint64_t number = 0;
    std::size_t worker = 0;
    std::uint64_t version = 0; // of the weights that the gradient is of
};

class shard_ledger {
  public:
    shard_ledger(const consistency& rule, std::size_t workers);

    void start_at(std::uint64_t version); // of the first weights
    void begin_epoch();                   // of the last one all is applied
    // All workers have ended the epoch, and all that they pushed is applied.
    bool epoch_is_over() const noexcept;

    std::uint64_t version() const noexcept { return version_; }
    const worker_clocks& clocks() const noexcept { return clocks_; }
    std::uint64_t pushes(std::size_t worker) const noexcept { return workers_[worker].pushes; }
    std::uint64_t unapplied(std::size_t worker) const noexcept {
        return workers_[worker].unapplied;
    }
    std::uint64_t dropped() const noexcept { return dropped_; } // over the run
    bool is_gone(std::size_t worker) const noexcept { return workers_[worker].gone; }

    // Counts a push of a worker that has not ended; false where the rule drops it.
    bool push(const arrived_push& arrived);
    // The pushes of the next update, if there is one and none is under way, in the order of their sum: then it is under
    // way until applied() or skipped().
    std::optional<std::vector<arrived_push>> next();
    // `change`: the largest of a weight, which only value-bounded asks for.
    void applied(double change = 0);
    void skipped(); // it makes no new version: its gradients are dropped

    // The worker for which this one's read, after all that it has pushed, has to wait: where an update takes the pushes of
    // several, one that is to push before it is made. Itself: for an update that is due or under way, by what it has pushed.
    std::optional<std::size_t> waits_for(std::size_t worker) const;
    void asks(std::size_t worker) { workers_[worker].sight = reading::asks; }
    void read(std::size_t worker); // it has been answered
    // Whether a worker for whom another waits is to ask again: it has an answer, and may wait for the other one at another
    // shard. Once for each answer; of value-bounded.
    bool calls_back(std::size_t worker);
    void finish(std::size_t worker) { clocks_.finish(worker); } // its share of the epoch
    // What it has pushed still counts, what it has asked does not; nobody waits for it in later epochs either.
    void lose(std::size_t worker);
    void join(std::size_t worker); // in place of one that is lost, between two epochs

  private:
    enum class reading : std::uint8_t { not_yet, asks, is_answered, is_called_back };
    struct worker_state {
        std::uint64_t pushes = 0;         // of this epoch
        std::uint64_t unapplied = 0;      // of these
        std::uint64_t run_clock = 0;      // gradients over the run
        std::vector<double> unseen;       // by worker: the sum of the changes that it has not read
        reading sight = reading::not_yet; // since its last push, or the epoch's beginning
        bool gone = false;
    };

    void settle(); // those under way
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
