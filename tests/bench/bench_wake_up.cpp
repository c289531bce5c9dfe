// What it costs this machine to wake a process that sleeps: the floor of a message to a sleeping process. Two processes
// that do nothing else wake each other through an eventfd and epoll, a millisecond after both fell asleep.
//
//     bench_wake_up
//
// Prints one JSON line with the median of half a round trip in microseconds: `same_core_us`, where both are held on one
// core, and `other_core_us`, where each has its own, so that the woken core leaves its own sleep first (in a virtual machine
// through the host). A machine with one core prints the first alone.
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "schemas/base/check.hpp"

namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t rounds = 1000;
constexpr auto sleep_before = std::chrono::milliseconds{1};

// An eventfd and the epoll set through which its sleeper waits.
class bell {
  public:
    bell() {
        epoll_event e{};
        e.events = EPOLLIN;
        TROUPE_CHECK(epoll_ctl(poll_, EPOLL_CTL_ADD, event_, &e) == 0, "both are open");
    }
    void ring() {
        const std::uint64_t one = 1;
        TROUPE_CHECK(write(event_, &one, sizeof one) == sizeof one, "the counter has room");
    }
    void wait() {
        epoll_event e{};
        while (epoll_wait(poll_, &e, 1, -1) < 1) {
        }
        std::uint64_t rings = 0;
        TROUPE_CHECK(read(event_, &rings, sizeof rings) == sizeof rings, "it has rung");
    }

  private:
    int event_ = eventfd(0, EFD_CLOEXEC);
    int poll_ = epoll_create1(EPOLL_CLOEXEC);
};

void hold_on(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(core), &set);
    TROUPE_CHECK(sched_setaffinity(0, sizeof set, &set) == 0, "the core is one of ours");
}

// The cores that this process may use, in order.
std::vector<int> cores() {
    cpu_set_t set;
    TROUPE_CHECK(sched_getaffinity(0, sizeof set, &set) == 0, "a process may ask for its own");
    std::vector<int> found;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(static_cast<std::size_t>(core), &set))
            found.push_back(core);
    return found;
}

double one_way_us(int here, int there) {
    bell to_child;
    bell from_child;
    const pid_t child = fork();
    TROUPE_CHECK(child >= 0, "one more process is allowed");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        hold_on(there);
        for (;;) {
            to_child.wait();
            from_child.ring();
        }
    }
    hold_on(here);
    std::vector<double> trips;
    for (std::size_t i = 0; i < rounds; ++i) {
        std::this_thread::sleep_for(sleep_before);
        const auto sent = steady::now();
        to_child.ring();
        from_child.wait();
        trips.push_back(std::chrono::duration<double, std::micro>(steady::now() - sent).count());
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::ranges::nth_element(trips, trips.begin() + rounds / 2);
    return trips[rounds / 2] / 2;
}

} // namespace

int main() {
    const std::vector<int> usable = cores();
    std::printf("{\"same_core_us\": %.2f", one_way_us(usable[0], usable[0]));
    if (usable.size() > 1)
        std::printf(", \"other_core_us\": %.2f", one_way_us(usable[0], usable[1]));
    std::printf("}\n");
    return 0;
}
