#include "tools/troupe/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace troupe::cli {

namespace {

std::atomic<int> count{0};
std::atomic<int> last{0};
std::atomic<bool> hung_up{false};
std::atomic<std::int64_t> first_ns{0}; // when the first one came, on the steady clock; 0: none has
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "a handler takes no lock");
constexpr std::int64_t together_ns = 300'000'000;
int wake[2] = {-1, -1};

std::int64_t steady_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void wake_up() {
    const char byte = 1;
    [[maybe_unused]] const auto written =
        ::write(wake[1], &byte, 1); // full: somebody will wake up anyway
}

void note_signal(int signal) {
    const std::int64_t now_ns = steady_ns();
    std::int64_t before_ns = 0;
    if (!first_ns.compare_exchange_strong(before_ns, now_ns) && now_ns - before_ns < together_ns)
        return;
    last.store(signal);
    count.fetch_add(1);
    wake_up();
}

void note_hangup(int) {
    hung_up.store(true);
    wake_up();
}

bool hangup_was_ignored = false;

void look_at_hangup() {
    struct sigaction inherited {};
    hangup_was_ignored =
        sigaction(SIGHUP, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN;
}

// Called before the constructors of shared libraries: UCX's handles SIGHUP whatever it was inherited as.
[[gnu::section(".preinit_array"), gnu::used]] void (*hangup_looked_at)() = look_at_hangup;

} // namespace

void install_signal_handlers() {
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
        _exit(1);
    struct sigaction action {};
    action.sa_handler = note_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    if (hangup_was_ignored)
        std::signal(SIGHUP, SIG_IGN);
    else
        sigaction(SIGHUP, &action,
                  nullptr); // the terminal is gone; UCX would take it as the wish to debug it
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN); // a file at its limit is an error of writing like others
}

void note_hangups() {
    struct sigaction action {};
    action.sa_handler = note_hangup;
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, nullptr);
}

bool take_hangup() noexcept {
    char bytes[64];
    while (::read(wake[0], bytes, sizeof bytes) > 0) {
    }
    return hung_up.exchange(false);
}

int stop_signals() noexcept {
    return count.load();
}
int last_signal() noexcept {
    return last.load();
}
int signal_descriptor() noexcept {
    return wake[0];
}

} // namespace troupe::cli
