// The layer that makes a simulated link reliable: sequence numbers, acknowledgements, retransmission. Both directions of a
// connection have a reliable_sender at one end and a reliable_receiver at the other. Without time source or network, so
// that it can be tested alone.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "schemas/base/check.hpp"
#include "transport/frame/frame.hpp"

namespace troupe::sim {

// An item sent in order over a link.
struct item {
    enum class kind : std::uint8_t {
        up,      // the deciding node has accepted the connection
        data,    // a frame
        goodbye, // the sender has closed; nothing follows
    };
    kind what = kind::data;
    frame_ptr data;
    std::uint64_t bytes = 0; // words and tensors of the frame
};

// Two counts, because the host of a stopped process receives items that the process does not consume.
struct acknowledgement {
    std::uint64_t received = 0; // items that have arrived in order
    std::uint64_t consumed = 0; // items passed to the listener
};

// Keeps items until they have been consumed.
class reliable_sender {
  public:
    std::uint64_t push(item i) {
        items_.push_back(std::move(i));
        return next() - 1;
    }

    std::uint64_t next() const noexcept { return first_ + items_.size(); }
    std::uint64_t first_unreceived() const noexcept { return received_; }
    bool empty() const noexcept { return items_.empty(); }

    const item& at(std::uint64_t sequence) const {
        TROUPE_CHECK(sequence >= first_ && sequence < next(),
                     "only items that are kept are sent again");
        return items_[sequence - first_];
    }

    // Removes and returns consumed items. Old and repeated acknowledgements change nothing; an acknowledgement of items
    // that were never sent is ignored.
    std::vector<item> acknowledged(acknowledgement a) {
        std::vector<item> gone;
        if (a.received > next() || a.consumed > a.received)
            return gone;
        received_ = std::max(received_, a.received);
        for (; first_ < a.consumed; ++first_) {
            gone.push_back(std::move(items_.front()));
            items_.pop_front();
        }
        return gone;
    }

  private:
    std::deque<item> items_;
    std::uint64_t first_ = 0;    // sequence of items_.front()
    std::uint64_t received_ = 0; // all items below have arrived
};

// Restores the order of items and drops duplicates.
class reliable_receiver {
  public:
    // The items that are due now, in order: none for a duplicate or an early item.
    std::vector<item> admit(std::uint64_t sequence, item i) {
        std::vector<item> due;
        if (sequence < next_)
            return due;
        early_.emplace(sequence, std::move(i));
        while (!early_.empty() && early_.begin()->first == next_) {
            due.push_back(std::move(early_.begin()->second));
            early_.erase(early_.begin());
            ++next_;
        }
        return due;
    }

    void consumed() noexcept { ++consumed_; }
    acknowledgement state() const noexcept { return {next_, consumed_}; }

  private:
    std::map<std::uint64_t, item> early_;
    std::uint64_t next_ = 0;
    std::uint64_t consumed_ = 0;
};

} // namespace troupe::sim
