// Node processes that a run starts on its own machine and ends with itself.
//
// They get the run's program with the command `node` and loopback addresses. They die with the run, whatever ends it.
//
// Threads: one, beside a thread of its own (kill_at_second_signal).
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "schemas/base/error.hpp"
#include "tools/troupe/cluster_access.hpp"

namespace troupe::cli {

struct child_options {
    std::uint32_t nodes = 1;
    access_choice access;           // without a key they listen on loopback addresses
    std::uint64_t memory_mb = 4096; // of each
    bool no_trace = false;
};

class child_nodes {
  public:
    // Starts them all and waits until they listen. errc::io with what went wrong; those that started are ended.
    static result<std::unique_ptr<child_nodes>> start(const child_options& options);

    child_nodes(const child_nodes&) = delete;
    child_nodes& operator=(const child_nodes&) = delete;
    // Asks them to stop, and kills those that have not after a moment.
    ~child_nodes();

    // Kills them once two stop signals have come, from now on, so that nobody who ends with them waits for one that hangs.
    void kill_at_second_signal();

    // HOST:PORT where the first one listens: the others have joined it.
    const std::string& address() const noexcept { return addresses_.front(); }

  private:
    child_nodes() = default;
    result<std::string> start_one(const child_options& options, std::uint32_t index);
    void signal_all(int signal);
    bool reap(); // true when all have ended

    std::mutex lock_;
    std::vector<pid_t> processes_; // not yet waited for; guarded by lock_
    std::vector<std::string> addresses_;
    std::jthread impatience_;
};

} // namespace troupe::cli
