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
    std::uint64_t memory_mb = 4096; // bound of each node's memory in MiB
    bool no_trace = false;
    std::vector<std::string> modules = {}; // files of --program
};

class child_nodes {
  public:
    // Starts all nodes and waits until they listen. errc::io with the cause of a failure; started nodes are ended then.
    static result<std::unique_ptr<child_nodes>> start(const child_options& options);

    child_nodes(const child_nodes&) = delete;
    child_nodes& operator=(const child_nodes&) = delete;
    // Asks them to stop, and kills those that have not after a moment.
    ~child_nodes();

    // From now on, kills the nodes once two stop signals have come, so that the run does not wait for a node that hangs.
    void kill_at_second_signal();

    // HOST:PORT of the first node, which the others have joined.
    const std::string& address() const noexcept { return addresses_.front(); }

  private:
    child_nodes() = default;
    result<std::string> start_one(const child_options& options, std::uint32_t index);
    void signal_all(int signal);
    bool reap(); // returns true when all processes have ended

    std::mutex lock_;
    std::vector<pid_t> processes_; // not yet waited for; guarded by lock_
    std::vector<std::string> addresses_;
    std::jthread impatience_;
};

} // namespace troupe::cli
