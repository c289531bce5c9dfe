// The setup of `run` and `plan` before a job begins: its nodes.
#pragma once

#include <memory>
#include <vector>

#include "tools/troupe/child_nodes.hpp"
#include "tools/troupe/device_choice.hpp"
#include "tools/troupe/job.hpp"
#include "tools/troupe/node_host.hpp"

namespace troupe::cli {

// The nodes of a run, whoever started them.
struct run_nodes {
    std::unique_ptr<child_nodes> children; // ended last
    std::unique_ptr<node_host> host;
    std::vector<plan_device> devices; // not empty
    std::vector<std::string> others;  // other runs on these nodes
    // Sentences on nodes that are left out, as others that are used do not reach them.
    std::vector<std::string> left_out;
};

// The devices of `run --nodes` and of `run --devices`, in a run's order; nothing is started.
std::vector<plan_device> devices_of_nodes(std::uint32_t nodes, std::uint64_t memory_bytes);
std::vector<plan_device> devices_of_process(const device_choice& chosen);

// Starts or joins the nodes that the options ask for, with this process as a client among them.
result<run_nodes> bring_together(const run_options& options, const job& of, job_table jobs);

// The notes of a command before its result: at once on standard error, or, with --json, as a list in its output.
class note_list {
  public:
    explicit note_list(bool is_json) : is_json_{is_json} {}
    void add(const std::vector<std::string>& sentences);
    const std::vector<std::string>& kept() const noexcept { return kept_; } // with --json

  private:
    bool is_json_;
    std::vector<std::string> kept_;
};

// Advice for a user where the memory of a device does not suffice: the option that bounds it, that of `troupe node` if the
// nodes are a running cluster's.
memory_advice advice_on_memory(const run_options& options);

} // namespace troupe::cli
