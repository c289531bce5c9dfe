// node: offers this machine's devices until it is told to stop.
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <deque>
#include <iostream>
#include <mutex>

#include "schemas/base/json.hpp"
#include "schemas/base/printable.hpp"
#include "tools/troupe/device_choice.hpp"
#include "tools/troupe/node_host.hpp"
#include "tools/troupe/process_start.hpp"
#include "tools/troupe/signals.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe::cli {

namespace {

// "2026-11-21 17:33:01Z"
std::string time_of_day() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", gmtime_r(&now, &parts));
    return text;
}

// The log of the node's actors on standard error: they hand over sentences, which the command's own thread writes as they
// are read.
class node_log {
  public:
    void say(const std::string& sentence) {
        const std::lock_guard guard{lock_};
        if (waiting_.size() < waiting_max)
            waiting_.push_back(time_of_day() + ' ' + sentence);
    }

    void print() {
        pollfd output{STDERR_FILENO, POLLOUT, 0};
        for (auto next = take(); next; next = take()) {
            while (poll(&output, 1, 0) == 0) { // nobody reads it
                if (stop_signals() > 0)
                    return;
                poll(nullptr, 0, log_interval_ms);
            }
            std::cerr << "troupe: " << printable(*next, 1024) << std::endl;
        }
    }

    static constexpr int log_interval_ms = 100;

  private:
    static constexpr std::size_t waiting_max = 1000;

    std::optional<std::string> take() {
        const std::lock_guard guard{lock_};
        if (waiting_.empty())
            return std::nullopt;
        std::string first = std::move(waiting_.front());
        waiting_.pop_front();
        return first;
    }

    std::mutex lock_;
    std::deque<std::string> waiting_; // guarded by lock_
};

// The nodes of other machines connect to every newcomer, and loopback is where they would find themselves.
result<void> check_reachable(const node_choice& node) {
    if (node.join.empty())
        return {};
    const auto listen = resolve(node.listen);
    const auto join = resolve(node.join);
    if (!listen || !join) // who listens and joins says what is wrong with them
        return {};
    if (!listen->is_loopback() || join->is_loopback() || join->is_any())
        return {};
    const auto own = address_towards(node.join);
    return error{errc::usage, "--listen: the cluster at " + node.join +
                                  " cannot reach a node that listens on " + node.listen +
                                  "; give an address of this machine" +
                                  (own ? ", as in --listen " + *own : std::string{})};
}

// The sentence for the log on what has become of the keys.
std::string after_hangup(node_host& host, const access_choice& access) {
    const auto read = host.read_keys_again();
    return read ? "new connections use the keys that are in " + access.key_file + " now"
                : "SIGHUP: the keys stay as they were: " + read.failure().message();
}

} // namespace

int node(const node_options_cli& options, job_table jobs) {
    if (options.node.devices.empty())
        return report({errc::usage, "--devices: a node offers at least one device, as in cpu:1"});
    note_hangups(); // a node serves other terminals than the one that it was started from
    if (options.node.heartbeat.timeout < 2 * options.node.heartbeat.interval)
        return report(
            {errc::usage, "--heartbeat-timeout-ms: must be at least twice --heartbeat-ms"});
    if (options.node.heartbeat.run_timeout < options.node.heartbeat.timeout)
        return report({errc::usage, "--run-timeout-ms: must be at least --heartbeat-timeout-ms"});
    if (auto reachable = check_reachable(options.node); !reachable)
        return report(reachable.failure());
    node_log log; // outlives the host
    node_host_options hosting{.jobs = jobs, .node = options.node, .tracing = !options.no_trace};
    if (!options.quiet)
        hosting.log = [&log](const std::string& sentence) { log.say(sentence); };
    auto host = node_host::start(hosting);
    if (!host)
        return host.failure().code() == errc::cancelled ? 0 : report(host.failure());
    node_host& running = **host;
    if (options.json)
        std::cout << json{{"event", "listening"},
                          {"name", running.name()},
                          {"address", running.address()},
                          {"devices", options.node.devices}}
                         .dump()
                  << std::endl;
    else
        std::cout << "node " << running.name() << " listens on " << running.address()
                  << ", devices " << options.node.devices
                  << "; look at it with: " << attach_command(running.address(), options.node)
                  << std::endl;
    const std::string cores = note_of_cores(parse_devices(options.node.devices)->cpus);
    if (!options.quiet && !cores.empty())
        log.say("note: " + cores);
    if (const std::string unused = note_of_settings(); !unused.empty())
        log.say("note: " + unused);
    if (const std::string plain = note_of_plain(options.node.access); !plain.empty())
        log.say("note: " + plain);
    if (!options.quiet)
        for (const std::string& sentence : running.unreached())
            log.say(sentence + "; this node goes on trying for a day");
    pollfd signal{signal_descriptor(), POLLIN, 0};
    while (stop_signals() == 0) {
        poll(&signal, 1, options.quiet ? -1 : node_log::log_interval_ms);
        if (take_hangup() && !options.node.access.key_file.empty())
            log.say(after_hangup(running, options.node.access));
        log.print();
    }
    if (!options.quiet)
        log.say(std::string{"stopping: SIG"} + sigabbrev_np(last_signal()));
    log.print();
    return 0;
}

} // namespace troupe::cli
