// The base class of every actor.
//
//     class echo_actor final : public actor {
//       public:
//         explicit echo_actor(actor_context& context) : actor{context} {
//             on<proto::Ping>(&echo_actor::answer);
//         }
//
//       private:
//         void answer(proto::Ping::Reader ping, const frame& f) {
//             frame_builder<proto::Pong> pong;
//             pong.body().setNumber(ping.getNumber());
//             send(f.from(), std::move(pong));
//         }
//     };
//
// An actor takes one message at a time, in the order of its mailbox, on any thread: the
// endpoint's, which runs the actor that a peer's frame wakes, or one of CAF's workers. A handler
// never waits and never computes: it submits work to a device and posts the completion to itself.
// A handler that blocks silences the whole node for its peers, heartbeats included.
//
// Errors: a body that cannot be read (kj::Exception) and a type that nobody handles are
// answered by Rejected, and the actor lives on; so a handler reads what it needs before it changes
// anything. Any other exception is a bug: the actor ends, and its watchers are told.
//
// Threads: everything protected belongs to the actor's handlers. self_handle objects may be used
// from any thread. The constructor registers handlers and neither sends nor quits: that is for
// on_start and later. Lifetime: the runtime holds the actor until it ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "actors/runtime/node_runtime.hpp"
#include "schemas/cluster.capnp.h"

namespace troupe {

class actor_shell; // private: actor_shell.hpp
class work_queue;

// The arguments that the runtime gives to the constructor of an actor.
struct actor_context {
    node_runtime& runtime;
    actor_address self;
    std::string name;
    std::uint64_t run = 0; // 0: the actor belongs to no run
};

// The origin of a message: the message whose handler caused it, and the trace id inherited from
// that message.
struct message_cause {
    std::uint64_t sequence = 0;
    node_id node;
    std::uint64_t trace_id = 0;
    std::uint64_t run = 0;
};

// A way back to an actor for other threads: those of devices, timers. Copyable, thread-safe; outlives
// actor and runtime (what is posted then is dropped). The posted message names as its cause the one
// during which the handle was made.
class self_handle {
  public:
    template <class Body>
    void post(frame_builder<Body>&& builder) const {
        stamp(builder.envelope());
        deliver(std::move(builder).finish());
    }

  private:
    friend class actor;
    self_handle(std::shared_ptr<node_core> core, actor_address self, message_cause cause)
        : core_{std::move(core)}, self_{self}, cause_{cause} {}

    void stamp(proto::Envelope::Builder envelope) const;
    void deliver(frame_ptr f) const;

    std::shared_ptr<node_core> core_;
    actor_address self_;
    message_cause cause_;
};

class actor {
  public:
    actor(const actor&) = delete;
    actor& operator=(const actor&) = delete;
    virtual ~actor();

    actor_address self() const noexcept { return self_; }
    const char* name() const noexcept { return name_.c_str(); }
    std::uint64_t run() const noexcept { return run_; } // 0: the actor belongs to no run

  protected:
    explicit actor(actor_context& context);

    // ---- messages ----

    // Handles messages with a body of type Body: void handler(Body::Reader body, const frame& f).
    template <class Body, class Derived>
    void on(void (Derived::*handler)(typename Body::Reader, const frame&)) {
        add_handler(type_id_of<Body>(), [this, handler](const frame& f) {
            (static_cast<Derived*>(this)->*handler)(f.body<Body>(), f);
        });
    }

    // Sends a message. Piece of work and state version are those of the builder's envelope; the cause
    // is the message in hand, whose trace id is inherited unless the builder sets one.
    template <class Body>
    void send(actor_address to, frame_builder<Body>&& builder) {
        const std::int64_t sent_ns = stamp(builder.envelope(), to);
        route(std::move(builder).finish(), to, sent_ns);
    }

    // The same for a message that a part of this actor has built; `finish` is called once the envelope is stamped.
    void send_built(actor_address to, proto::Envelope::Builder envelope,
                    const std::function<frame_ptr()>& finish) {
        const std::int64_t sent_ns = stamp(envelope, to);
        route(finish(), to, sent_ns);
    }

    // Answers the message in hand by Rejected, for example for ids that do not fit or a senseless request.
    void reject(const std::string& reason);

    // The message in hand; a handler may keep it longer than it runs.
    const frame_ptr& current() const noexcept { return current_; }

    troupe::self_handle self_handle() const;

    // ---- time ----

    time_point now() const noexcept;

    // Posts the message to this actor once, `delay` from now. After cancel it will not be handled,
    // even if it is in the mailbox already; cancel returns false if it has been handled.
    template <class Body>
    timer_id after(duration delay, frame_builder<Body>&& builder) {
        auto kept = std::make_shared<frame_builder<Body>>(std::move(builder));
        return start_timer(delay, [kept](const timer_stamp& stamp) {
            stamp(kept->envelope());
            return std::move(*kept).finish();
        });
    }
    bool cancel(timer_id timer);

    // ---- supervision ----

    // Calls on_down once when `other` ends, when its node is lost, or at once if it does not exist.
    // Watching twice is watching once.
    void watch(actor_address other);
    void unwatch(actor_address other); // on_down is no longer called for it

    // Ends this actor after the handler in hand. What is left in its mailbox is answered by
    // Rejected.
    void quit();
    void quit(error why);

    virtual void on_start() {} // called before the first message
    virtual void on_end() {}   // called after the last message; messages may still be sent
    virtual void on_down(actor_address, const error&) {} // a watched actor is gone
    // Called when a message of this actor was refused.
    virtual void on_rejected(proto::Rejected::Reader, const frame&) {}

    // Set the boards that inspectors see, of workers, facts and milestones. May be called from the constructor only.
    void show_workers(std::shared_ptr<const worker_board> board) {
        boards_.workers = std::move(board);
    }
    void show_facts(std::shared_ptr<const fact_board> board) { boards_.facts = std::move(board); }
    void show_milestones(std::shared_ptr<const milestone_board> board) {
        boards_.milestones = std::move(board);
    }

    // ---- surroundings ----

    node_runtime& runtime() const noexcept { return runtime_; }

    // Records device work of this actor in the trace and counts its time. `label` comes from
    // runtime().trace().label(text); `device_bytes` is the memory that the device holds then.
    void trace_compute(std::uint64_t label, time_point started, time_point ended, work_id work,
                       state_version state, std::uint64_t device_bytes = 0);

  private:
    friend class actor_shell;
    friend class work_queue;

    struct boards { // for inspectors; null: the actor has none
        std::shared_ptr<const worker_board> workers;
        std::shared_ptr<const fact_board> facts;
        std::shared_ptr<const milestone_board> milestones;
    };
    using handler = std::function<void(const frame&)>;
    using timer_stamp = std::function<void(proto::Envelope::Builder)>;
    using timer_frame = std::function<frame_ptr(const timer_stamp&)>;

    // -- sending --
    void add_handler(std::uint64_t type, handler h);
    // Returns the time of sending.
    std::int64_t stamp(proto::Envelope::Builder envelope, actor_address to) const;
    void route(frame_ptr f, actor_address to, std::int64_t sent_ns);
    timer_id start_timer(duration delay, timer_frame make);

    // -- receiving --
    void dispatch(const frame& f);
    void take_down(const frame& f);
    message_cause cause() const;

    actor_shell& shell() const;
    void end(); // called after the last message

    node_runtime& runtime_;
    node_core& core_;
    const actor_address self_;
    const std::string name_;
    const std::uint64_t run_;
    boards boards_;                // set before anybody else knows this actor
    actor_shell* shell_ = nullptr; // owns this actor; null in its constructor

    // The members below belong to the handlers.
    std::vector<std::pair<std::uint64_t, handler>> handlers_;
    frame_ptr current_;
    proto::Envelope::Reader envelope_;          // envelope of current_
    std::unordered_set<actor_address> watched_; // never iterated
    // This actor's timer ids to those of the service; never iterated while running.
    std::unordered_map<timer_id, timer_id> timers_;
    std::uint64_t next_timer_ = 1;

    std::atomic<std::uint64_t> device_ns_{0}; // read by any thread
};

namespace detail {

// The parts of spawning that need no template.
actor_context prepare_spawn(node_runtime& runtime, std::optional<actor_number> number,
                            std::string name, std::uint64_t run = 0);
actor_address launch(node_runtime& runtime, std::unique_ptr<actor> created);

template <class A, class... Args>
actor_address spawn(node_runtime& runtime, actor_context context, Args&&... args) {
    return launch(runtime, std::make_unique<A>(context, std::forward<Args>(args)...));
}

} // namespace detail

template <class A, class... Args>
actor_address node_runtime::spawn(std::string name, Args&&... args) {
    return detail::spawn<A>(*this, detail::prepare_spawn(*this, std::nullopt, std::move(name)),
                            std::forward<Args>(args)...);
}

template <class A, class... Args>
actor_address node_runtime::spawn_of_run(std::uint64_t run, std::string name, Args&&... args) {
    return detail::spawn<A>(*this, detail::prepare_spawn(*this, std::nullopt, std::move(name), run),
                            std::forward<Args>(args)...);
}

template <class A, class... Args>
actor_address node_runtime::spawn_as(actor_number number, std::string name, Args&&... args) {
    return detail::spawn<A>(*this, detail::prepare_spawn(*this, number, std::move(name)),
                            std::forward<Args>(args)...);
}

} // namespace troupe
