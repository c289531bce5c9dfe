// Kinds of jobs, as the commands know them: a row for each, in a table that main() hands over. The commands themselves know
// no kind.
//
// To add a kind: its app file's struct and key (actors/app_file/app_kind.hpp), its roles (actors/agent/role.hpp), its
// messages (actors/runtime/message_types.hpp), a class that derives from `job`, and a row with these. tests/counter/ has a
// small one.
//
// Threads: the owner's, which must not be an actor's; a job's actors have their own.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "actors/agent/role.hpp"
#include "actors/app_file/app_file.hpp"
#include "actors/run/plan_device.hpp"
#include "actors/run/run_events.hpp"
#include "actors/runtime/message_types.hpp"
#include "kernels/device/device.hpp"

namespace troupe::cli {

struct evaluate_options;
struct predict_options;
struct run_nodes;

// The surroundings in which a job is planned.
struct job_site {
    node_runtime& runtime;            // runtime of a node of the cluster
    std::vector<plan_device> devices; // devices to plan for, in order of preference; not empty
    plan_device measured_on;          // device on which anything is measured first
    memory_advice more_memory;
    bool of_cluster = false; // the nodes were running before the job
};

// The surroundings in which a job runs.
struct job_run {
    node_runtime& runtime;            // runtime of the process of `troupe run`
    std::shared_ptr<device> io;       // for files and batches, apart from the devices
    std::vector<plan_device> devices; // not empty
    std::uint64_t number = 0;         // number of the run, drawn at random
    run_listener& listener;           // of the run's news; its root spawns a listening_actor for it
    memory_advice more_memory;
    bool of_cluster = false;
};

struct planned_job {
    std::string text; // lines for people
    std::string json; // a JSON object
    std::vector<std::string> notes;
};

// The result if the checkpoint to go on from already has all that the app asks for.
struct nothing_left {
    std::string sentence;
    run_finished news;
};

// An app file with the files that it names on this machine.
class job {
  public:
    virtual ~job() = default;

    // One sentence for each part of the app file, or of a file that it names, that has no effect or is probably a mistake.
    virtual std::vector<std::string> notes() const = 0;
    // Notes on these devices, which are this machine's.
    virtual std::vector<std::string> notes_on(std::span<const plan_device>) const { return {}; }
    // Notes on nodes that the job shares or leaves idle; `children`: number of started nodes with a device each, if any.
    virtual std::vector<std::string> notes_on_sharing(const run_nodes&,
                                                      std::uint32_t /*children*/) const {
        return {};
    }
    // True if the job runs on one core by default; otherwise on the whole machine.
    virtual bool is_for_one_device() const { return false; }

    // Checks whether the job can be placed on these devices. Nothing is measured.
    virtual result<void> check_place(const std::vector<plan_device>& devices) const = 0;
    // `all`: the text does not abbreviate repetitions. May block on a measurement.
    virtual result<planned_job> plan(const job_site& site, bool all) = 0;

    virtual std::optional<nothing_left> is_done() const { return std::nullopt; }
    // Before anything is told of the run: refuses what cannot run on these devices. Called once, before spawn.
    virtual result<void> prepare(const std::vector<plan_device>&) { return {}; }
    // Spawns the root of the job on the devices that it was prepared for: an actor that asks for the others, sends
    // RunStarted once and RunFinished as the last by its listening_actor, and takes StopRun (schemas/run.capnp). Called
    // once.
    virtual actor_address spawn(const job_run& run) = 0;
};

enum class job_purpose : std::uint8_t {
    check, // reads what the app file names, but no checkpoints
    plan,  // reads nothing but the app file
    run,   // reads all
};

struct job_kind {
    app_kind app;
    std::vector<role> roles;            // roles that nodes can spawn for it
    std::vector<message_type> messages; // messages of its actors
    // Spawns the actors with well-known numbers that every node has for this kind; may be empty.
    std::function<void(node_runtime&, const std::vector<std::shared_ptr<device>>&)> services;
    // Blocks on files. `resume`: the job goes on from the latest checkpoint.
    std::function<result<std::unique_ptr<job>>(const app_definition&, job_purpose, bool resume)>
        open;
    // The `evaluate` command, which returns its exit code; empty: there is nothing to evaluate.
    std::function<int(const app_definition&, const evaluate_options&)> evaluate;
    // The `predict` command, likewise; empty: there is nothing to predict.
    std::function<int(const app_definition&, const predict_options&)> predict;
};

using job_table = std::span<const job_kind>;

std::vector<app_kind> app_kinds(job_table jobs);
// The table row of the app file's kind.
const job_kind& kind_of(const app_definition& app, job_table jobs);

} // namespace troupe::cli
