#include "tools/troupe/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace troupe::cli {

namespace {

std::atomic<int> count{0};
std::atomic<int> last{0};
int wake[2] = {-1, -1};

void note(int signal) {
    last.store(signal);
    count.fetch_add(1);
    const char byte = 1;
    [[maybe_unused]] const auto written =
        write(wake[1], &byte, 1); // full: somebody will wake up anyway
}

} // namespace

void install_signal_handlers() {
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
        _exit(1);
    struct sigaction action {};
    action.sa_handler = note;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGHUP, &action,
              nullptr); // the terminal is gone; UCX would take it as the wish to debug it
    std::signal(SIGPIPE, SIG_IGN);
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
