// The commands of the `troupe` program. Each takes its options and returns the exit code.
//
// Exit codes: 0 done; 1 the run failed, or standard output could not be written; 2 the command line, the app file or a
// file that these name is wrong or cannot be written; 3 the cluster could not be reached or was lost; 128 + n stopped
// by signal n, after a checkpoint.
// Results go to standard output, everything else to standard error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/cluster/heartbeat.hpp"
#include "schemas/base/error.hpp"
#include "tools/troupe/cluster_access.hpp"

namespace troupe::cli {

struct job_kind;
using job_table = std::span<const job_kind>; // tools/troupe/job.hpp

// Which app, with what overridden.
struct app_choice {
    std::string file;
    std::vector<std::string> settings; // --set key=value
};

// How a node takes part in a cluster.
struct node_choice {
    std::string listen = "127.0.0.1:0";
    std::string join; // HOST:PORT of any member; empty: the first node
    std::string name; // empty: made from the address or the host's name, and the port
    std::string devices = "cpu:1";
    access_choice access;
    std::uint64_t memory_mb = 4096; // MiB: bound of each device's memory in the host's
    std::uint64_t gpu_memory_mb =
        0; // MiB: bound of each GPU's own memory; 0: nine tenths of what is free
    heartbeat_times heartbeat;
};

struct check_options {
    app_choice app;
    std::uint32_t nodes = 0;  // also for so many local nodes of one device
    std::string devices;      // or for these of one process; both empty: for no devices
    bool print = false;       // the whole definition with defaults filled in
    bool json_schema = false; // the schema of app files instead
};
int check(const check_options& options, job_table jobs);

int explain(const std::string& key, job_table jobs);

struct plan_options {
    app_choice app;
    std::uint32_t nodes =
        0;               // plan for so many local nodes of one device; 0: this process's devices
    std::string devices; // of this process; empty: one per core
    std::string cluster; // HOST:PORT: plan for the devices of a running cluster
    access_choice access;
    std::uint64_t memory_mb = 4096;  // as of a node; of each of `nodes`
    std::uint64_t gpu_memory_mb = 0; // as of a node
    bool all_layers = false;         // of repeated blocks, too
    bool json = false;
};
int plan(const plan_options& options, job_table jobs);

struct run_options {
    app_choice app;
    std::uint32_t nodes = 0; // start so many node processes on this machine and train on them
    std::string cluster;     // HOST:PORT: train on the nodes of a running cluster
    std::string devices;     // without nodes and cluster: of this process; empty: one per core
    access_choice access;
    bool resume = false;
    bool json = false;
    bool no_trace = false;           // to measure what tracing costs
    std::uint64_t memory_mb = 4096;  // as of a node; of each of `nodes`
    std::uint64_t gpu_memory_mb = 0; // as of a node
    std::string trace_file;          // write a Chrome/Perfetto trace of the end of the run here
};
int run(const run_options& options, job_table jobs);

struct node_options_cli {
    node_choice node;
    bool json = false;
    bool quiet = false;    // says nothing of who joins, what runs do and its end
    bool no_trace = false; // to measure what tracing costs
};
int node(const node_options_cli& options, job_table jobs);

struct evaluate_options {
    app_choice app;
    std::string weights;            // as load_weights takes them
    std::uint64_t memory_mb = 4096; // MiB: bound
    bool json = false;
};
int evaluate(const evaluate_options& options, job_table jobs);

struct convert_options {
    app_choice app;
    std::string from;   // as load_weights takes them
    std::string to;     // a file *.safetensors, or a folder for checkpoints
    bool force = false; // replaces a file
    std::uint64_t memory_mb = 4096;
};
int convert(const convert_options& options);

struct generate_options {
    app_choice app;
    std::string weights;               // as load_weights takes them
    std::optional<std::string> prompt; // what the text begins with, or sentences to translate
    std::uint32_t length = 500;        // bytes
    double temperature = 0.8;          // 0: always the likeliest byte
    std::uint64_t seed = 1;
    std::uint64_t memory_mb = 4096;
};
int generate(const generate_options& options);

struct status_options {
    std::string address;
    access_choice access;
    bool json = false;
};
int status(const status_options& options);

// The benchmark's name and options, for the benchmarks' own program.
int bench(const std::vector<std::string>& given);

// One line on standard error, "troupe: SENTENCE", and the exit code for it.
int report(const error& why);
int exit_code(errc code) noexcept;

// One line on standard error, "troupe: note: SENTENCE": nothing is wrong, but it may not be what was meant.
void note(const std::string& sentence);

// The same as report() after a stop signal.
int stopped(const error& why);

} // namespace troupe::cli
