// Private to actors/runtime: an actor as CAF runs it.
//
// Owns the actor, is its mailbox, and gives it turns: one message at a time, on one of CAF's workers
// or on the endpoint's thread. Holds, pauses, steps and the counts that inspectors see are here; what
// the actor makes of a message is in actor.cpp.
//
// Threads: what is public may be called from any thread, except where it says otherwise. Ownership:
// whoever holds a caf::strong_actor_ptr; the actor is destroyed with the last one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <caf/event_based_actor.hpp>

#include "actors/runtime/actor.hpp"

namespace troupe {

class actor_shell final : public caf::event_based_actor {
  public:
    // Wraps an actor that was made for a node of this core.
    static caf::strong_actor_ptr make(node_core& core, std::unique_ptr<actor> owned);
    // Returns the shell behind a handle of the node's table.
    static actor_shell& of(const caf::strong_actor_ptr& handle);

    actor_shell(caf::actor_config& config, node_core& core, std::unique_ptr<actor> owned);
    ~actor_shell() override;

    actor_address self() const noexcept { return actor_->self_; }
    const char* name() const override { return actor_->name(); }
    std::uint64_t run() const noexcept { return actor_->run(); }
    actor_status status() const;

    // Puts a frame, or the actor's start where it is null, into the mailbox. An actor that is woken
    // runs on `host`, or on a worker where that is null.
    send_status deliver(frame_ptr f, std::int64_t now_ns, timer_id timer,
                        caf::execution_unit* host);

    void hold();             // adds a reason to take no message
    void release();          // removes one
    void release_for_ever(); // for an actor that must take a turn to end
    void set_paused(bool paused);
    bool add_steps(std::size_t messages); // returns false if the actor is not paused

  private:
    // -- CAF --
    caf::behavior make_behavior() override;
    using caf::event_based_actor::consume;
    caf::invoke_message_result consume(caf::mailbox_element& element) override;
    caf::resumable::resume_result resume(caf::execution_unit* host,
                                         std::size_t messages_max) override;
    bool cleanup(caf::error&& reason, caf::execution_unit* host) override;
    void on_destroy() override;

    // -- turns --
    bool swallow_turn();
    void spend_step();
    void kick();

    // -- one message --
    void handle(const frame& f, std::int64_t enqueued_ns);
    void record(const frame& f, std::int64_t enqueued_ns, std::int64_t started_ns) noexcept;

    node_core& core_;
    const std::unique_ptr<actor> actor_;

    // The members below belong to the turns.
    std::int64_t ended_ns_ = 0; // end of the previous message of this turn, if it was traced
    bool ended_ = false;

    // The members below are used by any thread.
    std::atomic<std::uint64_t> depth_{0};
    std::atomic<std::uint64_t> handled_{0};
    std::atomic<std::uint64_t> handler_ns_{0};
    // 2 * (number of reasons to take no message) + 1 if a turn was swallowed, so that release must
    // ask for a new one.
    std::atomic<std::uint32_t> hold_{0};
    std::atomic<bool> paused_{false};
    std::atomic<std::size_t> steps_{0}; // messages that a paused actor may take
};

} // namespace troupe
