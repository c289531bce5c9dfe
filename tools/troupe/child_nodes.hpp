// Node processes that a run starts on its own machine and ends with itself.
//
// They get the run's program with the command `node` and loopback addresses. They die with the run, whatever ends it.
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "tools/troupe/cluster_access.hpp"

namespace troupe::cli {

struct child_options {
    std::uint32_t nodes = 1;
    access_choice access; // without a key they listen on loopback addresses
    bool no_trace = false;
};

class child_nodes {
  public:
    // Starts them all and waits until they listen. errc::io with what went wrong; those that started are ended.
    static result<child_nodes> start(const child_options& options);

    child_nodes(child_nodes&& other) noexcept;
    child_nodes& operator=(child_nodes&&) = delete;
    // Asks them to stop, and kills those that have not after a moment, or when a second stop signal comes.
    ~child_nodes();

    // HOST:PORT where the first one listens: the others have joined it.
    const std::string& address() const noexcept { return addresses_.front(); }

  private:
    child_nodes() = default;
    result<std::string> start_one(const child_options& options, std::uint32_t index);

    std::vector<pid_t> processes_;
    std::vector<std::string> addresses_;
};

} // namespace troupe::cli
