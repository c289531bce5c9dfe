#include "actors/runtime/actor.hpp"

#include <algorithm>
#include <exception>
#include <typeinfo>
#include <utility>

#include <caf/behavior.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/send.hpp>
#include <kj/exception.h>

#include "actors/runtime/caf_order.hpp"
#include "actors/runtime/delivery.hpp"
#include "actors/runtime/failure.hpp"
#include "actors/runtime/message_types.hpp"
#include "actors/runtime/node_core.hpp"
#include "actors/runtime/tail.hpp"

namespace troupe {

namespace {

void write_address(proto::Envelope::From::Builder to, actor_address a) {
    to.setNode(a.node.value());
    to.setActor(a.actor.value());
}

void write_address(proto::Envelope::To::Builder to, actor_address a) {
    to.setNode(a.node.value());
    to.setActor(a.actor.value());
}

void write_cause(proto::Envelope::Builder envelope, const message_cause& cause) {
    envelope.setCause(cause.sequence);
    envelope.setCauseNode(cause.node.value());
    if (envelope.getTraceId() == 0)
        envelope.setTraceId(cause.trace_id);
}

} // namespace

// ---- self_handle ----

void self_handle::stamp(proto::Envelope::Builder envelope) const {
    if (core_->stamp_unless_closed(envelope, self_.actor, self_))
        write_cause(envelope, cause_);
    // Otherwise deliver() drops it.
}

void self_handle::deliver(frame_ptr f) const {
    core_->post(std::move(f));
}

// ---- life ----

actor::actor(actor_context& context)
    : caf::event_based_actor{context.config}, runtime_{context.runtime},
      core_{core_of(context.runtime)}, self_{context.self}, name_{std::move(context.name)} {}

actor::~actor() = default;

void actor::on_destroy() {
    acquire_from_caf(this);
    caf::event_based_actor::on_destroy();
}

caf::behavior actor::make_behavior() {
    // Never matched, as consume() takes every frame; CAF ends an actor without a behaviour.
    return {[](caf::unit_t) {}};
}

void actor::quit() {
    caf::event_based_actor::quit();
}

void actor::quit(error why) {
    caf::event_based_actor::quit(to_caf(why));
}

bool actor::cleanup(caf::error&& reason, caf::execution_unit* host) {
    if (std::exchange(ended_, true))
        return caf::event_based_actor::cleanup(std::move(reason), host);
    const caf_turn turn{this};
    current_ = nullptr;
    try {
        on_end();
    } catch (const std::exception&) {
        core_.count_failed();
    }
    for (const auto& [ours, theirs] : timers_)
        core_.options().timers->cancel(theirs);
    timers_.clear();
    handlers_.clear();

    // From here on deliver() says `gone`. What came before is answered, not dropped.
    mailbox().close();
    auto& waiting = std::get<normal_queue_index>(mailbox().queue().queues());
    while (const auto element = waiting.take_front()) {
        acquire_from_caf(element.get());
        if (element->content().match_elements<delivery>())
            if (const frame_ptr& f = element->content().get_as<delivery>(0).f)
                core_.reject(*f, "actor " + name_ + " has ended", true);
    }
    const bool first =
        caf::event_based_actor::cleanup(std::move(reason), host); // tells the watchers
    core_.forget(self_.actor);
    return first;
}

// ---- mailbox ----

send_status actor::deliver(frame_ptr f, std::int64_t now_ns, timer_id timer,
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

caf::invoke_message_result actor::consume(caf::mailbox_element& element) {
    const caf_turn turn{this};
    acquire_from_caf(&element);
    // What deliver() made; CAF's own way to ask costs several times as much.
    using element_type = caf::mailbox_element_vals<delivery>;
    if (typeid(element) != typeid(element_type))
        return caf::event_based_actor::consume(element);
    current_mailbox_element(&element);
    delivery& d = std::get<0>(static_cast<element_type&>(element).data());
    try {
        if (!d.f) {
            on_start();
        } else {
            depth_.fetch_sub(1, std::memory_order_relaxed);
            if (d.timer.value() == 0 || timers_.erase(d.timer) > 0) {
                if (paused_.load(std::memory_order_relaxed))
                    spend_step();
                current_ = std::move(d.f);
                envelope_ = current_->envelope();
                handle(*current_, d.enqueued_ns);
            }
        }
    } catch (const std::exception& bug) {
        core_.count_failed();
        quit(error{errc::lost, "actor " + name_ + " failed: " + bug.what()});
    }
    current_ = nullptr;
    return caf::invoke_message_result::consumed;
}

void actor::handle(const frame& f, std::int64_t enqueued_ns) {
    if (!core_.options().tracing) {
        dispatch(f);
        handled_.store(handled_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return;
    }
    // Between two messages of one turn there is only CAF: the end of one is the start of the next, as reading the clock
    // is a good part of what tracing costs.
    const std::int64_t started_ns =
        ended_ns_ != 0 ? std::max(ended_ns_, enqueued_ns) : core_.now_ns();
    // Recorded however the handler ends.
    struct recorder {
        actor& self;
        const frame& f;
        std::int64_t enqueued_ns, started_ns;
        ~recorder() { self.record(f, enqueued_ns, started_ns); }
    } const record_at_end{*this, f, enqueued_ns, started_ns};
    dispatch(f);
}

void actor::record(const frame& f, std::int64_t enqueued_ns, std::int64_t started_ns) noexcept {
    const std::int64_t ended_ns = ended_ns_ = core_.now_ns();
    const trace_event event{
        .kind = trace_kind::message,
        .type = f.body_type(),
        .from_node = node_id{envelope_.getFrom().getNode()},
        .from_actor = actor_number{envelope_.getFrom().getActor()},
        .to_actor = self_.actor,
        .sequence = envelope_.getSequence(),
        .cause = envelope_.getCause(),
        .cause_node = node_id{envelope_.getCauseNode()},
        .trace_id = envelope_.getTraceId(),
        .minibatch = minibatch_id{envelope_.getMinibatch()},
        .weights = weight_version{envelope_.getWeightVersion()},
        .bytes = f.bytes(),
        .sent_ns = envelope_.getSentNs(),
        .enqueued_ns = enqueued_ns,
        .started_ns = started_ns,
        .ended_ns = ended_ns,
    };
    core_.trace().record(event);
    // This thread is the only writer of the two.
    handled_.store(handled_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    handler_ns_.store(handler_ns_.load(std::memory_order_relaxed) +
                          static_cast<std::uint64_t>(ended_ns - started_ns),
                      std::memory_order_relaxed);
    if (core_.tails().any())
        core_.tails().offer(name_, f, event);
}

void actor::dispatch(const frame& f) {
    try {
        for (const auto& [type, take] : handlers_)
            if (type == f.body_type())
                return take(f);
        if (f.body_type() == type_id_of<proto::Down>())
            return take_down(f);
        if (f.body_type() == type_id_of<proto::Rejected>())
            return on_rejected(f.body<proto::Rejected>(), f);
        core_.reject(f, "actor " + name_ + " does not take messages of this type");
    } catch (const kj::Exception& malformed) {
        core_.count_malformed();
        core_.reject(f, "the message cannot be read: " +
                            std::string{malformed.getDescription().cStr()});
    }
}

void actor::take_down(const frame& f) {
    const auto news = f.body<proto::Down>();
    const actor_address gone{node_id{news.getNode()}, actor_number{news.getActor()}};
    const node_id teller = f.from().node;
    if (teller != self_.node && teller != gone.node)
        return core_.reject(f, "only its own node says that an actor is gone");
    const error why = read_failure(news.getFailure());
    const bool awaited = watched_.erase(gone) > 0;
    if (teller != self_.node)
        core_.end_proxy(gone, self_, why);
    if (awaited)
        on_down(gone, why);
}

actor_status actor::status() const {
    return {.address = self_,
            .name = name_,
            .mailbox_depth = depth_.load(std::memory_order_relaxed),
            .messages_handled = handled_.load(std::memory_order_relaxed),
            .handler_ns = handler_ns_.load(std::memory_order_relaxed),
            .device_ns = device_ns_.load(std::memory_order_relaxed),
            .paused = paused_.load(std::memory_order_relaxed),
            .workers = board_ ? board_->rows() : std::vector<worker_board::row>{}};
}

// ---- sending ----

void actor::add_handler(std::uint64_t type, handler h) {
    TROUPE_CHECK(find_message_type(type) != nullptr,
                 "a message type has a line in the table of message_types.cpp");
    for (const auto& [known, take] : handlers_)
        TROUPE_CHECK(known != type, "a message type has one handler");
    handlers_.emplace_back(type, std::move(h));
}

message_cause actor::cause() const {
    if (!current_)
        return {};
    return {.sequence = envelope_.getSequence(),
            .node = node_id{envelope_.getFrom().getNode()},
            .trace_id = envelope_.getTraceId()};
}

std::int64_t actor::stamp(proto::Envelope::Builder envelope, actor_address to) const {
    write_address(envelope.getFrom(), self_);
    write_address(envelope.getTo(), to);
    envelope.setSequence(core_.next_sequence());
    const std::int64_t sent_ns = core_.now_ns();
    envelope.setSentNs(sent_ns);
    write_cause(envelope, cause());
    return sent_ns;
}

void actor::route(frame_ptr f, actor_address to, std::int64_t sent_ns) {
    const route_outcome outcome = core_.route(std::move(f), to, sent_ns, context());
    // What the node itself must say (heartbeats above all) goes on; it is little.
    const bool serves_node = self_.actor < well_known::first_free;
    if (outcome.status == send_status::congested && !serves_node)
        core_.park(*this, outcome);
}

void actor::reject(const std::string& reason) {
    if (current_)
        core_.reject(*current_, reason);
}

troupe::self_handle actor::self_handle() const {
    return {core_.shared_from_this(), self_, cause()};
}

// ---- time ----

time_point actor::now() const noexcept {
    return core_.options().time->now();
}

timer_id actor::start_timer(duration delay, timer_frame make) {
    const timer_id ours{next_timer_++};
    auto fire = [self = self_handle(), ours, make = std::move(make)] {
        self.core_->post(make([&](proto::Envelope::Builder envelope) { self.stamp(envelope); }),
                         ours);
    };
    // The callback may run before after() returns, but its message is not handled before this handler ends.
    timers_.emplace(ours, core_.options().timers->after(delay, std::move(fire)));
    return ours;
}

bool actor::cancel(timer_id timer) {
    const auto found = timers_.find(timer);
    if (found == timers_.end())
        return false;
    core_.options().timers->cancel(found->second);
    timers_.erase(found);
    return true;
}

// ---- supervision ----

void actor::watch(actor_address other) {
    if (watched_.insert(other).second)
        core_.watch(self_, other);
}

void actor::unwatch(actor_address other) {
    if (watched_.erase(other) > 0)
        core_.unwatch(self_, other);
}

// ---- surroundings ----

void actor::trace_compute(std::uint64_t label, time_point started, time_point ended,
                          minibatch_id minibatch, weight_version weights,
                          std::uint64_t device_bytes) {
    const message_cause because = cause();
    core_.trace().record({.kind = trace_kind::compute,
                          .type = label,
                          .from_node = self_.node,
                          .to_actor = self_.actor,
                          .sequence = because.sequence,
                          .cause_node = because.node,
                          .trace_id = because.trace_id,
                          .minibatch = minibatch,
                          .weights = weights,
                          .bytes = device_bytes,
                          .started_ns = started.ns,
                          .ended_ns = ended.ns});
    device_ns_.store(device_ns_.load(std::memory_order_relaxed) +
                         static_cast<std::uint64_t>((ended - started).count()),
                     std::memory_order_relaxed);
}

} // namespace troupe
