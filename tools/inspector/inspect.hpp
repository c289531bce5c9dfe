// The inspector: looks at a running cluster from outside, through the trace protocol (schemas/trace.capnp). It only reads.
//
// One view per call:
//   actors    every actor of every node: mailbox depth, messages per second, how busy its
//             handlers are and the device that works for it
//   staleness workers of parameter servers: lateness of their updates, and which worker waits for which
//   schedule  what the actors of each run say of themselves: the phase of a program, what was chosen, what is waited for
//   results   the last milestones of each run of a program: their numbers, and when they were reached
//   tail      messages as they are handled, filtered by type, actors, node, run, piece of work or any field of the body
//   follow    the route of one minibatch through all stages and back; of another kind of job one piece of work
//   export    a trace file for Chrome's and Perfetto's viewers
//
// Exit codes: 0 done; 1 there was nothing to show or `out` did not take it; 2 the options are wrong or the file could not be
// written; 3 the cluster could not be reached (nobody there, wrong key) or was lost. Every failure is one line on `talk`.
//
// Threads: inspect blocks its caller until the view is done or `stop` returns true (called ten times a second).
// Data from nodes is not trusted: names and fields are cut, and their control characters are shown, not sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "schemas/base/time_source.hpp"
#include "tools/inspector/terminal.hpp"
#include "transport/endpoint.hpp"
#include "transport/node/node_endpoint.hpp"

namespace troupe::inspector {

enum class view_kind : std::uint8_t {
    actors,
    staleness,
    schedule,
    results,
    tail,
    follow,
    export_trace
};

struct inspect_options {
    std::string address; // HOST:PORT of any node; the other members are learned from it
    link_access access;  // the same as the nodes'

    view_kind view = view_kind::actors;
    // schedule, results: run=; tail: type=, actor=, node=, from=, run=, minibatch= or work=, FIELD=VALUE; follow:
    // minibatch=N or =next, work=N or =next with or without run=.
    std::vector<std::string> terms;
    std::string file; // export: file that is written whole or not at all

    std::string speaker = "troupe inspect"; // begins every line of `talk`

    // A value whose comment begins with a switch is set by this switch of the command line.
    bool json = false;  // --json: one JSON object per line
    bool watch = false; // --watch: repeats actors, staleness, schedule or results until `stop`
    // The size of the terminal that `out` is, where watch redraws in place; null: `out` is no terminal.
    std::function<screen_size()> screen;
    std::uint64_t count = 0; // --count: number of messages after which tail ends; 0: never
    duration seconds{};      // --seconds: length of an export; 0: the events that the nodes hold
    // Time between two samples of actors, staleness or schedule, or between two checks of follow or tail whether a run is
    // active.
    duration interval = std::chrono::seconds{1};
    // A node that does not answer for this time is lost. follow gives up when nothing of what it follows comes by for
    // six times as long.
    duration patience = std::chrono::seconds{5};

    std::function<bool()> stop; // returns whether to end; null: never
};

// Reads VIEW... of the command line, "tail", "type=Activation", into view, terms and file, and checks them and the
// switches that are already set. No words mean actors. errc::usage with a sentence.
result<void> parse_view(std::span<const std::string> words, inspect_options& options);

// Checks that an export may be written under this name: its folder can be written, and the name is free or an older
// trace's. errc::io with a sentence.
result<void> check_trace_file(const std::string& name);

// Runs a view over UCX. Results go to `out`, notes and errors to `talk`. Returns the exit code.
int inspect(const inspect_options& options, std::ostream& out, std::ostream& talk);

// The same over any endpoint that has not been started; `self` is the node id that the endpoint goes by. Closes it.
int inspect_over(endpoint& network, node_id self, const time_source& time,
                 const inspect_options& options, std::ostream& out, std::ostream& talk);

} // namespace troupe::inspector
