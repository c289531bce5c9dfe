#include "tools/troupe/child_nodes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

constexpr int start_timeout_ms = 15000;
constexpr int stop_timeout_ms = 5000;
constexpr int look_every_ms = 10;

// In the child, after fork: only async-signal-safe calls until exec.
[[noreturn]] void become(const char* program, char* const* arguments, int output, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);  // the run died before we could ask to die with it
    setpgid(0, 0); // Ctrl-C goes to the run, which stops its nodes in order
    dup2(output, STDOUT_FILENO);
    execv(program, arguments);
    _exit(127);
}

// The first line that comes through `input`, without its end.
result<std::string> read_line(int input) {
    std::string line;
    for (;;) {
        pollfd readable{input, POLLIN, 0};
        const int ready = poll(&readable, 1, start_timeout_ms);
        if (ready < 0 && errno == EINTR)
            return error{errc::cancelled, "stopped"};
        if (ready <= 0)
            return error{errc::io, "a node process does not say where it listens"};
        char next = 0;
        if (read(input, &next, 1) != 1)
            return error{errc::io,
                         "a node process ended before it listened; it said why on standard error"};
        if (next == '\n')
            return line;
        line += next;
    }
}

} // namespace

result<std::unique_ptr<child_nodes>> child_nodes::start(const child_options& options) {
    std::unique_ptr<child_nodes> nodes{new child_nodes};
    for (std::uint32_t i = 0; i < options.nodes; ++i) {
        auto address = nodes->start_one(options, i);
        if (!address)
            return address.failure();
        nodes->addresses_.push_back(std::move(address).value());
    }
    return nodes;
}

result<std::string> child_nodes::start_one(const child_options& options, std::uint32_t index) {
    std::vector<std::string> words = {"troupe", "node", "--listen", "127.0.0.1:0", "--name",
                                      "node-" + std::to_string(index), "--devices", "cpu:1",
                                      "--transport", options.access.transport, "--memory-mb",
                                      std::to_string(options.memory_mb),
                                      // A run that is stopped is waited for: they end with it.
                                      "--run-timeout-ms", "86400000", "--quiet"};
    if (!options.access.key_file.empty()) {
        words.push_back("--key");
        words.push_back(options.access.key_file);
    }
    if (options.no_trace)
        words.push_back("--no-trace");
    for (const std::string& module : options.modules) {
        words.push_back("--program");
        words.push_back(module);
    }
    if (index > 0) {
        words.push_back("--join");
        words.push_back(addresses_.front());
    }
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);

    int channel[2];
    if (pipe2(channel, O_CLOEXEC) != 0)
        return error{errc::io, std::string{"cannot make a pipe: "} + std::strerror(errno)};
    const pid_t parent = getpid();
    // A bundle's program is started by another one, which finds its libraries.
    const char* const starter = std::getenv("TROUPE_PROGRAM");
    const char* const program = starter != nullptr ? starter : "/proc/self/exe";
    const pid_t child = fork();
    if (child == 0)
        become(program, arguments.data(), channel[1], parent);
    close(channel[1]);
    if (child < 0) {
        close(channel[0]);
        return error{errc::io, std::string{"cannot start a node process: "} + std::strerror(errno)};
    }
    {
        std::lock_guard guard{lock_};
        processes_.push_back(child);
    }
    auto line = read_line(channel[0]);
    close(channel[0]);
    if (!line)
        return line.failure();
    // "node NAME listens on HOST:PORT, ..."
    const std::string marker = " listens on ";
    const auto at = line->find(marker);
    if (at == std::string::npos)
        return error{errc::io, "a node process said '" + *line + "' instead of where it listens"};
    const auto begin = at + marker.size();
    return line->substr(begin, line->find_first_of(", ", begin) - begin);
}

void child_nodes::kill_at_second_signal() {
    impatience_ = std::jthread{[this](const std::stop_token& is_over) {
        while (!is_over.stop_requested()) {
            if (stop_signals() > 1)
                signal_all(SIGKILL);
            poll(nullptr, 0, look_every_ms);
        }
    }};
}

void child_nodes::signal_all(int signal) {
    std::lock_guard guard{lock_};
    for (const pid_t process : processes_)
        kill(process, signal);
}

bool child_nodes::reap() {
    std::lock_guard guard{lock_};
    std::erase_if(processes_,
                  [](pid_t process) { return waitpid(process, nullptr, WNOHANG) != 0; });
    return processes_.empty();
}

child_nodes::~child_nodes() {
    signal_all(SIGTERM);
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds{stop_timeout_ms};
    while (!reap()) {
        if (stop_signals() > 1 || std::chrono::steady_clock::now() > deadline)
            signal_all(SIGKILL);
        poll(nullptr, 0, look_every_ms);
    }
}

} // namespace troupe::cli
