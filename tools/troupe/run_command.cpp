// run: load what the app names, bring the nodes together, train.
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
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
    inspect.speaker = "troupe: --trace";
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

// What a run needs of this machine before any node: the app, its samples, its checkpoints.
struct run_inputs {
    app_definition app;
    std::shared_ptr<const data_sets> data;
    checkpoints saved;
};

result<run_inputs> load_inputs(const run_options& options) {
    if (!options.trace_file.empty())
        if (auto writable = inspector::check_trace_file(options.trace_file); !writable)
            return writable.failure().in("--trace");
    auto app = load_app(options.app.file, options.app.settings);
    if (!app)
        return app.failure();
    auto data = load_samples(*app);
    if (!data)
        return data.failure();
    if (auto enough = app->check_training((*data)->train.size()); !enough)
        return enough.failure();
    auto saved = open_checkpoints(app->app(), **data, options.resume);
    if (!saved)
        return saved.failure();
    return run_inputs{std::move(*app), std::move(*data), std::move(*saved)};
}

// An error before anything trains, in both forms.
int refuse(const run_options& options, const error& why) {
    if (options.json)
        print_error(why, std::cout);
    return why.code() == errc::cancelled ? stopped(why) : report(why);
}

// While nodes start, a signal that comes reaches some of them first: what ends then ends by it.
error by_signal(const error& why) {
    return stop_signals() > 0 ? error{errc::cancelled, why.message()} : why;
}

reporter_options reporting(const run_options& options, const run_inputs& inputs,
                           const node_host& host, const note_list& notes) {
    const bool alone = options.nodes == 0 && options.cluster.empty();
    const auto& resume = inputs.saved.resume;
    return {.json = options.json,
            .columns = isatty(STDERR_FILENO) != 0
                           ? [] { return inspector::screen_of(STDERR_FILENO).columns; }
                           : std::function<std::size_t()>{},
            .color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr,
            .inspect_address = host.address(),
            .transport = alone ? "in-process" : "ucx",
            .epochs = inputs.app.app().getTrain().getEpochs(),
            .classes = inputs.data->train.classes,
            .resumed_from = resume ? resume->info().folder.string() : "",
            .of_cluster = !options.cluster.empty(),
            .notes = notes.kept(),
            .time = &host.time()};
}

actor_address spawn_trainer(const run_options& options, run_inputs inputs, run_nodes& nodes,
                            reporter& reports) {
    trainer_options training{.app = std::move(inputs.app)};
    std::uint64_t entropy = draw_node_id().value();
    training.run = split_mix(entropy);
    training.devices = nodes.devices;
    training.data = std::move(inputs.data);
    training.worker = nodes.host->worker();
    training.store = std::move(inputs.saved.store);
    training.resume = std::move(inputs.saved.resume);
    training.more_memory = advice_on_memory(options);
    training.observer = &reports;
    return nodes.host->runtime().spawn<trainer>("trainer", std::move(training));
}

int train(const run_options& options, run_inputs inputs, run_nodes& nodes) {
    node_host& host = *nodes.host;
    note_list notes{options.json};
    notes.add(inputs.app.notes(inputs.data->train.size()));
    notes.add(inputs.data->notes);
    notes.add(notes_on_sharing(nodes, options.nodes, inputs.app.app()));
    if (options.cluster.empty()) // whose processors are not known here
        notes.add(notes_on_precision(nodes.devices, inputs.app.app()));
    if (!options.json)
        std::cout << "look at this run with: "
                  << attach_command(host.address(), {.access = options.access}) << '\n'
                  << std::endl;
    reporter reports{reporting(options, inputs, host, notes), std::cout, std::cerr};
    const actor_address trainer = spawn_trainer(options, std::move(inputs), nodes, reports);
    const run_report done = watch_over(reports, host.runtime(), trainer);
    if (nodes.children != nullptr)
        nodes.children->kill_at_second_signal();
    const bool traces = !options.trace_file.empty() && stop_signals() < 2;
    const int exported = traces ? export_trace(options, host.address()) : 0;
    if (!done.failure)
        return exported;
    return done.failure->code() == errc::cancelled ? stopped(*done.failure) : report(*done.failure);
}

} // namespace

int run(const run_options& options) {
    auto inputs = load_inputs(options);
    if (!inputs)
        return refuse(options, inputs.failure());
    const auto app = inputs->app.app();
    if (const auto& resume = inputs->saved.resume;
        resume && resume->info().progress.epochs_done >= app.getTrain().getEpochs())
        return nothing_left(options, resume->info());
    auto nodes = bring_together(options, app);
    if (!nodes)
        return refuse(options, by_signal(nodes.failure()));
    return train(options, std::move(*inputs), *nodes);
}

} // namespace troupe::cli
