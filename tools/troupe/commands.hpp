// The commands of the `troupe` program. Each takes its options and returns the exit code.
//
// Exit codes: 0 done; 1 the run failed, or standard output, a trace or what a run ends with could not be written; 2 the
// command line, the app file or a file that these name is wrong; 3 the cluster could not be reached or was lost; 128 + n
// stopped by signal n, after a checkpoint.
// Results go to standard output, everything else to standard error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/cluster/heartbeat.hpp"
#include "actors/pipeline/shape/schedules.hpp"
#include "actors/run/patience.hpp"
#include "schemas/base/error.hpp"
#include "tools/troupe/cluster_access.hpp"

namespace troupe::cli {

struct job_kind;
using job_table = std::span<const job_kind>; // tools/troupe/job.hpp

// An app file and the settings that override its values.
struct app_choice {
    std::string file;
    std::vector<std::string> settings; // --set key=value
};

// The options of a node of a cluster.
struct node_choice {
    std::string listen = "127.0.0.1:0";
    std::string join; // HOST:PORT of any member; empty: this node is the first
    std::string name; // empty: derived from the address or the host's name, and the port
    std::string devices = "cpu:1";
    access_choice access;
    std::uint64_t memory_mb = 4096; // MiB: bound of each device's memory on the host
    // MiB: bound of each GPU's own memory; 0: nine tenths of the free memory.
    std::uint64_t gpu_memory_mb = 0;
    heartbeat_times heartbeat;
};

struct check_options {
    app_choice app;
    // Number of local nodes of one device each for which the app is checked, too; 0: none.
    std::uint32_t nodes = 0;
    std::string devices;      // or for these devices of one process; both empty: for no devices
    bool print = false;       // prints the whole definition with defaults filled in
    bool json_schema = false; // prints the schema of app files instead
};
int check(const check_options& options, job_table jobs);

int explain(const std::string& key, job_table jobs);

struct plan_options {
    app_choice app;
    // Number of local nodes of one device each to plan for; 0: this process's devices.
    std::uint32_t nodes = 0;
    std::string devices; // devices of this process; empty: one per core
    std::string cluster; // HOST:PORT of a running cluster whose devices to plan for
    access_choice access;
    std::uint64_t memory_mb = 4096;  // see node_choice; bound of each of `nodes`
    std::uint64_t gpu_memory_mb = 0; // see node_choice
    bool all_layers = false;         // also lists all layers of repeated blocks
    bool json = false;
};
int plan(const plan_options& options, job_table jobs);

struct run_options {
    app_choice app;
    std::uint32_t nodes = 0; // number of node processes to start here and train on
    std::string cluster;     // HOST:PORT of a running cluster to train on
    std::string devices; // without nodes and cluster: devices of this process; empty: one per core
    access_choice access;
    bool resume = false;
    std::string result_directory; // in the place of the app's result.directory; empty: that one
    bool json = false;
    bool no_trace = false;            // for measuring the cost of tracing
    std::uint64_t memory_mb = 4096;   // see node_choice; bound of each of `nodes`
    std::uint64_t gpu_memory_mb = 0;  // see node_choice
    std::vector<std::string> modules; // files of --program, for the nodes that are started
    std::string trace_file;           // file for a Chrome/Perfetto trace of the end of the run
    duration patience = patience_times{}.give_up; // with a node that answers nothing; 0: no end
};
int run(const run_options& options, job_table jobs);

struct node_options_cli {
    node_choice node;
    bool json = false;
    bool quiet = false;    // does not report members that join, runs or its own end
    bool no_trace = false; // for measuring the cost of tracing
};
int node(const node_options_cli& options, job_table jobs);

struct evaluate_options {
    app_choice app;
    std::string result;             // of programs: folder of the result; empty: the app file's
    std::string data;               // of programs: file in the place of the data's
    std::string weights;            // of networks: source of the weights, see load_weights
    std::uint64_t memory_mb = 4096; // MiB: bound of the memory
    bool json = false;
};
int evaluate(const evaluate_options& options, job_table jobs);

struct predict_options {
    app_choice app;
    std::string result;             // folder of the result; empty: the app file's
    std::string data;               // file in the place of the data's; empty: the app file's
    std::string out;                // file to write; empty: standard output
    bool force = false;             // replaces that file
    std::uint64_t memory_mb = 4096; // MiB: bound of the memory
    bool json = false;              // of what is said about the file
};
int predict(const predict_options& options, job_table jobs);

struct convert_options {
    app_choice app;
    std::string from;   // source of the weights, see load_weights
    std::string to;     // a file *.safetensors, or a folder for checkpoints
    bool force = false; // replaces a file
    std::uint64_t memory_mb = 4096;
};
int convert(const convert_options& options);

struct generate_options {
    app_choice app;
    std::string weights;               // source of the weights, see load_weights
    std::optional<std::string> prompt; // beginning of the text, or sentences to translate
    std::uint32_t length = 500;        // bytes
    double temperature = 0.8;          // 0: always the likeliest byte
    std::uint64_t seed = 1;
    std::uint64_t memory_mb = 4096;
};
int generate(const generate_options& options);

struct pipeline_options {
    std::string name; // of a schedule, or of a file in PyTorch's form
    table_request request;
    bool has_sizes = false; // the command line names one of the request's numbers
    std::string times = "1,1,1";
    bool fit = false; // orders steps anew for these times where that idles less
    std::string hop = "0";
    std::string csv_file; // files to write
    std::string svg_file;
    std::string trace_file;
};
int pipeline(const pipeline_options& options);

struct status_options {
    std::string address;
    access_choice access;
    bool json = false;
};
int status(const status_options& options);

// The name and options of a benchmark, for the benchmarks' own program.
int bench(const std::vector<std::string>& given);

// Prints one line on standard error, "troupe: SENTENCE", and returns its exit code.
int report(const error& why);
int exit_code(errc code) noexcept;

// Prints one line on standard error, "troupe: note: SENTENCE", on something that may not be intended but is no error.
void note(const std::string& sentence);

// The folder that "~" stands for: HOME, else that of the user's entry; empty if there is neither.
std::string home_folder();

// The same as report(), after a stop signal.
int stopped(const error& why);

} // namespace troupe::cli
