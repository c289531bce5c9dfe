// Private to actors/runtime: the living actors of a node, by number. It gives numbers, finds actors, puts frames into their
// mailboxes, and knows how far the end of the node has come: first it stops, and its actors end; when none is left it
// closes, and nothing is delivered any more.
//
// Threads: any. The order of its lock and the peers' stands in node_core.hpp; no handler and no attachable runs under it.
// Ownership: a reference to each living actor. Errors: a number that is given or used twice is a bug.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include <caf/actor_control_block.hpp>
#include <caf/execution_unit.hpp>

#include "actors/runtime/node_runtime.hpp"

namespace troupe {

class actor_table {
  public:
    enum class outcome : std::uint8_t {
        delivered,
        absent, // there is no such actor, or it has ended
        closed, // nothing is delivered any more
    };

    explicit actor_table(node_id node) : node_{node} {}
    actor_table(const actor_table&) = delete;
    actor_table& operator=(const actor_table&) = delete;

    // The address of an actor to come: the well-known number, or the next free one.
    actor_address reserve(std::optional<actor_number> number);
    // False if the node stops, so that the new actor has to end.
    bool add(actor_number number, const caf::strong_actor_ptr& handle);
    void remove(actor_number number);

    caf::strong_actor_ptr find(actor_number number) const; // null if there is none
    std::optional<actor_address> address_of(const std::string& name) const;
    std::vector<actor_status> statuses() const;

    // For a sender whose life keeps the table open, such as an actor of this node.
    outcome deliver(const frame_ptr& f, actor_number to, std::int64_t now_ns,
                    caf::execution_unit* host) const;
    // For everybody else: the time source may be gone once the table is closed, and is read only if it is not.
    outcome deliver_unless_closed(const frame_ptr& f, actor_number to, const time_source& time,
                                  timer_id timer, caf::execution_unit* host) const;

    // -- the end --
    // The actors that have to end; none if the node stops already.
    std::optional<std::vector<caf::strong_actor_ptr>> begin_to_stop();
    bool is_empty() const;
    void wait_until_empty();
    void close();
    // As long as the returned lock is owned, the table stays open, and time source, timers and endpoint are there. It is not
    // owned if the table is closed.
    std::shared_lock<std::shared_mutex> keep_open() const;
    // Reads without the lock: for uses where a late answer does no harm.
    bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  private:
    bool put(const frame_ptr& f, actor_number to, std::int64_t now_ns, timer_id timer,
             caf::execution_unit* host) const; // with lock_ held

    const node_id node_;
    mutable std::shared_mutex lock_;
    std::map<actor_number, caf::strong_actor_ptr> living_; // guarded by lock_, as all below
    std::uint64_t next_number_ = well_known::first_free.value();
    bool stopping_ = false;
    std::atomic<bool> closed_{false}; // changes under lock_
    std::condition_variable_any empty_;
};

} // namespace troupe
