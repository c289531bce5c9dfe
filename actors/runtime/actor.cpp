#include "actors/runtime/actor.hpp"

#include <exception>
#include <utility>

#include <kj/exception.h>

#include "actors/runtime/actor_shell.hpp"
#include "actors/runtime/failure.hpp"
#include "actors/runtime/message_types.hpp"
#include "actors/runtime/node_core.hpp"

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
    envelope.setRun(cause.run);
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
    : runtime_{context.runtime}, core_{core_of(context.runtime)}, self_{context.self},
      name_{std::move(context.name)}, run_{context.run} {}

actor::~actor() = default;

void actor::quit() {
    shell().quit();
}

void actor::quit(error why) {
    shell().quit(to_caf(why));
}

void actor::end() {
    current_ = nullptr;
    try {
        on_end();
    } catch (const std::exception&) {
        core_.counters().add_failed();
    }
    for (const auto& [ours, theirs] : timers_)
        core_.options().timers->cancel(theirs);
    timers_.clear();
    handlers_.clear();
}

actor_shell& actor::shell() const {
    TROUPE_CHECK(shell_ != nullptr, "an actor sends and quits from on_start on, not before");
    return *shell_;
}

// ---- receiving ----

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
        core_.counters().add_malformed();
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

// ---- sending ----

void actor::add_handler(std::uint64_t type, handler h) {
    TROUPE_CHECK(runtime_.options().messages->find(type) != nullptr,
                 "a message type is in a list that the node was started with");
    for (const auto& [known, take] : handlers_)
        TROUPE_CHECK(known != type, "a message type has one handler");
    handlers_.emplace_back(type, std::move(h));
}

message_cause actor::cause() const {
    if (!current_)
        return {.run = run_};
    return {.sequence = envelope_.getSequence(),
            .node = node_id{envelope_.getFrom().getNode()},
            .trace_id = envelope_.getTraceId(),
            .run = run_ != 0 ? run_ : envelope_.getRun()};
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
    const route_outcome outcome = core_.route(std::move(f), to, sent_ns, shell().context());
    // Messages of the node itself (heartbeats above all) still go out; they are few.
    const bool serves_node = self_.actor < well_known::first_free;
    if (outcome.status == send_status::congested && !serves_node)
        core_.peers().park(shell(), outcome.peer, outcome.epoch);
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

void actor::trace_compute(std::uint64_t label, time_point started, time_point ended, work_id work,
                          state_version state, std::uint64_t device_bytes) {
    const message_cause because = cause();
    core_.trace().record({.kind = trace_kind::compute,
                          .type = label,
                          .from_node = self_.node,
                          .to_actor = self_.actor,
                          .sequence = because.sequence,
                          .cause_node = because.node,
                          .trace_id = because.trace_id,
                          .work = work,
                          .state = state,
                          .bytes = device_bytes,
                          .run = run_,
                          .started_ns = started.ns,
                          .ended_ns = ended.ns});
    device_ns_.store(device_ns_.load(std::memory_order_relaxed) +
                         static_cast<std::uint64_t>((ended - started).count()),
                     std::memory_order_relaxed);
}

} // namespace troupe
