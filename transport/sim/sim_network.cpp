#include "transport/sim/sim_network.hpp"

#include <algorithm>

#include "transport/sim/sim_state.hpp"

namespace troupe {

namespace sim {

namespace {

constexpr std::uint64_t packet_header_bytes = 64;
constexpr duration alive_interval = std::chrono::milliseconds{500};

std::pair<node_id, node_id> unordered(node_id a, node_id b) {
    return std::minmax(a, b);
}

} // namespace

const sim_faults& network::faults_between(node_id from, node_id to) const {
    const auto own = faults.find({from, to});
    return own != faults.end() ? own->second : options_.faults;
}

host* network::host_of(node_id node) {
    const auto found = hosts.find(node);
    return found != hosts.end() ? found->second.get() : nullptr;
}

host* network::listening_at(const std::string& address) {
    host* gone =
        nullptr; // the latest one whose process has died there: its machine answers, or not
    for (const auto& [node, h] : hosts) {
        if (h->options().self.address != address)
            continue;
        if (h->state() == host::life::running)
            return h.get();
        if (h->state() == host::life::dead || h->state() == host::life::off)
            gone = h.get();
    }
    return gone;
}

duration network::round_trip_max(node_id a, node_id b) const {
    duration queued{};
    for (const auto& direction : {std::pair{a, b}, std::pair{b, a}})
        if (const auto busy = busy_until_.find(direction); busy != busy_until_.end())
            queued = std::max(queued, busy->second - events_.now());
    return faults_between(a, b).delay_max + faults_between(b, a).delay_max + 2 * queued;
}

std::uint64_t network::bytes_moved(node_id a, node_id b) const {
    double moved = 0;
    for (const auto& direction : {std::pair{a, b}, std::pair{b, a}}) {
        if (const auto taken = bytes_taken_.find(direction); taken != bytes_taken_.end())
            moved += taken->second;
        const auto busy = busy_until_.find(direction);
        if (busy != busy_until_.end() && busy->second > events_.now())
            moved -= static_cast<double>((busy->second - events_.now()).count()) / 1e9 *
                     faults_between(direction.first, direction.second).bytes_per_second;
    }
    return static_cast<std::uint64_t>(std::max(moved, 0.0));
}

void network::transmit(packet p) {
    ++statistics.packets_sent;
    const sim_faults& f = faults_between(p.from, p.to);
    if (cuts.contains(unordered(p.from, p.to)) || random_.uniform() < f.drop) {
        ++statistics.packets_dropped;
        return;
    }
    duration queued{};
    const double bytes = static_cast<double>(packet_header_bytes + p.item.bytes);
    bytes_taken_[{p.from, p.to}] += bytes;
    if (f.bytes_per_second > 0) {
        time_point& busy = busy_until_[{p.from, p.to}];
        const time_point begin = std::max(busy, events_.now());
        busy = begin + duration{static_cast<std::int64_t>(bytes / f.bytes_per_second * 1e9)};
        queued = busy - events_.now();
        tell_alive(p, begin, busy);
    }
    const int copies = random_.uniform() < f.duplicate ? 2 : 1;
    statistics.packets_duplicated += static_cast<std::uint64_t>(copies - 1);
    const auto span = static_cast<std::uint64_t>((f.delay_max - f.delay_min).count());
    for (int copy = 0; copy < copies; ++copy) {
        const duration delay = f.delay_min + duration{random_.below(span + 1)};
        events_.schedule_after(queued + delay, [this, p] {
            if (host* h = host_of(p.to))
                h->arrive(p);
        });
    }
}

// While a packet takes long to arrive, tells the receiver that its sender is alive, if it is and no cut separates them.
void network::tell_alive(const packet& p, time_point begin, time_point end) {
    for (time_point at = begin + alive_interval; at < end; at = at + alive_interval)
        events_.schedule_at(at, [this, link = p.link, from = p.from, to = p.to] {
            const host* sender = host_of(from);
            host* receiver = host_of(to);
            if (sender->acts() && receiver != nullptr && !cuts.contains(unordered(from, to)))
                receiver->hear(link);
        });
}

} // namespace sim

namespace {

class sim_endpoint final : public endpoint {
  public:
    sim_endpoint(const sim::network& net, std::shared_ptr<sim::host> h)
        : net_{net}, host_{std::move(h)} {}
    ~sim_endpoint() override { host_->close(); }

    result<void> start(endpoint_listener& listener) override { return host_->start(listener); }
    std::string address() const override { return host_->options().self.address; }
    void connect(const std::string& address) override { host_->connect(address); }
    send_status send(node_id peer, frame_ptr f) override { return host_->send(peer, std::move(f)); }
    bool expect(node_id peer, frame_place place) override {
        named_places* const places = host_->places_of(peer);
        return places != nullptr && places->add(std::move(place));
    }
    void forget(node_id peer, actor_number actor) override {
        if (named_places* const places = host_->places_of(peer))
            places->remove(actor);
    }
    std::uint64_t bytes_moved(node_id peer) const override {
        return host_->places_of(peer) != nullptr
                   ? net_.bytes_moved(host_->options().self.node, peer)
                   : 0;
    }
    void disconnect(node_id peer, error why) override { host_->disconnect(peer, std::move(why)); }
    void close() override { host_->close(); }
    endpoint_statistics statistics() const override { return host_->statistics(); }

  private:
    const sim::network& net_;
    std::shared_ptr<sim::host> host_;
};

} // namespace

sim_network::sim_network(event_queue& events, sim_network_options options)
    : state_{std::make_shared<state>(events, options)} {
    set_faults(state_->options().faults);
}

sim_network::~sim_network() = default;

std::unique_ptr<endpoint> sim_network::make_endpoint(sim_node_options options) {
    const node_id node = options.self.node;
    options.self.over = "the simulated network";
    auto h = std::make_shared<sim::host>(*state_, std::move(options));
    TROUPE_CHECK(state_->hosts.emplace(node, h).second,
                 "node ids are unique in a simulated network");
    return std::make_unique<sim_endpoint>(*state_, std::move(h));
}

void sim_network::set_faults(const sim_faults& faults) {
    TROUPE_CHECK(faults.delay_min <= faults.delay_max, "a delay lies between its bounds");
    state_->set_default_faults(faults);
}

void sim_network::set_faults(node_id from, node_id to, const sim_faults& faults) {
    TROUPE_CHECK(faults.delay_min <= faults.delay_max, "a delay lies between its bounds");
    state_->faults[{from, to}] = faults;
}

void sim_network::cut(node_id a, node_id b) {
    state_->cuts.insert(sim::unordered(a, b));
}
void sim_network::heal(node_id a, node_id b) {
    state_->cuts.erase(sim::unordered(a, b));
}
void sim_network::heal() {
    state_->cuts.clear();
}

namespace {

sim::host& host_named(sim::network& net, node_id node) {
    sim::host* h = net.host_of(node);
    TROUPE_CHECK(h != nullptr, "the node has an endpoint in this network");
    return *h;
}

} // namespace

void sim_network::kill(node_id node) {
    host_named(*state_, node).die(sim::host::life::dead);
}
void sim_network::power_off(node_id node) {
    host_named(*state_, node).die(sim::host::life::off);
}
void sim_network::stop(node_id node) {
    host_named(*state_, node).stop();
}
void sim_network::resume(node_id node) {
    host_named(*state_, node).resume();
}
sim_network_statistics sim_network::statistics() const {
    return state_->statistics;
}

} // namespace troupe
