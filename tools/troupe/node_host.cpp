#include "tools/troupe/node_host.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "actors/agent/node_agent.hpp"
#include "actors/cluster/cluster_actor.hpp"
#include "actors/run/run_messages.hpp"
#include "actors/runtime/inspector_agent.hpp"
#include "actors/runtime/timers.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "kernels/cpu/instruction_set.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "tools/troupe/cluster_access.hpp"
#include "tools/troupe/device_choice.hpp"
#include "tools/troupe/handed_over.hpp"
#include "tools/troupe/job.hpp"
#include "tools/troupe/signals.hpp"
#include "transport/node/node_endpoint.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe::cli {

namespace {

constexpr unsigned io_index = 1024; // beyond those of the devices

// Asks the cluster actor of its node for the members and hands the answer over.
class member_question final : public actor {
  public:
    using answer = handed_over<result<std::vector<member_info>>>;

    member_question(actor_context& context, std::shared_ptr<answer> to)
        : actor{context}, to_{std::move(to)} {
        on<proto::MemberList>(&member_question::take);
    }

  private:
    void on_start() override {
        send({self().node, well_known::cluster}, frame_builder<proto::ListMembers>{});
    }
    void take(proto::MemberList::Reader body, const frame&) {
        to_->give(read_members(body.getMembers()));
        quit();
    }

    std::shared_ptr<answer> to_;
};

// A name reads well in addresses (NODE/cpu:0), on terminals and in files.
bool fits_names(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

std::string fit_name(std::string text) {
    std::ranges::replace_if(text, std::not_fn(fits_names), '-');
    return text.substr(0, limits::name_bytes_max / 2);
}

// Stable where address and port are, and another one for every node that can be in one cluster.
std::string default_name(const std::string& listen) {
    const std::size_t colon = listen.rfind(':');
    const auto address = resolve(listen);
    const bool is_own = address && !address->is_loopback() && !address->is_any();
    const std::string port = listen.substr(colon + 1);
    return (is_own ? fit_name(listen.substr(0, colon)) : host_name()) + "-" +
           (port == "0" ? std::to_string(getpid()) : fit_name(port));
}

result<void> check_name(const std::string& name) {
    const bool fits = !name.empty() && name.size() <= limits::name_bytes_max &&
                      std::ranges::all_of(name, fits_names);
    if (!fits)
        return error{errc::usage, "--name: a node's name has 1 to " +
                                      std::to_string(limits::name_bytes_max) +
                                      " letters, digits, '-', '_' or '.'"};
    return {};
}

} // namespace

std::string host_name() {
    char host[limits::name_bytes_max / 2] = "node";
    gethostname(host, sizeof host - 1);
    return fit_name(host);
}

std::string attach_command(const std::string& address, const node_choice& node) {
    const auto listening = resolve(address);
    return "troupe inspect " +
           (listening && listening->is_any() ? "HOST" + address.substr(address.rfind(':'))
                                             : address) +
           (node.access.key_file.empty() ? "" : " --key " + node.access.key_file) +
           (node.access.transport == "auto" ? "" : " --transport " + node.access.transport) +
           (node.access.plain ? " --plain" : "");
}

struct node_host::parts {
    monotonic_time time;
    std::shared_ptr<cuda_module> gpus; // if there are devices of it: they and the pool come from it
    unsigned first_gpu = 0;
    std::unique_ptr<memory_pool> pool; // what arrives from peers
    std::vector<std::shared_ptr<device>> devices;
    std::map<std::string, std::string> models; // of GPUs, by device
    std::shared_ptr<device> io;
    access_choice access;
    peer_role own_role = peer_role::member;
    std::shared_ptr<key_ring> keys;
    std::unique_ptr<endpoint> network;
    std::unique_ptr<thread_timers> timers;
    std::unique_ptr<node_runtime> runtime;
    std::string name;
    std::vector<std::string> unreached; // a sentence for each member without a connection

    ~parts() {
        if (runtime)
            runtime->stop();
        runtime.reset();
        network.reset();
        // Work that a device's thread has begun may hold memory of other devices.
        for (const auto& d : devices)
            drain(*d);
        if (io)
            drain(*io);
    }

    // The memory of batches and of what arrives: GPUs copy from it by themselves. Null, for ordinary memory, without GPUs.
    std::unique_ptr<memory_source> host_memory() const {
        return gpus ? gpus->pinned_memory(first_gpu) : nullptr;
    }

    result<void> make_devices(const node_choice& choice);
    result<node_id> make_network(const node_host_options& options);
    result<void> join(const node_host_options& options);
};

result<void> node_host::parts::make_devices(const node_choice& choice) {
    const std::uint64_t bytes = choice.memory_mb << 20;
    const auto chosen = choice.devices.empty() ? device_choice{} : parse_devices(choice.devices);
    if (!chosen)
        return chosen.failure();
    if (!chosen->gpus.empty()) {
        auto opened = open_gpus(chosen->gpus);
        if (!opened)
            return opened.failure();
        gpus = std::move(*opened);
        const auto there = gpus->gpus();
        if (!there)
            return there.failure();
        first_gpu = chosen->gpus[0];
        for (const unsigned gpu : chosen->gpus) {
            auto made = gpus->make_device({.index = gpu,
                                           .memory_bytes_max = choice.gpu_memory_mb << 20,
                                           .host_bytes_max = bytes},
                                          time);
            if (!made)
                return made.failure().in("cuda:" + std::to_string(gpu));
            if (const std::string& model = there->at(gpu).name;
                is_printable_name(model, limits::name_bytes_max))
                models[(*made)->name()] = model;
            devices.push_back(std::move(made).value());
        }
    } else if (choice.gpu_memory_mb > 0) {
        return error{errc::usage,
                     "--gpu-memory-mb is for GPUs; name one as well: --devices cuda:0"};
    }
    for (unsigned i = 0; i < chosen->cpus; ++i) {
        auto made = make_cpu_device({.index = i, .memory_bytes_max = bytes}, time, host_memory());
        if (!made)
            return made.failure();
        devices.push_back(std::move(made).value());
    }
    auto made =
        make_cpu_device({.index = io_index, .memory_bytes_max = bytes}, time, host_memory());
    if (!made)
        return made.failure();
    io = std::move(made).value();
    return {};
}

// The id of the node that has the network.
result<node_id> node_host::parts::make_network(const node_host_options& options) {
    const node_choice& choice = options.node;
    auto opened = open_access(choice.access, options.role, choice.listen);
    if (!opened)
        return opened.failure();
    access = choice.access;
    own_role = options.role;
    keys = std::make_shared<key_ring>(std::move(opened->keys));
    const std::uint64_t bytes = choice.memory_mb << 20;
    auto source = host_memory();
    pool = source ? std::make_unique<memory_pool>(bytes, std::move(source), memory_kind::host)
                  : std::make_unique<memory_pool>(bytes);
    endpoint_options own;
    own.self = {{}, name, choice.listen, options.role};
    const node_id id = own.identity.node();
    own.keys = keys;
    own.links.pool = pool.get();
    own.links.time = &time;
    own.transports = opened->transports;
    own.seals = opened->seals;
    own.log = options.log;
    // A run ends with short messages; a peer that hangs must not keep its user waiting.
    if (options.role == peer_role::client)
        own.links.drain_timeout = std::chrono::seconds{1};
    auto made = make_node_endpoint(std::move(own));
    if (!made)
        return made.failure();
    network = std::move(made).value();
    return id;
}

result<void> node_host::parts::join(const node_host_options& options) {
    const node_choice& choice = options.node;
    auto joined = std::make_shared<handed_over<result<std::vector<unreached_member>>>>();
    cluster_options cluster;
    cluster.role = options.role;
    cluster.log = options.log;
    for (const auto& d : devices)
        cluster.devices.push_back({d->name(), d->memory().bytes_max(), models[d->name()],
                                   d->memory().kind() == memory_kind::host
                                       ? cpu::name_of_instruction_set()
                                       : std::string{}});
    if (!choice.join.empty()) {
        auto at = looked_up(choice.join);
        if (!at)
            return at.failure().in("cannot join the cluster at " + choice.join);
        cluster.join = *at;
    }
    cluster.heartbeat = choice.heartbeat;
    cluster.joined = [joined](const auto& outcome) { joined->give(outcome); };
    runtime->spawn_as<cluster_actor>(well_known::cluster, "cluster", std::move(cluster));
    std::vector<role> roles;
    for (const job_kind& kind : options.jobs)
        for (const role& r : kind.roles) {
            TROUPE_CHECK(std::ranges::find(roles, r.name, &role::name) == roles.end(),
                         "roles of all kinds of jobs have different names");
            roles.push_back(r);
        }
    runtime->spawn_as<node_agent>(well_known::agent, "agent",
                                  node_agent_options{std::move(roles), devices, io, options.log});
    for (const job_kind& kind : options.jobs)
        if (kind.services)
            kind.services(*runtime, devices);
    std::vector<watched_pool> pools;
    for (const auto& d : devices)
        pools.push_back({d->name(), &d->memory()});
    pools.push_back({"io", &io->memory()});
    pools.push_back({"network", pool.get()});
    runtime->spawn_as<inspector_agent>(well_known::inspector, "inspector", std::move(pools));
    if (auto started = runtime->start(); !started)
        return started.failure();
    const auto outcome = joined->wait();
    if (!outcome)
        return outcome.failure();
    if (!*outcome)
        return outcome->failure();
    for (const unreached_member& m : **outcome)
        unreached.push_back(unreached_text(m));
    return {};
}

node_host::node_host(std::unique_ptr<parts> p) : parts_{std::move(p)} {}
node_host::~node_host() = default;

result<std::unique_ptr<node_host>> node_host::start(const node_host_options& options) {
    auto p = std::make_unique<parts>();
    const node_choice& choice = options.node;
    p->name = choice.name.empty() ? default_name(choice.listen) : choice.name;
    if (auto fits = check_name(p->name); !fits)
        return fits.failure();
    if (auto made = p->make_devices(choice); !made)
        return made.failure();
    const auto id = p->make_network(options);
    if (!id)
        return id.failure();
    p->timers = std::make_unique<thread_timers>();
    node_options node;
    node.node = *id;
    node.name = p->name;
    node.time = &p->time;
    node.timers = p->timers.get();
    node.network = p->network.get();
    node.tracing = options.tracing;
    node.trace_events = options.trace_events;
    std::vector<message_type> messages;
    append(messages, run_messages{});
    for (const job_kind& kind : options.jobs)
        messages.insert(messages.end(), kind.messages.begin(), kind.messages.end());
    node.messages = std::make_shared<const message_catalog>(std::move(messages));
    p->runtime = std::make_unique<node_runtime>(std::move(node));
    if (auto joined = p->join(options); !joined)
        return joined.failure();
    return std::unique_ptr<node_host>{new node_host{std::move(p)}};
}

node_runtime& node_host::runtime() noexcept {
    return *parts_->runtime;
}
const time_source& node_host::time() const noexcept {
    return parts_->time;
}
std::string node_host::address() const {
    return parts_->network->address();
}
const std::vector<std::string>& node_host::unreached() const noexcept {
    return parts_->unreached;
}
const std::string& node_host::name() const noexcept {
    return parts_->name;
}
std::shared_ptr<device> node_host::io() {
    return parts_->io;
}

result<void> node_host::read_keys_again() {
    auto keys = open_keys(parts_->access, parts_->own_role, address());
    if (!keys)
        return keys.failure();
    parts_->keys->replace(std::move(*keys));
    return {};
}

result<std::vector<member_info>> node_host::members() {
    auto answer = std::make_shared<member_question::answer>();
    parts_->runtime->spawn<member_question>("member-question", answer);
    auto given = answer->wait();
    if (!given)
        return given.failure();
    if (!*given)
        return given->failure();
    std::vector<member_info> members = std::move(**given);
    std::ranges::sort(members, {}, &member_info::name);
    return members;
}

std::vector<plan_device> devices_of(const std::vector<member_info>& members) {
    std::vector<plan_device> devices;
    for (std::size_t round = 0;; ++round) {
        const std::size_t before = devices.size();
        for (const member_info& m : members)
            if (round < m.devices.size())
                devices.push_back({.node = m.node,
                                   .node_name = m.name,
                                   .device = m.devices[round].name,
                                   .memory_bytes = m.devices[round].memory_bytes,
                                   .instruction_set = m.devices[round].instruction_set});
        if (devices.size() == before)
            break;
    }
    std::ranges::stable_partition(devices, is_gpu);
    return devices;
}

} // namespace troupe::cli
