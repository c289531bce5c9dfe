// What this machine itself needs for what a message cannot do without: the floors beside which ours are shown. Half a round
// trip between two processes that do nothing else, in microseconds, medians.
//
//     bench_machine wake-up           to wake a process that sleeps, a millisecond after it fell asleep
//     bench_machine copy SIZE...      to write bytes into shared memory on one core and copy them out on another
//
// Prints one JSON line. `wake-up`: {"same_core_us": ..., "other_core_us": ...}; the other core leaves its own sleep first,
// in a virtual machine through the host. `copy`: {"64": ...}, a number for each size. Where there is one core,
// `other_core_us` and all of `copy` are left out.
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "schemas/base/check.hpp"

namespace {

using steady = std::chrono::steady_clock;

constexpr auto sleep_before = std::chrono::milliseconds{1};

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

// Runs `echo` for ever in a process on the one core and times `round` here on the other.
template <class Echo, class Round>
double one_way_us(int here, int there, std::size_t rounds, Echo echo, Round round) {
    const pid_t child = fork();
    TROUPE_CHECK(child >= 0, "one more process is allowed");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        hold_on(there);
        for (;;)
            echo();
    }
    hold_on(here);
    std::vector<double> trips;
    for (std::size_t i = 0; i < rounds; ++i)
        trips.push_back(round());
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto middle = trips.begin() + static_cast<std::ptrdiff_t>(rounds / 2);
    std::ranges::nth_element(trips, middle);
    return *middle / 2;
}

template <class Work>
double time_us(Work work) {
    const auto begun = steady::now();
    work();
    return std::chrono::duration<double, std::micro>(steady::now() - begun).count();
}

// --- waking

// An eventfd and the epoll set through which its sleeper waits.
class bell {
  public:
    bell() {
        epoll_event e{};
        e.events = EPOLLIN;
        TROUPE_CHECK(epoll_ctl(poll_, EPOLL_CTL_ADD, event_, &e) == 0, "both are open");
    }
    bell(const bell&) = delete;
    bell& operator=(const bell&) = delete;
    ~bell() {
        close(poll_);
        close(event_);
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

double wake_up_us(int here, int there) {
    bell to_child;
    bell from_child;
    const auto echo = [&] {
        to_child.wait();
        from_child.ring();
    };
    return one_way_us(here, there, 1000, echo, [&] {
        std::this_thread::sleep_for(sleep_before);
        return time_us([&] {
            to_child.ring();
            from_child.wait();
        });
    });
}

// --- copying

// Zeros that a child shares.
std::byte* shared_memory(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TROUPE_CHECK(memory != MAP_FAILED, "there is memory for the sizes asked for");
    return static_cast<std::byte*>(memory);
}

// One direction of a conversation in shared memory: bytes, and behind them how often they have been written.
class mailbox {
    using counter = std::atomic<std::uint64_t>;

  public:
    explicit mailbox(std::size_t size)
        : size_{size}, memory_{shared_memory(line + size)}, written_{*new (memory_) counter{0}} {}
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;
    ~mailbox() { munmap(memory_, line + size_); }

    void put(const std::vector<std::byte>& bytes) {
        std::memcpy(memory_ + line, bytes.data(), size_);
        written_.fetch_add(1, std::memory_order_release);
    }
    void take(std::vector<std::byte>& bytes) {
        while (written_.load(std::memory_order_acquire) == taken_) {
        }
        ++taken_;
        std::memcpy(bytes.data(), memory_ + line, size_);
    }

  private:
    static constexpr std::size_t line = 64;
    std::size_t size_;
    std::byte* memory_;
    counter& written_;
    std::uint64_t taken_ = 0; // by this process
};

double copy_us(int here, int there, std::size_t size) {
    mailbox to_child{size};
    mailbox from_child{size};
    std::vector<std::byte> bytes(size);
    const auto echo = [&] {
        to_child.take(bytes);
        from_child.put(bytes);
    };
    return one_way_us(here, there, 20000, echo, [&] {
        return time_us([&] {
            to_child.put(bytes);
            from_child.take(bytes);
        });
    });
}

} // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const std::vector<int> usable = cores();
    const char* separator = "";
    const auto print = [&](const std::string& key, double us) {
        std::printf("%s\"%s\": %.3f", separator, key.c_str(), us);
        separator = ", ";
    };
    if (what == "wake-up" && argc == 2) {
        std::printf("{");
        print("same_core_us", wake_up_us(usable[0], usable[0]));
        if (usable.size() > 1)
            print("other_core_us", wake_up_us(usable[0], usable[1]));
        std::printf("}\n");
    } else if (what == "copy" && argc > 2) {
        std::printf("{");
        for (int i = 2; usable.size() > 1 && i < argc; ++i)
            print(argv[i], copy_us(usable[0], usable[1], std::strtoull(argv[i], nullptr, 10)));
        std::printf("}\n");
    } else {
        std::fprintf(stderr, "usage: bench_machine wake-up | copy SIZE...\n");
        return 2;
    }
    return 0;
}
