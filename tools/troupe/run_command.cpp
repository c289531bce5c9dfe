// run: load what the app names, bring the nodes together, run the job.
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "actors/run/patience.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/random.hpp"
#include "tools/inspector/inspect.hpp"
#include "tools/troupe/cluster_access.hpp"
#include "tools/troupe/process_start.hpp"
#include "tools/troupe/reporter.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

constexpr duration signal_poll = std::chrono::milliseconds{50};

// Nobody who does not read holds up the run or its end by a signal: a line waits until both streams take one. A stream
// that has failed takes everything.
bool output_takes_a_line() {
    pollfd streams[] = {{standard_output(), POLLOUT, 0}, {STDERR_FILENO, POLLOUT, 0}};
    return poll(streams, 2, 0) == 2;
}

// Prints what the run reports, up to its end, and passes stop signals on to its root. Returns how it ended.
std::optional<error> watch_over(reporter& reports, node_runtime& runtime, actor_address root) {
    int passed_on = 0;
    for (;;) {
        const auto finished = reports.wait_for_news(signal_poll);
        while ((finished || output_takes_a_line()) && reports.print_next()) {
        }
        if (finished)
            return finished->failure;
        reports.notice_silence();
        while (passed_on < stop_signals()) {
            ++passed_on;
            runtime.send(root, frame_builder<proto::StopRun>{});
        }
    }
}

int export_trace(const run_options& options, const std::string& address) {
    inspector::inspect_options inspect;
    inspect.address = address;
    const auto access = open_access(options.access, peer_role::observer, address);
    if (!access)
        return report(access.failure());
    inspect.access = *access;
    inspect.view = inspector::view_kind::export_trace;
    inspect.file = options.trace_file;
    inspect.speaker = "troupe: --trace";
    return inspector::inspect(inspect, std::cerr, std::cerr);
}

int say_nothing_left(const run_options& options, const nothing_left& why) {
    if (options.json) {
        reporter nothing{{.json = true, .transport = "none"}, std::cout, std::cerr};
        nothing.finished(why.news);
        nothing.print_next();
    } else
        std::cout << why.sentence << std::endl;
    return 0;
}

// An error before anything runs, in both forms.
int refuse(const run_options& options, const error& why) {
    if (options.json)
        print_error(why, std::cout);
    return why.code() == errc::cancelled ? stopped(why) : report(why);
}

// While nodes start, a signal that comes reaches some of them first: what ends then ends by it.
error by_signal(const error& why) {
    return stop_signals() > 0 ? error{errc::cancelled, why.message()} : why;
}

reporter_options reporting(const run_options& options, std::uint64_t run, const node_host& host,
                           const note_list& notes) {
    const bool alone = options.nodes == 0 && options.cluster.empty();
    return {.json = options.json,
            .columns = isatty(STDERR_FILENO) != 0
                           ? [] { return inspector::screen_of(STDERR_FILENO).columns; }
                           : std::function<std::size_t()>{},
            .color = isatty(standard_output()) != 0 && std::getenv("NO_COLOR") == nullptr,
            .inspect_address = host.address(),
            .run = run,
            .transport = alone ? "in-process" : "nodes",
            .notes = notes.kept(),
            .time = &host.time()};
}

// Settings of --set, and the other options that stand for a key of the app file.
result<std::vector<std::string>> settings_of(const run_options& options) {
    std::vector<std::string> all = options.app.settings;
    if (options.result_directory.empty())
        return all;
    const std::string quoted = json(options.result_directory).dump();
    if (json::parse(quoted)->text() != options.result_directory)
        return error{errc::usage, "--result-directory: is not UTF-8; give another name"};
    all.push_back("result.directory=" + quoted);
    return all;
}

// The exit code of a run that has begun where a file could not be written: that is no mistake in the command line or the app
// file, for which a script would look there.
constexpr int failed_run = 1;

// Spawns the job's root, whose news the reporter prints.
actor_address spawn_root(const run_options& options, job& what, std::uint64_t run, run_nodes& nodes,
                         reporter& reports) {
    node_runtime& runtime = nodes.host->runtime();
    return what.spawn({.runtime = runtime,
                       .io = nodes.host->io(),
                       .devices = nodes.devices,
                       .number = run,
                       .listener = reports,
                       .more_memory = advice_on_memory(options),
                       .of_cluster = !options.cluster.empty()});
}

int run_job(const run_options& options, job& what, run_nodes& nodes) {
    node_host& host = *nodes.host;
    note_list notes{options.json};
    notes.add(what.notes());
    const bool is_alone = options.nodes == 0 && options.cluster.empty();
    if (const std::string unused = note_of_settings(); !is_alone && !unused.empty())
        notes.add({unused});
    if (const std::string plain = note_of_plain(options.access); !is_alone && !plain.empty())
        notes.add({plain});
    notes.add(what.notes_on_sharing(nodes, options.nodes));
    for (const std::string& sentence : host.unreached())
        notes.add({sentence + "; the run does without it"});
    if (options.cluster.empty()) // whose processors are not known here
        notes.add(what.notes_on(nodes.devices));
    if (auto ready = what.prepare(nodes.devices); !ready)
        return refuse(options, ready.failure());
    notes.add(nodes.left_out);
    if (!options.json)
        std::cout << "look at this run with: "
                  << attach_command(host.address(), {.access = options.access}) << '\n'
                  << std::endl;
    std::uint64_t entropy = draw_node_id().value();
    const std::uint64_t run = split_mix(entropy) >> 32 | 1; // short enough to be typed
    const auto reports =
        std::make_shared<reporter>(reporting(options, run, host, notes), std::cout, std::cerr);
    const actor_address root = spawn_root(options, what, run, nodes, *reports);
    const actor_address patience = host.runtime().spawn<patience_actor>(
        "patience", patience_options{.times = {.give_up = options.patience},
                                     .note = [reports](const std::string& sentence) {
                                         reports->noted({sentence});
                                     }});
    const std::optional<error> failure = watch_over(*reports, host.runtime(), root);
    host.runtime().end(patience, {errc::cancelled, "the run is over"});
    if (nodes.children != nullptr)
        nodes.children->kill_at_second_signal();
    const bool traces = !options.trace_file.empty() && stop_signals() < 2;
    const int exported = traces ? export_trace(options, host.address()) : 0;
    if (!failure)
        return exported == exit_code(errc::io) ? failed_run : exported;
    if (failure->code() == errc::cancelled)
        return stopped(*failure);
    const int code = report(*failure);
    return failure->code() == errc::io ? failed_run : code;
}

} // namespace

int run(const run_options& options, job_table jobs) {
    if (!options.trace_file.empty()) {
        if (auto writable = inspector::check_trace_file(options.trace_file); !writable)
            return refuse(options, writable.failure().in("--trace"));
        if (auto usable = open_access(options.access, peer_role::observer, ""); !usable)
            return refuse(options, usable.failure().in("--trace"));
    }
    const auto settings = settings_of(options);
    if (!settings)
        return refuse(options, settings.failure());
    const auto app = load_app(options.app.file, *settings, app_kinds(jobs), home_folder());
    if (!app)
        return refuse(options, app.failure());
    const auto opened = kind_of(*app, jobs).open(*app, job_purpose::run, options.resume);
    if (!opened)
        return refuse(options, opened.failure());
    job& what = **opened;
    if (const auto done = what.is_done())
        return say_nothing_left(options, *done);
    auto nodes = bring_together(options, what, jobs);
    if (!nodes)
        return refuse(options, by_signal(nodes.failure()));
    return run_job(options, what, *nodes);
}

} // namespace troupe::cli
