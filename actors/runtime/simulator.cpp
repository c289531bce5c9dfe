#include "actors/runtime/simulator.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

namespace troupe {

// Virtual timers of one node, which rest while the node is stopped.
class simulator::node_timers final : public timer_service {
  public:
    explicit node_timers(event_queue& events) : events_{events} {}

    timer_id after(duration delay, std::function<void()> callback) override {
        const timer_id timer = last_ = last_.next();
        scheduled_[timer] =
            events_.schedule_after(delay, [this, timer, run = std::move(callback)]() mutable {
                if (stopped_) {
                    late_.emplace_back(timer, std::move(run));
                } else if (scheduled_.erase(timer) > 0) {
                    run();
                }
            });
        return timer;
    }

    bool cancel(timer_id timer) override {
        const auto found = scheduled_.find(timer);
        if (found == scheduled_.end())
            return false;
        events_.cancel(found->second);
        scheduled_.erase(found);
        return true;
    }

    void stop() { stopped_ = true; }

    // Timers that became due meanwhile fire now, in order.
    void resume() {
        stopped_ = false;
        for (auto& [timer, run] : std::exchange(late_, {}))
            if (scheduled_.erase(timer) > 0)
                run();
    }

    void clear() {
        for (const auto& [timer, event] : scheduled_)
            events_.cancel(event);
        scheduled_.clear();
    }

  private:
    event_queue& events_;
    std::map<timer_id, event_id> scheduled_;
    std::deque<std::pair<timer_id, std::function<void()>>> late_;
    timer_id last_;
    bool stopped_ = false;
};

struct simulator::sim_node {
    enum class life : std::uint8_t { running, stopped, dead };

    explicit sim_node(event_queue& events) : timers{events} {}

    bool may_run() const { return state == life::running && runtime->runnable() > 0; }

    node_timers timers;
    std::unique_ptr<endpoint> network;
    std::unique_ptr<node_runtime> runtime; // ends before the members that it uses
    life state = life::running;
    time_point busy_until;
    std::uint64_t trace_cursor = 0;
    std::uint64_t trace_hash = 0;
};

simulator::simulator(simulator_options options)
    : options_{std::move(options)}, random_{options_.seed, 0x73696du} {
    TROUPE_CHECK(options_.message_time.count() > 0,
                 "messages that take no time could stop virtual time");
    sim_network_options network = options_.network;
    network.seed = random_.next();
    network_ = std::make_unique<sim_network>(events_, network);
}

simulator::~simulator() {
    for (const auto& node : nodes_)
        node->runtime->stop();
}

node_runtime& simulator::add_node(const std::string& name, peer_role role) {
    return add_node(name, role, [](node_runtime&) {});
}

node_runtime& simulator::add_node(const std::string& name, peer_role role,
                                  const std::function<void(node_runtime&)>& prepare) {
    auto node = std::make_unique<sim_node>(events_);
    const node_id number{nodes_.size() + 1};
    node->network = network_->make_endpoint(
        {.self = {.node = number, .name = name, .address = "sim:" + name, .role = role},
         .key = "simulated",
         .bounds = options_.bounds});
    node->runtime =
        std::make_unique<node_runtime>(node_options{.node = number,
                                                    .name = name,
                                                    .time = &events_.time(),
                                                    .timers = &node->timers,
                                                    .network = node->network.get(),
                                                    .messages = options_.messages,
                                                    .mode = scheduling::stepped,
                                                    .trace_events = options_.trace_events});
    prepare(*node->runtime);
    const auto started = node->runtime->start();
    TROUPE_CHECK(started.ok(), "nodes of a simulation have different names");
    return *nodes_.emplace_back(std::move(node))->runtime;
}

sim_device& simulator::add_device(const node_runtime& node, sim_device_options options,
                                  operations& ops) {
    sim_node& owner = find(node);
    options.seed = random_.next();
    return *devices_.emplace_back(
        std::make_unique<sim_device>(std::move(options), ops, events_.time(), owner.timers));
}

simulator::sim_node& simulator::find(const node_runtime& node) {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                    [&](const auto& n) { return n->runtime.get() == &node; });
    TROUPE_CHECK(found != nodes_.end(), "a node of this simulation");
    return **found;
}

// ---- running ----

bool simulator::run_until(const std::function<bool()>& done, duration limit) {
    const time_point end = now() + limit;
    while (!done()) {
        const auto next = next_time();
        if (!next || *next > end)
            return false;
        step();
    }
    return true;
}

void simulator::run_for(duration time) {
    const time_point end = now() + time;
    for (auto next = next_time(); next && *next <= end; next = next_time())
        step();
    events_.run_until(end);
}

std::optional<time_point> simulator::next_time() const {
    std::optional<time_point> next = events_.next_time();
    for (const auto& node : nodes_)
        if (node->may_run()) {
            const time_point turn = std::max(node->busy_until, now());
            next = next ? std::min(*next, turn) : turn;
        }
    return next;
}

bool simulator::step() {
    if (step_node())
        return true;
    const auto next = next_time();
    if (!next)
        return false;
    events_.run_until(*next);
    return true;
}

bool simulator::step_node() {
    std::size_t choices = 0;
    for (const auto& node : nodes_)
        if (node->may_run() && node->busy_until <= now())
            choices += node->runtime->runnable();
    if (choices == 0)
        return false;
    std::size_t choice = random_.below(choices);
    for (const auto& node : nodes_) {
        if (!node->may_run() || node->busy_until > now())
            continue;
        const std::size_t runnable = node->runtime->runnable();
        if (choice >= runnable) {
            choice -= runnable;
            continue;
        }
        node->runtime->run_one(choice);
        node->busy_until = now() + options_.message_time;
        ++steps_;
        if (node->runtime->trace().recorded() - node->trace_cursor > options_.trace_events / 2)
            fold_trace(*node);
        return true;
    }
    return false;
}

// ---- faults ----

void simulator::kill(const node_runtime& node) {
    sim_node& victim = find(node);
    victim.state = sim_node::life::dead;
    network_->kill(node.node());
    victim.runtime->cut_off();
    victim.runtime->stop();
    victim.timers.clear();
}

void simulator::stop(const node_runtime& node) {
    sim_node& victim = find(node);
    victim.state = sim_node::life::stopped;
    victim.timers.stop();
    network_->stop(node.node());
}

void simulator::resume(const node_runtime& node) {
    sim_node& sleeper = find(node);
    TROUPE_CHECK(sleeper.state == sim_node::life::stopped, "only a stopped node is resumed");
    sleeper.state = sim_node::life::running;
    network_->resume(node.node());
    sleeper.timers.resume();
}

void simulator::partition(const node_runtime& a, const node_runtime& b) {
    network_->cut(a.node(), b.node());
}

void simulator::heal() {
    network_->heal();
}

// ---- trace ----

void simulator::fold_trace(sim_node& node) {
    const trace_batch batch =
        node.runtime->trace().read(node.trace_cursor, node.runtime->trace().capacity());
    TROUPE_CHECK(batch.lost == 0, "the trace is read before it is overwritten");
    for (const trace_event& event : batch.events) {
        std::uint64_t words[sizeof event / sizeof(std::uint64_t)];
        std::memcpy(words, &event, sizeof event);
        for (const std::uint64_t word : words) {
            std::uint64_t mixed = node.trace_hash ^ word;
            node.trace_hash = split_mix(mixed);
        }
    }
    node.trace_cursor = batch.next;
}

std::uint64_t simulator::trace_hash() {
    std::uint64_t all = nodes_.size();
    for (const auto& node : nodes_) {
        fold_trace(*node);
        std::uint64_t mixed = all ^ node->trace_hash;
        all = split_mix(mixed);
    }
    return all;
}

} // namespace troupe
