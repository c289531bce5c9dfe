// The place of one scheduler in the sequence of phases: which phase it has to choose, judge, fold or wait for next, and
// what has arrived for the phases to come. A pure value: the scheduler turns messages into calls on it, does what `next`
// says, and tells it when that is done.
//
//     ledger.take_partial(2, {.number = 7, .is_probe = false}, std::move(tensors));
//     for (step s = ledger.next(); s.what != step::wait; s = ledger.next())
//         ...                                            // do it, then ledger.scheduled(...), pulled(...), and so on
//
// The order of a scheduler's steps is the same in every run: it chooses its phases up to the window; then for m = 0, 1, ...
// it folds phase m, and chooses those of its own that become possible by that (staleness.hpp): phase m + window + 1, unless
// the variables rotate. To fold is to pull an own phase, to absorb that of another scheduler, and to judge and conclude a
// probe of any.
//
// Errors: errc::protocol for what does not fit, after which nothing has changed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "actors/scheduled/staleness.hpp"

namespace troupe::scheduled {

enum class phase_mark : std::uint8_t { none, save, stop };

// The header of a message about a phase.
struct phase_header {
    std::uint64_t number = 0;
    bool is_probe = false;
    phase_mark mark = phase_mark::none;
};

struct ledger_shape {
    std::uint32_t scheduler = 0;
    std::uint32_t schedulers = 1;
    std::uint32_t workers = 1;
    std::uint32_t window = 0;
    std::optional<rotation> ring = {}; // if the variables rotate

    staleness bound() const noexcept { return {window, ring}; }
};

struct step {
    enum kind : std::uint8_t {
        wait,     // for messages
        schedule, // the phase `number` is to be chosen and sent
        save,     // the state is to be saved: `number` is marked, and the next one to be folded
        stop,     // the run ends: the same
        pull,     // own phase, all partial results are there
        absorb,   // of another scheduler
        judge,    // of a probe: all partial results are there
        conclude, // of a probe: all judgements are there
    };
    static constexpr std::size_t kinds = conclude + 1;
    kind what = wait;
    std::uint64_t number = 0;
};

class phase_ledger {
  public:
    explicit phase_ledger(ledger_shape shape, std::uint64_t first_phase = 0)
        : shape_{shape}, folded_{first_phase}, chosen_{first_phase}, computed_anew_(shape.workers) {
    }

    step next() const;

    // ---- messages ----
    result<void> take_partial(std::uint32_t worker, const phase_header& of, payload partial);
    // Takes what a phase of another scheduler has changed, or its judgement of a probe.
    result<void> take_deltas(std::uint32_t scheduler, const phase_header& of, payload deltas);

    // Another worker takes the place of this one, and computes phases anew of which that one may have sent its partial
    // results: they are the same, and what comes again is dropped.
    void worker_replaced(std::uint32_t worker);

    // ---- what has been done ----
    // Own phases, in order, those that a restored state has included.
    void scheduled(phase chosen, phase_mark mark = phase_mark::none);
    void saved(); // the phase that `next` named
    // Own deltas or, of `absorb`, those that arrived; of a probe none.
    void folded(payload changes);
    void judged(payload judgement);

    // ---- what is known ----
    std::uint64_t folded() const noexcept { return folded_; } // all phases below it
    bool owns(std::uint64_t number) const noexcept { return owner(number) == shape_.scheduler; }
    // Whether an own phase is to be chosen as soon as phase `folded`, which is next, has been folded.
    bool becomes_possible(std::uint64_t number, std::uint64_t folded) const noexcept {
        return owns(number) && shape_.bound().applied_before(number) == folded + 1;
    }
    const phase& own(std::uint64_t number) const;    // chosen and not yet folded
    phase_header header(std::uint64_t number) const; // of one that is next
    std::span<const payload> partials(std::uint64_t number) const;
    std::span<const payload> judgements(std::uint64_t number) const;
    const payload& arrived_deltas(std::uint64_t number) const;
    // Deltas of the phases below `number` that workers have not applied when they compute it; all of these have been folded.
    std::vector<phase_deltas> in_flight(std::uint64_t number) const;
    // Deltas that are sent with phase `number`; null if there are none.
    const phase_deltas* due_with(std::uint64_t number) const;

    // ---- saving ----
    std::vector<phase> own_phases() const; // chosen and not yet folded
    const std::deque<phase_deltas>& recent_deltas() const noexcept { return recent_; }
    // Takes a saved state: own phases that were under way, to be sent again, and the deltas before first_phase that
    // are still needed. The phases are only checked.
    result<void> restore(const std::vector<phase>& phases, std::deque<phase_deltas> recent);

  private:
    // Everything that has arrived for a phase that is yet to be folded.
    struct entry {
        phase_header header;
        std::optional<phase> own;
        std::vector<payload> partials;
        std::vector<bool> has_partial;
        std::size_t partial_count = 0;
        std::vector<payload>
            judgements; // by scheduler; of another's phase that is no probe its deltas
        std::vector<bool> has_judgement;
        std::size_t judgement_count = 0;
        bool is_saved = false;
    };

    std::uint32_t owner(std::uint64_t number) const noexcept {
        return static_cast<std::uint32_t>(number % shape_.schedulers);
    }
    std::uint64_t bound_of_messages() const noexcept; // they are about phases below it
    result<void> check(const phase_header& of) const; // of a message about a phase
    entry& entry_of(const phase_header& of);
    std::optional<std::uint64_t> next_own() const noexcept; // to be chosen, in the window
    std::uint64_t
    oldest_needed() const noexcept; // whose deltas a later phase brings, or has in flight

    ledger_shape shape_;
    std::uint64_t folded_; // number of phases that have been folded: all below it
    std::uint64_t chosen_; // all own phases below it have been chosen
    std::map<std::uint64_t, entry> entries_;
    std::deque<phase_deltas> recent_; // of the folded phases from oldest_needed() on
    std::vector<std::uint64_t>
        computed_anew_; // by worker: partial results of phases below it may come again
};

} // namespace troupe::scheduled
