// run: load what the app names, bring the nodes together, train.
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "actors/plan/app_file.hpp"
#include "actors/trainer/trainer.hpp"
#include "schemas/base/random.hpp"
#include "tools/inspector/inspect.hpp"
#include "tools/troupe/cluster_access.hpp"
#include "tools/troupe/reporter.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

constexpr duration signal_poll = std::chrono::milliseconds{50};

// Nobody who does not read holds up the run or its end by a signal: a line waits until both streams take one. A stream
// that has failed takes everything.
bool output_takes_a_line() {
    pollfd streams[] = {{STDOUT_FILENO, POLLOUT, 0}, {STDERR_FILENO, POLLOUT, 0}};
    return poll(streams, 2, 0) == 2;
}

// Prints what the run reports, up to its end, and passes stop signals on to the trainer.
run_report watch_over(reporter& reports, node_runtime& runtime, actor_address trainer) {
    int passed_on = 0;
    for (;;) {
        const auto report = reports.wait_finished(signal_poll);
        while ((report || output_takes_a_line()) && reports.print_next()) {
        }
        if (report)
            return *report;
        while (passed_on < stop_signals()) {
            ++passed_on;
            runtime.send(trainer, frame_builder<proto::StopRun>{});
        }
    }
}

int export_trace(const run_options& options, const std::string& address) {
    inspector::inspect_options inspect;
    inspect.address = address;
    const auto access = open_access(options.access);
    if (!access)
        return report(access.failure());
    inspect.key = access->key;
    inspect.transports = access->transports;
    inspect.view = inspector::view_kind::export_trace;
    inspect.file = options.trace_file;
    return inspector::inspect(inspect, std::cerr, std::cerr);
}

// The checkpoint to go on from has all epochs that the app asks for.
int nothing_left(const run_options& options, const checkpoint_info& last) {
    if (options.json) {
        reporter nothing{{.json = true, .transport = "none"}, std::cout, std::cerr};
        nothing.finished({.checkpoint = last.folder.string()});
        nothing.print_next();
    } else
        std::cout << "nothing left to do: checkpoint " << last.folder.string() << " has "
                  << last.progress.epochs_done
                  << " epochs; for more, raise train.epochs in the app file" << std::endl;
    return 0;
}

} // namespace

int run(const run_options& options) {
    // An error before anything trains, in both forms.
    const auto refuse = [&](const error& why) {
        if (options.json)
            print_error(why, std::cout);
        return stop_signals() > 0 ? stopped(why) : report(why);
    };
    if (!options.trace_file.empty()) {
        std::error_code failed;
        const auto folder = std::filesystem::absolute(options.trace_file, failed).parent_path();
        const auto there = std::filesystem::status(options.trace_file, failed);
        if (access(folder.c_str(), W_OK) != 0 ||
            (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)))
            return refuse({errc::usage, "--trace: " + options.trace_file + " cannot be written"});
    }
    auto app = load_app(options.app.file, options.app.settings);
    if (!app)
        return refuse(app.failure());
    auto data = load_samples(*app);
    if (!data)
        return refuse(data.failure());
    auto saved = open_checkpoints(app->app(), (*data)->train.size(), options.resume);
    if (!saved)
        return refuse(saved.failure());
    if (saved->resume &&
        saved->resume->info().progress.epochs_done >= app->app().getTrain().getEpochs())
        return nothing_left(options, saved->resume->info());
    auto nodes = bring_together(options, app->app());
    if (!nodes)
        return refuse(nodes.failure());

    node_host& host = *nodes->host;
    if (!options.json) {
        note_sharing(*nodes, options.nodes);
        std::cout << "look at this run with: "
                  << attach_command(host.address(), {.access = options.access}) << '\n'
                  << std::endl;
    }
    const bool alone = options.nodes == 0 && options.cluster.empty();
    reporter reports{{.json = options.json,
                      .terminal = isatty(STDERR_FILENO) != 0,
                      .color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr,
                      .inspect_address = host.address(),
                      .transport = alone ? "in-process" : "ucx",
                      .epochs = app->app().getTrain().getEpochs(),
                      .classes = (*data)->train.classes,
                      .resumed_from = saved->resume ? saved->resume->info().folder.string() : "",
                      .time = &host.time()},
                     std::cout,
                     std::cerr};

    trainer_options training{.app = *app};
    std::uint64_t entropy = draw_node_id().value();
    training.run = split_mix(entropy);
    training.devices = nodes->devices;
    training.data = *data;
    training.worker = host.worker();
    training.store = saved->store;
    training.resume = std::move(saved->resume);
    training.memory_advice = memory_advice(options.cluster);
    training.observer = &reports;
    const actor_address trainer_address =
        host.runtime().spawn<trainer>("trainer", std::move(training));
    const run_report done = watch_over(reports, host.runtime(), trainer_address);
    if (nodes->children != nullptr)
        nodes->children->kill_at_second_signal();
    if (!options.trace_file.empty() && stop_signals() < 2 &&
        export_trace(options, host.address()) != 0 && !done.failure)
        return 1;
    if (!done.failure)
        return 0;
    return done.failure->code() == errc::cancelled ? stopped(*done.failure) : report(*done.failure);
}

} // namespace troupe::cli
