#include "actors/runtime/node_core.hpp"

#include <algorithm>
#include <thread>

#include <caf/atom.hpp>
#include <caf/logger.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

#include "actors/runtime/actor_names.hpp"
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
      tails_{std::make_unique<tail_set>(*this)} {
    TROUPE_CHECK(options_.node.value() != 0, "a node has an id");
    TROUPE_CHECK(options_.time != nullptr && options_.timers != nullptr,
                 "a node has a clock and timers");
    configure(config_, options_);
    system_ = std::make_unique<caf::actor_system>(config_);
    // CAF leaves a reference to the system's logger in a thread-local of this thread, and the end of the system waits for
    // the last one: if another thread stopped the node, it would wait until this one has ended.
    caf::logger::set_current_actor_system(nullptr);
    if (options_.mode == scheduling::threads)
        arrivals_ = std::make_unique<arrival_unit>(*system_);
}

node_core::~node_core() = default;

node_statistics node_core::statistics() const {
    return {.frames_rejected = rejected_,
            .bodies_malformed = malformed_,
            .frames_misrouted = misrouted_,
            .frames_lost = lost_,
            .actors_failed = failed_};
}

// ---- life ----

result<void> node_core::start() {
    if (options_.network != nullptr)
        if (auto listening = options_.network->start(*this); !listening)
            return listening;
    const std::lock_guard guard{peers_lock_};
    listening_ = true;
    for (const actor_address subscriber : subscribers_)
        tell_listening(subscriber);
    return {};
}

void node_core::stop() {
    std::vector<caf::strong_actor_ptr> living;
    {
        const std::unique_lock guard{table_lock_};
        if (stopping_)
            return;
        stopping_ = true;
        for (const auto& [number, handle] : table_)
            living.push_back(handle);
    }
    for (const auto& handle : living)
        owner_.end(actor_shell::of(handle).self(), stop_reason());
    living.clear();
    await_actors();
    if (listening_ && options_.network != nullptr)
        options_.network->close();

    std::map<node_id, peer> peers; // proxies go before the system that they belong to
    {
        const std::lock_guard guard{peers_lock_};
        peers.swap(peers_);
    }
    peers.clear();
    std::unique_ptr<caf::actor_system> system;
    {
        const std::unique_lock guard{table_lock_};
        closed_ = true;
        system = std::move(system_);
    }
    end_actor_system(std::move(system));
}

void node_core::await_actors() {
    if (options_.mode == scheduling::stepped) {
        while (runnable() > 0)
            run_one(0);
        TROUPE_CHECK(table_.empty(),
                     "an actor that is told to end has something to do until it has");
        return;
    }
    std::unique_lock guard{table_lock_};
    table_empty_.wait(guard, [this] { return table_.empty(); });
}

actor_address node_core::reserve(std::optional<actor_number> number) {
    const std::unique_lock guard{table_lock_};
    const actor_number mine = number ? *number : actor_number{next_number_++};
    TROUPE_CHECK(!table_.contains(mine), "a well-known number is given once");
    return {options_.node, mine};
}

actor_address node_core::launch(std::unique_ptr<actor> created) {
    const caf::strong_actor_ptr handle = actor_shell::make(*this, std::move(created));
    actor_shell& shell = actor_shell::of(handle);
    const actor_address self = shell.self();
    trace().name_actor(self.actor, shell.name());
    shell.deliver(nullptr, now_ns(), {}, nullptr); // delivers its start before any message
    bool late = false;
    {
        const std::unique_lock guard{table_lock_};
        TROUPE_CHECK(table_.emplace(self.actor, handle).second, "an actor number is used once");
        late = stopping_;
    }
    release_to_caf(&shell);
    shell.launch(system_->dummy_execution_unit(), false, false);
    if (late)
        owner_.end(self, stop_reason());
    return self;
}

void node_core::forget(actor_number number) {
    caf::strong_actor_ptr last; // released without the lock
    const std::unique_lock guard{table_lock_};
    const auto found = table_.find(number);
    if (found == table_.end())
        return;
    last = std::move(found->second);
    table_.erase(found);
    if (table_.empty())
        table_empty_.notify_all();
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

// ---- local actors ----

std::optional<actor_address> node_core::address_of(const std::string& name) const {
    const std::shared_lock guard{table_lock_};
    for (const auto& [number, handle] : table_)
        if (is_called(actor_shell::of(handle).name(), name))
            return actor_shell::of(handle).self();
    return std::nullopt;
}

std::vector<actor_status> node_core::actors() const {
    std::vector<actor_status> list;
    const std::shared_lock guard{table_lock_};
    for (const auto& [number, handle] : table_)
        list.push_back(actor_shell::of(handle).status());
    return list;
}

caf::strong_actor_ptr node_core::find(actor_number number) const {
    const std::shared_lock guard{table_lock_};
    const auto found = table_.find(number);
    return found == table_.end() ? caf::strong_actor_ptr{} : found->second;
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
    const std::shared_lock guard{table_lock_}; // until the clock has been read
    if (closed_)
        return false;
    stamp(envelope, from, to);
    return true;
}

route_outcome node_core::route(frame_ptr f, actor_address to, std::int64_t now_ns,
                               caf::execution_unit* host) {
    if (to.node == options_.node) {
        local_outcome outcome{};
        {
            const std::shared_lock guard{table_lock_};
            outcome = deliver_local(f, to.actor, now_ns, {}, host);
        }
        if (outcome == local_outcome::delivered)
            return {};
        reject(*f, "there is no actor " + std::to_string(to.actor.value()) + " on this node", true);
        return {.status = send_status::gone};
    }
    route_outcome outcome{.peer = to.node};
    if (const caf::strong_actor_ptr proxy = proxy_of(to, &outcome.epoch))
        outcome.status =
            static_cast<remote_actor*>(caf::actor_cast<caf::abstract_actor*>(proxy))->deliver(f);
    else // there is no such peer, or it has as many proxies as allowed
        outcome.status = send_to_peer(to.node, f);
    if (outcome.status == send_status::gone)
        lost_.fetch_add(1, std::memory_order_relaxed);
    else if (outcome.status == send_status::too_large)
        reject(*f, wire::measure(*f).failure().message());
    return outcome;
}

void node_core::post(frame_ptr f, timer_id timer, caf::execution_unit* host) {
    const actor_address to = f->to();
    if (to.node != options_.node) {
        if (!closed_.load(std::memory_order_acquire))
            route(std::move(f), to, now_ns(), nullptr);
        return;
    }
    local_outcome outcome{};
    {
        const std::shared_lock guard{table_lock_};
        if (closed_)
            return;
        outcome = deliver_local(f, to.actor, now_ns(), timer, host);
    }
    if (outcome != local_outcome::delivered)
        reject(*f, "there is no actor " + std::to_string(to.actor.value()) + " on this node", true);
}

node_core::local_outcome node_core::deliver_local(const frame_ptr& f, actor_number to,
                                                  std::int64_t now_ns, timer_id timer,
                                                  caf::execution_unit* host) {
    const auto found = table_.find(to);
    if (found == table_.end())
        return local_outcome::absent;
    return actor_shell::of(found->second).deliver(f, now_ns, timer, host) == send_status::gone
               ? local_outcome::closed
               : local_outcome::delivered;
}

void node_core::reject(const frame& f, const std::string& reason, bool is_gone) {
    rejected_.fetch_add(1, std::memory_order_relaxed);
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
