// plan: what a run would place where, without running it.
#include <iostream>

#include "schemas/base/json.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

// The devices that `run --nodes` would have, or those of the cluster or process.
std::vector<plan_device> devices_for(const plan_options& options, const run_nodes& nodes) {
    return options.nodes > 0 ? devices_of_nodes(options.nodes, options.memory_mb << 20)
                             : nodes.devices;
}

} // namespace

int plan(const plan_options& options, job_table jobs) {
    const auto app =
        load_app(options.app.file, options.app.settings, app_kinds(jobs), home_folder());
    if (!app)
        return report(app.failure());
    const auto opened = kind_of(*app, jobs).open(*app, job_purpose::plan, false);
    if (!opened)
        return report(opened.failure());
    job& what = **opened;
    note_list notes{options.json};
    notes.add(what.notes());
    // Layers that have to be measured are measured on a device of the cluster, or on one of this process.
    run_options as_run;
    as_run.cluster = options.cluster;
    as_run.access = options.access;
    as_run.devices = options.devices.empty() && options.nodes > 0 ? "cpu:1" : options.devices;
    as_run.memory_mb = options.memory_mb;
    as_run.gpu_memory_mb = options.gpu_memory_mb;
    auto nodes = bring_together(as_run, what, jobs);
    if (!nodes)
        return stop_signals() > 0 ? stopped(nodes.failure()) : report(nodes.failure());
    notes.add(what.notes_on_sharing(*nodes, options.nodes));
    if (options.cluster.empty()) // whose processors are not known here
        notes.add(what.notes_on(nodes->devices));
    const auto made = what.plan({.runtime = nodes->host->runtime(),
                                 .devices = devices_for(options, *nodes),
                                 .measured_on = nodes->devices[0],
                                 .more_memory = advice_on_memory(as_run),
                                 .of_cluster = !options.cluster.empty()},
                                options.all_layers);
    if (!made)
        return report(made.failure());
    notes.add(nodes->left_out);
    notes.add(made->notes);
    if (options.json) {
        json line = json::parse(made->json).value();
        line["notes"] = notes.kept();
        std::cout << line.dump() << std::endl;
    } else {
        std::cout << made->text;
    }
    return 0;
}

} // namespace troupe::cli
