// Kinds of jobs, as the commands know them: a row for each, in a table that main() hands over. The commands themselves know
// no kind.
//
// To add a kind: its app file's struct and key (actors/app_file/app_kind.hpp), its roles (actors/agent/role.hpp), its
// messages (actors/runtime/message_types.hpp), a class that derives from `job`, and a row of these. tests/counter/ has a
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
struct run_nodes;

// What is known where a job is planned.
struct job_site {
    node_runtime& runtime;            // of a node of the cluster
    std::vector<plan_device> devices; // to plan for, in order of preference; not empty
    plan_device measured_on;          // where something has to be measured first
    memory_advice more_memory;
    bool of_cluster = false; // the nodes were there before
};

// What a job is run with.
struct job_run {
    node_runtime& runtime;            // of the process of `troupe run`
    std::shared_ptr<device> io;       // for files and batches, apart from the devices
    std::vector<plan_device> devices; // not empty
    std::uint64_t number = 0;         // drawn at random
    actor_address listener;           // of the run's news
    memory_advice more_memory;
    bool of_cluster = false;
};

struct planned_job {
    std::string text; // for people, in lines
    std::string json; // an object
    std::vector<std::string> notes;
};

// The checkpoint to go on from has all that the app asks for.
struct nothing_left {
    std::string sentence;
    run_finished news;
};

// An app file with what it names on this machine.
class job {
  public:
    virtual ~job() = default;

    // Sentences: what of the app file and of what it names has no effect, or is hardly meant.
    virtual std::vector<std::string> notes() const = 0;
    // The same of these devices, which are this machine's.
    virtual std::vector<std::string> notes_on(std::span<const plan_device>) const { return {}; }
    // The same of nodes that the job shares, or leaves idle; of so many `children` with a device each, if any.
    virtual std::vector<std::string> notes_on_sharing(const run_nodes&,
                                                      std::uint32_t /*children*/) const {
        return {};
    }
    // Whether one core is what it runs on where nothing else is said; else all of this machine.
    virtual bool is_for_one_device() const { return false; }

    // Whether it can be placed on these devices. Nothing is measured.
    virtual result<void> check_place(const std::vector<plan_device>& devices) const = 0;
    // `all`: nothing that repeats itself is left out. May block on a measurement.
    virtual result<planned_job> plan(const job_site& site, bool all) = 0;

    virtual std::optional<nothing_left> is_done() const { return std::nullopt; }
    // Spawns the job's root, which asks for its other actors, tells the listener, and takes StopRun (schemas/run.capnp).
    virtual actor_address spawn(const job_run& run) = 0;
};

enum class job_purpose : std::uint8_t {
    check, // reads what the app file names, but no checkpoints
    plan,  // reads nothing but the app file
    run,   // reads all
};

struct job_kind {
    app_kind app;
    std::vector<role> roles;            // that nodes can spawn for it
    std::vector<message_type> messages; // of its actors
    // Actors of well-known numbers that every node has for it; may be empty.
    std::function<void(node_runtime&, const std::vector<std::shared_ptr<device>>&)> services;
    // Blocks on files. `resume`: it goes on from the latest checkpoint.
    std::function<result<std::unique_ptr<job>>(const app_definition&, job_purpose, bool resume)>
        open;
    // The `evaluate` command, and its exit code; empty: there is nothing to evaluate.
    std::function<int(const app_definition&, const evaluate_options&)> evaluate;
};

using job_table = std::span<const job_kind>;

std::vector<app_kind> app_kinds(job_table jobs);
// The row that the app file is of.
const job_kind& kind_of(const app_definition& app, job_table jobs);

} // namespace troupe::cli
