// The course of an epoch's weight exchanges at a replica that updates on its own: when it hands over
// its weights, waits for an answer, and adds the answer to its weights. Pure.
#pragma once

#include <cstdint>

#include "actors/peers/weight_exchange.hpp"

namespace troupe {

class exchange_course {
  public:
    enum class action : std::uint8_t { nothing, wait, add, hand_over, hand_over_last };

    explicit exchange_course(weight_exchange how) : how_{std::move(how)} {}

    void begin_epoch() noexcept {
        handed_over_after_ = 0;
        last_handed_over_ = false;
    }
    // The action before the next pass, after `updates` updates of the epoch.
    action before_pass(std::uint64_t updates) const noexcept {
        const bool has_updated = updates > handed_over_after_;
        if (now_ == phase::asked)
            return how_.waits && (!how_.overlaps || has_updated) ? action::wait : action::nothing;
        if (!has_updated)
            return action::nothing;
        // All passes of a minibatch use the same weights. A stage that waits is between two
        // minibatches.
        if (now_ == phase::answered)
            return how_.waits || updates > arrived_after_ ? action::add : action::nothing;
        return how_.is_due_after(updates) ? action::hand_over : action::nothing;
    }
    // The action when the schedule has no more instructions in the epoch.
    action at_end(std::uint64_t updates) const noexcept {
        if (now_ == phase::training && last_is_due(updates))
            return action::hand_over_last;
        return now_ == phase::asked      ? action::wait
               : now_ == phase::answered ? action::add
                                         : action::nothing;
    }

    void hand_over(std::uint64_t updates, bool last) noexcept {
        now_ = phase::asked;
        handed_over_after_ = updates;
        last_handed_over_ = last;
    }
    // The answer has arrived after `updates` updates of the epoch. `adds`: it is still to be added to
    // the weights, after the next update; else it has replaced them already.
    void answer(bool adds, std::uint64_t updates) noexcept {
        now_ = adds ? phase::answered : phase::training;
        arrived_after_ = updates;
    }
    void add() noexcept { now_ = phase::training; }
    bool is_asked() const noexcept { return now_ == phase::asked; }

  private:
    enum class phase : std::uint8_t { training, asked, answered };

    bool last_is_due(std::uint64_t updates) const noexcept {
        if (last_handed_over_ || how_.at_end == weight_exchange::ending::nothing)
            return false;
        return how_.at_end == weight_exchange::ending::last_exchange ||
               updates > handed_over_after_;
    }

    weight_exchange how_;
    phase now_ = phase::training;
    std::uint64_t handed_over_after_ = 0; // updates of the epoch before the latest exchange
    std::uint64_t arrived_after_ = 0;     // updates of the epoch before the latest answer
    bool last_handed_over_ = false;       // the latest exchange was the epoch's last
};

} // namespace troupe
