// The inspector: looks at a running cluster from outside, through the trace protocol (schemas/trace.capnp). It only reads.
//
// One view per call:
//   actors    every actor of every node: mailbox depth, messages per second, how busy its
//             handlers are and the device that works for it
//   staleness workers of parameter servers: how late what they brought was, who waits for whom
//   tail      messages as they are handled, filtered by type, actors, node, minibatch or any field of the body
//   follow    the way of one minibatch through all stages and back
//   export    a trace file for Chrome's and Perfetto's viewers
//
// Exit codes: 0 done; 1 there was nothing to show or `out` took it not; 2 the options are wrong or the file could not be
// written; 3 the cluster could not be reached (nobody there, wrong key) or was lost. Every failure is one line on `talk`.
//
// Threads: inspect blocks its caller until the view is done, or `stop` says so (asked ten times a second).
// What a node sends is not trusted: names and fields are cut and their control characters are shown, not sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/clock.hpp"
#include "schemas/base/error.hpp"
#include "tools/inspector/terminal.hpp"
#include "transport/endpoint.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe::inspector {

enum class view_kind : std::uint8_t { actors, staleness, tail, follow, export_trace };

struct inspect_options {
    std::string address; // HOST:PORT of any node; the other members are learned from it
    std::string key; // the cluster's key itself, not the file; may be empty on a loopback address
    ucx_transports transports = ucx_transports::automatic; // as the nodes'

    view_kind view = view_kind::actors;
    std::vector<std::string>
        terms; // tail: type=, actor=, node=, from=, minibatch=, FIELD=VALUE. follow: minibatch=N or =next
    std::string file; // export: written whole or not at all

    std::string speaker = "troupe inspect"; // begins every line of `talk`

    // Where a switch of the command line sets it, that comes first.
    bool json = false;  // --json: one JSON object per line
    bool watch = false; // --watch: actors or staleness again and again until `stop`
    std::function<screen_size()>
        screen; // the size of the terminal that `out` is: watch redraws in place; null: it is none
    std::uint64_t count = 0; // --count: tail ends after so many messages; 0: never
    duration seconds{};      // --seconds: export records the next so long; 0: what the nodes hold
    // actors, staleness: between two samples; follow, tail: between two looks whether a run is active.
    duration interval = std::chrono::seconds{1};
    // A node that does not answer for so long is lost. follow gives up when no minibatch comes by for six times as long.
    duration patience = std::chrono::seconds{5};

    std::function<bool()> stop; // whether to end; null: never
};

// Reads VIEW... of the command line, "tail", "type=Activation", into view, terms and file, and checks them and the
// switches that are already set. No words: actors. errc::usage with a sentence.
result<void> parse_view(std::span<const std::string> words, inspect_options& options);

// Whether an export may be put under this name: into a folder that can be written, in the place of nothing or of an older
// trace. errc::io with a sentence.
result<void> check_trace_file(const std::string& name);

// Over UCX. Results go to `out`, notes and errors to `talk`. Returns the exit code.
int inspect(const inspect_options& options, std::ostream& out, std::ostream& talk);

// The same over any endpoint that has not been started; `self` is the node id that the endpoint goes by. Closes it.
int inspect_over(endpoint& network, node_id self, const clock& time, const inspect_options& options,
                 std::ostream& out, std::ostream& talk);

} // namespace troupe::inspector
