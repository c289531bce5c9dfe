#include "actors/runtime/actor_shell.hpp"

#include <algorithm>
#include <exception>
#include <typeinfo>
#include <utility>

#include <caf/behavior.hpp>
#include <caf/make_actor.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include "actors/runtime/caf_order.hpp"
#include "actors/runtime/delivery.hpp"
#include "actors/runtime/node_core.hpp"
#include "actors/runtime/tail.hpp"

namespace troupe {

// ---- life ----

caf::strong_actor_ptr actor_shell::make(node_core& core, std::unique_ptr<actor> owned) {
    caf::actor_system& system = core.system();
    caf::actor_config config;
    return caf::make_actor<actor_shell, caf::strong_actor_ptr>(
        system.next_actor_id(), system.node(), &system, config, core, std::move(owned));
}

actor_shell& actor_shell::of(const caf::strong_actor_ptr& handle) {
    return *static_cast<actor_shell*>(caf::actor_cast<caf::abstract_actor*>(handle));
}

actor_shell::actor_shell(caf::actor_config& config, node_core& core, std::unique_ptr<actor> owned)
    : caf::event_based_actor{config}, core_{core}, actor_{std::move(owned)} {
    actor_->shell_ = this;
}

actor_shell::~actor_shell() = default;

void actor_shell::on_destroy() {
    acquire_from_caf(this);
    caf::event_based_actor::on_destroy();
}

caf::behavior actor_shell::make_behavior() {
    // Never matched, as consume() takes every frame; CAF ends an actor without a behaviour.
    return {[](caf::unit_t) {}};
}

bool actor_shell::cleanup(caf::error&& reason, caf::execution_unit* host) {
    if (std::exchange(ended_, true))
        return caf::event_based_actor::cleanup(std::move(reason), host);
    const caf_turn turn{this};
    actor_->end();

    // From here on deliver() returns `gone`. Earlier messages are answered, not dropped.
    mailbox().close();
    auto& waiting = std::get<normal_queue_index>(mailbox().queue().queues());
    while (const auto element = waiting.take_front()) {
        acquire_from_caf(element.get());
        if (element->content().match_elements<delivery>())
            if (const frame_ptr& f = element->content().get_as<delivery>(0).f)
                core_.reject(*f, "actor " + actor_->name_ + " has ended", true);
    }
    const bool first =
        caf::event_based_actor::cleanup(std::move(reason), host); // tells the watchers
    core_.actors().remove(actor_->self_.actor);
    return first;
}

// ---- mailbox ----

send_status actor_shell::deliver(frame_ptr f, std::int64_t now_ns, timer_id timer,
                                 caf::execution_unit* host) {
    if (f)
        depth_.fetch_add(1, std::memory_order_relaxed);
    auto element = caf::make_mailbox_element(nullptr, caf::make_message_id(), {},
                                             delivery{std::move(f), now_ns, timer});
    release_to_caf(element.get());
    switch (mailbox().push_back(std::move(element))) {
    case caf::intrusive::inbox_result::success:
        return send_status::accepted;
    case caf::intrusive::inbox_result::unblocked_reader:
        intrusive_ptr_add_ref(ctrl());
        if (host != nullptr)
            host->exec_later(this);
        else
            home_system().scheduler().enqueue(this);
        return send_status::accepted;
    case caf::intrusive::inbox_result::queue_closed:
        break;
    }
    return send_status::gone;
}

caf::invoke_message_result actor_shell::consume(caf::mailbox_element& element) {
    const caf_turn turn{this};
    acquire_from_caf(&element);
    // The element was made by deliver(); CAF's own type query costs several times as much.
    using element_type = caf::mailbox_element_vals<delivery>;
    if (typeid(element) != typeid(element_type))
        return caf::event_based_actor::consume(element);
    current_mailbox_element(&element);
    delivery& d = std::get<0>(static_cast<element_type&>(element).data());
    actor& self = *actor_;
    try {
        if (!d.f) {
            self.on_start();
        } else {
            depth_.fetch_sub(1, std::memory_order_relaxed);
            if (d.timer.value() == 0 || self.timers_.erase(d.timer) > 0) {
                if (paused_.load(std::memory_order_relaxed))
                    spend_step();
                self.current_ = std::move(d.f);
                self.envelope_ = self.current_->envelope();
                handle(*self.current_, d.enqueued_ns);
            }
        }
    } catch (const std::exception& bug) {
        core_.counters().add_failed();
        self.quit(error{errc::lost, "actor " + self.name_ + " failed: " + bug.what()});
    }
    self.current_ = nullptr;
    return caf::invoke_message_result::consumed;
}

void actor_shell::handle(const frame& f, std::int64_t enqueued_ns) {
    if (!core_.options().tracing) {
        actor_->dispatch(f);
        handled_.store(handled_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return;
    }
    // Between two messages of one turn there is only CAF: the end of one is the start of the next,
    // as reading the time is a good part of what tracing costs.
    const std::int64_t started_ns =
        ended_ns_ != 0 ? std::max(ended_ns_, enqueued_ns) : core_.now_ns();
    // The message is recorded however the handler ends.
    struct recorder {
        actor_shell& shell;
        const frame& f;
        std::int64_t enqueued_ns, started_ns;
        ~recorder() { shell.record(f, enqueued_ns, started_ns); }
    } const record_at_end{*this, f, enqueued_ns, started_ns};
    actor_->dispatch(f);
}

void actor_shell::record(const frame& f, std::int64_t enqueued_ns,
                         std::int64_t started_ns) noexcept {
    const std::int64_t ended_ns = ended_ns_ = core_.now_ns();
    const proto::Envelope::Reader& envelope = actor_->envelope_;
    const trace_event event{
        .kind = trace_kind::message,
        .type = f.body_type(),
        .from_node = node_id{envelope.getFrom().getNode()},
        .from_actor = actor_number{envelope.getFrom().getActor()},
        .to_actor = actor_->self_.actor,
        .sequence = envelope.getSequence(),
        .cause = envelope.getCause(),
        .cause_node = node_id{envelope.getCauseNode()},
        .trace_id = envelope.getTraceId(),
        .work = work_id{envelope.getWork()},
        .state = state_version{envelope.getStateVersion()},
        .bytes = f.bytes(),
        .run = envelope.getRun(),
        .sent_ns = envelope.getSentNs(),
        .enqueued_ns = enqueued_ns,
        .started_ns = started_ns,
        .ended_ns = ended_ns,
    };
    core_.trace().record(event);
    // This thread is the only writer of both counts.
    handled_.store(handled_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    handler_ns_.store(handler_ns_.load(std::memory_order_relaxed) +
                          static_cast<std::uint64_t>(ended_ns - started_ns),
                      std::memory_order_relaxed);
    if (core_.tails().any())
        core_.tails().offer(actor_->name_, f, event);
}

actor_status actor_shell::status() const {
    const auto& [workers, facts, milestones] = actor_->boards_;
    return {.address = actor_->self_,
            .name = actor_->name_,
            .run = actor_->run_,
            .mailbox_depth = depth_.load(std::memory_order_relaxed),
            .messages_handled = handled_.load(std::memory_order_relaxed),
            .handler_ns = handler_ns_.load(std::memory_order_relaxed),
            .device_ns = actor_->device_ns_.load(std::memory_order_relaxed),
            .paused = paused_.load(std::memory_order_relaxed),
            .workers = workers ? workers->rows() : std::vector<worker_board::row>{},
            .facts = facts ? facts->facts() : std::vector<fact_board::fact>{},
            .milestones =
                milestones ? milestones->milestones() : std::vector<milestone_board::milestone>{}};
}

} // namespace troupe
