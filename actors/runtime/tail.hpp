// Private to actors/runtime: the open tails of a node, i.e. the observers that want to see messages as they are handled.
//
// While no tail is open, a message costs one call of any(). An observer has credit for a number of events; matching events
// without credit are counted and not sent, so that a slow observer never holds up the node.
//
// Threads: thread-safe. offer() is called on the thread of the actor that has handled the message. The set of open tails
// is replaced as a whole, so actors filter side by side; the lock is held no longer than a pointer takes to copy.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/runtime/message_filter.hpp"

namespace troupe {

class node_core;

class tail_set {
  public:
    explicit tail_set(node_core& core) : core_{core} {}

    bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }

    // errc::exhausted at limits::tails_max; errc::usage if the observer has a tail of this number.
    result<void> open(actor_address observer, std::uint64_t tail, message_filter filter,
                      std::uint64_t credit);
    void credit(actor_address observer, std::uint64_t tail, std::uint64_t more);
    void close(actor_address observer, std::uint64_t tail);
    void forget_observer(actor_address observer);
    void forget_node(node_id node);

    void offer(const std::string& receiver, const frame& f, const trace_event& event);

  private:
    struct tail {
        const actor_address observer;
        const std::uint64_t number;
        const message_filter filter;
        std::atomic<std::uint64_t> credit;
        // Events that matched without credit since the last event sent.
        std::atomic<std::uint64_t> dropped{0};
    };
    using tails = std::vector<std::shared_ptr<tail>>;

    std::shared_ptr<const tails> open_tails() const;
    static tail* find(const tails& in, actor_address observer, std::uint64_t number);
    template <class Condition>
    void erase_if(Condition condition);
    void replace(tails by); // called with lock_ held
    void send(tail& to, const std::string& receiver, const frame& f, const trace_event& event);

    node_core& core_;
    std::atomic<std::size_t> count_{0};
    mutable std::mutex lock_;
    std::shared_ptr<const tails> tails_ =
        std::make_shared<tails>(); // the pointer: guarded by lock_
};

} // namespace troupe
