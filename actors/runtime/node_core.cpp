#include "actors/runtime/node_core.hpp"

#include <algorithm>
#include <thread>

#include <caf/atom.hpp>
#include <caf/logger.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

#include "actors/runtime/actor_shell.hpp"
#include "actors/runtime/arrival_unit.hpp"
#include "actors/runtime/caf_order.hpp"
#include "actors/runtime/message_types.hpp"
#include "actors/runtime/remote_actor.hpp"
#include "actors/runtime/tail.hpp"
#include "transport/frame/wire.hpp"

namespace troupe {

namespace {

caf::scheduler::test_coordinator& stepper(caf::actor_system& system) {
    return static_cast<caf::scheduler::test_coordinator&>(system.scheduler());
}

void configure(caf::actor_system_config& config, const node_options& options) {
    if (options.mode == scheduling::stepped) {
        config.set("scheduler.policy", caf::atom("testing"));
        return;
    }
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    config.set("scheduler.max-threads", options.threads > 0 ? options.threads : cores);
    config.set("scheduler.max-throughput", limits::actor_batch_max);
    // CAF's workers look for work less often the longer they find none, and in the second of three phases they sleep
    // without a way to wake them, which delays a message from another thread by about 60 us.
    config.set("work-stealing.moderate-poll-attempts", std::size_t{0});
}

// Here CAF ends its own actors only, and tests/sanitizers/thread.txt names the function. ThreadSanitizer knows a function
// by the calls that it makes to functions it was compiled with, hence the first.
[[gnu::noinline]] void destroy(std::unique_ptr<caf::actor_system>& system) {
    system.reset();
}

[[gnu::noinline]] void end_actor_system(std::unique_ptr<caf::actor_system> system) {
    destroy(system);
}

node_options with_catalog(node_options options) {
    if (options.messages == nullptr)
        options.messages = std::make_shared<const message_catalog>();
    return options;
}

} // namespace

node_core::node_core(node_runtime& owner, node_options options)
    : owner_{owner}, options_{with_catalog(std::move(options))}, trace_{options_.trace_events},
      tails_{std::make_unique<tail_set>(*this)}, actors_{options_.node},
      peers_{[this](actor_address remote) { return remote_actor::make(*this, remote); }} {
    TROUPE_CHECK(options_.node.value() != 0, "a node has an id");
    TROUPE_CHECK(options_.time != nullptr && options_.timers != nullptr,
                 "a node has a time source and timers");
    configure(config_, options_);
    system_ = std::make_unique<caf::actor_system>(config_);
    // CAF leaves a reference to the system's logger in a thread-local of this thread, and the end of the system waits for
    // the last one: if another thread stopped the node, it would wait until this one has ended.
    caf::logger::set_current_actor_system(nullptr);
    if (options_.mode == scheduling::threads)
        arrivals_ = std::make_unique<arrival_unit>(*system_);
}

node_core::~node_core() = default;

// ---- life ----

result<void> node_core::start() {
    if (options_.network != nullptr)
        if (auto listening = options_.network->start(*this); !listening)
            return listening;
    peers_.begin_to_listen([this](actor_address subscriber) { tell_listening(subscriber); });
    return {};
}

void node_core::stop() {
    {
        const auto living = actors_.begin_to_stop();
        if (!living)
            return;
        for (const auto& handle : *living)
            owner_.end(actor_shell::of(handle).self(), stop_reason());
    }
    end_actors();
    if (peers_.is_listening() && options_.network != nullptr)
        options_.network->close();
    peers_.clear(); // proxies go before the system that they belong to
    actors_.close();
    end_actor_system(std::move(system_));
}

void node_core::end_actors() {
    if (options_.mode == scheduling::threads) {
        actors_.wait_until_empty();
        return;
    }
    while (runnable() > 0)
        run_one(0);
    TROUPE_CHECK(actors_.is_empty(),
                 "an actor that is told to end has something to do until it has");
}

actor_address node_core::launch(std::unique_ptr<actor> created) {
    const caf::strong_actor_ptr handle = actor_shell::make(*this, std::move(created));
    actor_shell& shell = actor_shell::of(handle);
    const actor_address self = shell.self();
    trace().name_actor(self.actor, shell.name());
    shell.deliver(nullptr, now_ns(), {}, nullptr); // delivers its start before any message
    const bool may_live = actors_.add(self.actor, handle);
    release_to_caf(&shell);
    shell.launch(system_->dummy_execution_unit(), false, false);
    if (!may_live)
        owner_.end(self, stop_reason());
    return self;
}

std::size_t node_core::runnable() const {
    return system_ ? stepper(*system_).jobs.size() : 0;
}

void node_core::run_one(std::size_t index) {
    auto& scheduler = stepper(*system_);
    TROUPE_CHECK(index < scheduler.jobs.size(), "one of the runnable actors");
    const auto chosen = scheduler.jobs.begin() + static_cast<std::ptrdiff_t>(index);
    std::rotate(scheduler.jobs.begin(), chosen, chosen + 1);
    scheduler.run_once();
}

// ---- frames ----

void node_core::stamp(proto::Envelope::Builder envelope, actor_number from, actor_address to) {
    envelope.getFrom().setNode(options_.node.value());
    envelope.getFrom().setActor(from.value());
    envelope.getTo().setNode(to.node.value());
    envelope.getTo().setActor(to.actor.value());
    envelope.setSequence(next_sequence());
    envelope.setSentNs(now_ns());
}

bool node_core::stamp_unless_closed(proto::Envelope::Builder envelope, actor_number from,
                                    actor_address to) {
    const auto open = actors_.keep_open(); // until the time has been read
    if (!open)
        return false;
    stamp(envelope, from, to);
    return true;
}

route_outcome node_core::route(frame_ptr f, actor_address to, std::int64_t now_ns,
                               caf::execution_unit* host) {
    if (to.node == options_.node) {
        if (actors_.deliver(f, to.actor, now_ns, host) == actor_table::outcome::delivered)
            return {};
        reject_absent(*f, to.actor);
        return {.status = send_status::gone};
    }
    const peer_table::path path = peers_.path_to(to);
    route_outcome outcome{.peer = to.node, .epoch = path.epoch};
    if (path.proxy)
        outcome.status =
            static_cast<remote_actor*>(caf::actor_cast<caf::abstract_actor*>(path.proxy))
                ->deliver(f);
    else // there is no such peer, or it has as many proxies as allowed
        outcome.status = send_to_peer(to.node, f);
    if (outcome.status == send_status::gone)
        counters_.add_lost();
    else if (outcome.status == send_status::too_large)
        reject(*f, wire::measure(*f).failure().message());
    return outcome;
}

void node_core::post(frame_ptr f, timer_id timer, caf::execution_unit* host) {
    const actor_address to = f->to();
    if (to.node != options_.node) {
        if (!actors_.is_closed())
            route(std::move(f), to, now_ns(), nullptr);
        return;
    }
    if (actors_.deliver_unless_closed(f, to.actor, *options_.time, timer, host) ==
        actor_table::outcome::absent)
        reject_absent(*f, to.actor);
}

void node_core::reject_absent(const frame& f, actor_number to) {
    reject(f, "there is no actor " + std::to_string(to.value()) + " on this node", true);
}

void node_core::reject(const frame& f, const std::string& reason, bool is_gone) {
    counters_.add_rejected();
    const actor_address sender = f.from();
    if (!sender || f.body_type() == type_id_of<proto::Rejected>() || sender == f.to())
        return;
    frame_builder<proto::Rejected> answer;
    answer.body().setSequence(f.envelope().getSequence());
    answer.body().setBodyType(f.body_type());
    answer.body().setReason(reason);
    answer.body().setGone(is_gone);
    answer.envelope().setCause(f.envelope().getSequence());
    answer.envelope().setCauseNode(sender.node.value());
    answer.envelope().setTraceId(f.envelope().getTraceId());
    answer.envelope().setRun(f.envelope().getRun());
    stamp(answer.envelope(), f.to().actor, sender);
    answer.envelope().getFrom().setNode(
        f.to().node.value()); // also for a peer that it cannot be sent to
    if (sender.node == options_.node)
        post(std::move(answer).finish());
    else // without a proxy: a sender named by a peer must not create one here
        send_to_peer(sender.node, std::move(answer).finish());
}

// ---- errors ----

caf::error to_caf(const error& e) {
    // CAF takes code 0 for "no error".
    return {static_cast<std::uint8_t>(static_cast<int>(e.code()) + 1), caf::atom("troupe"),
            caf::make_message(e.message())};
}

error from_caf(const caf::error& e, const std::string& who) {
    if (!e)
        return {errc::cancelled, who + " ended"};
    if (e.category() == caf::atom("troupe") && e.context().match_elements<std::string>())
        return {static_cast<errc>(e.code() - 1), e.context().get_as<std::string>(0)};
    return {errc::cancelled, who + " was ended: " + caf::to_string(e)};
}

} // namespace troupe
