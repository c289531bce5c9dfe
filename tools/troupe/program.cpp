// The command line: reads it and calls the command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <iostream>

#include "actors/app_file/file_names.hpp"
#include "schemas/base/error.hpp"
#include "tools/troupe/cluster_access.hpp"
#include "tools/troupe/command_words.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/node_host.hpp"
#include "tools/troupe/program.hpp"
#include "tools/troupe/signals.hpp"
#include "tools/troupe/standard_output.hpp"

namespace {

using namespace troupe;

CLI::Option* add_milliseconds(CLI::App* command, const char* name, duration& value,
                              const char* meaning) {
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(value);
    return command
        ->add_option_function<std::uint32_t>(
            name, [&value](std::uint32_t given) { value = std::chrono::milliseconds{given}; },
            meaning)
        ->default_str(std::to_string(now.count()));
}

CLI::Option* add_device_memory(CLI::App* command, std::uint64_t& memory_mb) {
    return command
        ->add_option("--memory-mb", memory_mb,
                     "Bound of each device's memory in the host's, in MiB.")
        ->check(cli::number_in(16u, 1u << 24, "MiB"))
        ->capture_default_str();
}

CLI::Option* add_gpu_memory(CLI::App* command, std::uint64_t& memory_mb) {
    return command
        ->add_option("--gpu-memory-mb", memory_mb,
                     "Bound of each GPU's own memory, in MiB; without it nine tenths of what is "
                     "free.")
        ->check(cli::number_in(16u, 1u << 24, "MiB"));
}

// Results that nobody could read are no success.
int check_output(int code) {
    std::cout.flush();
    if (std::cout.good())
        return code;
    std::cerr << "troupe: standard output is full or closed; not all of it was written"
              << std::endl;
    return code == 0 ? 1 : code;
}

void add_run(CLI::App& program, cli::run_options& run, cli::chosen_jobs& jobs, int& code) {
    auto* run_command = program.add_subcommand("run", "Run an app: train what it says.");
    run_command->footer(
        "Example: troupe run apps/fashion_mnist/pipedream.yaml --nodes 2 --set train.epochs=1\n\n"
        "Exit codes: 0 done; 1 the run failed, or its output, its trace or what it ends with\n"
        "could not be written; 2 the command line, the app file, or a file that they name is\n"
        "wrong; 3 the cluster could not be reached or was lost; 130 and 143 stopped by Ctrl-C\n"
        "(SIGINT) or SIGTERM, after a checkpoint if the app names a folder for them; a second\n"
        "one stops at once. A run goes on to its end though its standard output or a\n"
        "checkpoint cannot be written.");
    cli::add_app(run_command, run.app);
    auto* run_nodes = run_command
                          ->add_option("--nodes", run.nodes,
                                       "Start so many node processes here and train on them.")
                          ->check(cli::number_in(1, 64));
    auto* run_cluster =
        run_command
            ->add_option("--cluster", run.cluster,
                         "HOST:PORT of any node of a running cluster: train on its nodes.")
            ->excludes(run_nodes);
    run_command
        ->add_option(
            "--devices", run.devices,
            "Devices of this process, when it trains alone: cpu:N for N cores, cuda:I for a GPU, "
            "several with commas between them.")
        ->excludes(run_nodes)
        ->excludes(run_cluster);
    run_command->add_option("--key", run.access.key_file, "File with the cluster's key.");
    cli::add_transport(run_command, run.access);
    run_command->add_flag("--resume", run.resume,
                          "Go on from the latest checkpoint of the app's checkpoint folder.");
    run_command->add_option("--result-directory", run.result_directory,
                            "Of a program: where its result goes, in the place of the app's "
                            "result.directory.");
    run_command->add_flag(
        "--json", run.json,
        "One JSON object per line on standard output: start, epoch or sweep, note, done, error.");
    auto* run_trace = run_command->add_option(
        "--trace", run.trace_file, "Write a Chrome/Perfetto trace of the run's last part to FILE.");
    run_command
        ->add_flag("--no-trace", run.no_trace,
                   "Record no trace, here and on the nodes that are started: for benchmarks.")
        ->excludes(run_trace);
    run_command
        ->add_option_function<std::uint32_t>(
            "--patience",
            [&run](std::uint32_t given) { run.patience = std::chrono::seconds{given}; },
            "Seconds after which a node that sends heartbeats over an idle link, but answers "
            "nothing, counts as lost; a note names it after 10. 0: the run waits for ever.")
        ->default_str(
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(run.patience).count()))
        ->check(cli::number_in(0, 86400, "seconds"));
    add_device_memory(run_command, run.memory_mb)->excludes(run_cluster);
    add_gpu_memory(run_command, run.gpu_memory_mb)->excludes(run_nodes)->excludes(run_cluster);
    jobs.add_option(run_command);
    run_command->callback([&] {
        run.modules = jobs.modules();
        code = jobs.call([&](cli::job_table kinds) { return cli::run(run, kinds); });
    });
}

void add_node(CLI::App& program, cli::node_options_cli& node, cli::chosen_jobs& jobs, int& code) {
    auto* node_command = program.add_subcommand("node", "Offer this machine's devices to runs.");
    node_command->footer(
        "Example: troupe node --listen 192.0.2.1:4711 --key cluster.key --devices cpu:2\n"
        "         troupe node --listen 192.0.2.2:4711 --key cluster.key --join 192.0.2.1:4711");
    node_command
        ->add_option(
            "--listen", node.node.listen,
            "HOST:PORT to listen on, reached by all of the cluster; port 0 picks a free one.")
        ->capture_default_str();
    node_command->add_option("--join", node.node.join,
                             "HOST:PORT of any node of the cluster to join.");
    node_command->add_option(
        "--name", node.node.name,
        "Name of this node, unique in the cluster; without one, made of address and port.");
    node_command
        ->add_option(
            "--devices", node.node.devices,
            "cpu:N offers N CPU devices of one core each, cuda:I the GPU of that number; several "
            "with commas between them: cpu:1,cuda:0.")
        ->capture_default_str();
    node_command->add_option("--key", node.node.access.key_file,
                             "File with the cluster's keys; needed off the loopback address.");
    cli::add_transport(node_command, node.node.access);
    add_device_memory(node_command, node.node.memory_mb);
    add_gpu_memory(node_command, node.node.gpu_memory_mb);
    add_milliseconds(node_command, "--heartbeat-ms", node.node.heartbeat.interval,
                     "Interval of heartbeats.")
        ->check(cli::number_in(10, 60000, "milliseconds"));
    add_milliseconds(node_command, "--heartbeat-timeout-ms", node.node.heartbeat.timeout,
                     "Silence after which a node is lost.")
        ->check(cli::number_in(20, 600000, "milliseconds"));
    auto* run_timeout =
        add_milliseconds(node_command, "--run-timeout-ms", node.node.heartbeat.run_timeout,
                         "Silence after which a run is given up whose process is stopped or cut "
                         "off; at least --heartbeat-timeout-ms.")
            ->check(cli::number_in(20, 86400000, "milliseconds"));
    node_command->add_flag("--no-trace", node.no_trace, "Record no trace: for benchmarks.");
    node_command->add_flag("--json", node.json, "Say where it listens as JSON.");
    node_command->add_flag("--quiet", node.quiet,
                           "Log nothing of who joins or leaves, what runs do here, and its end.");
    jobs.add_option(node_command);
    node_command->callback([&, run_timeout] {
        auto& beats = node.node.heartbeat;
        if (run_timeout->count() == 0) // nobody waits for a run less than for a node
            beats.run_timeout = std::max(beats.run_timeout, beats.timeout);
        code = jobs.call([&](cli::job_table kinds) { return cli::node(node, kinds); });
    });
}

void add_check(CLI::App& program, cli::check_options& check, cli::chosen_jobs& jobs, int& code) {
    auto* check_command = program.add_subcommand(
        "check", "Check an app file and the data that it names, without running it.");
    check_command->footer("Examples: troupe check my_app.yaml --print\n"
                          "          troupe check my_app.yaml --nodes 4");
    auto* check_app = check_command->add_option("APP", check.app.file, "The app file.");
    auto* check_set =
        check_command->add_option("--set", check.app.settings, "KEY=VALUE overrides a key.")
            ->allow_extra_args(false);
    auto* check_nodes =
        check_command
            ->add_option("--nodes", check.nodes,
                         "Check as well whether it fits so many local nodes of one device.")
            ->check(cli::number_in(1, 64));
    auto* check_devices =
        check_command
            ->add_option("--devices", check.devices,
                         "Or whether it fits the devices of one process, cpu:N or cuda:I.")
            ->excludes(check_nodes);
    auto* check_print = check_command->add_flag(
        "--print", check.print, "Print the definition with every default filled in.");
    check_command
        ->add_flag("--json-schema", check.json_schema,
                   "Print the JSON Schema of app files, for editors.")
        ->excludes(check_app)
        ->excludes(check_set)
        ->excludes(check_nodes)
        ->excludes(check_devices)
        ->excludes(check_print);
    jobs.add_option(check_command);
    check_command->callback([&] {
        if (check.app.file.empty() && !check.json_schema)
            throw CLI::RequiredError("APP");
        code = jobs.call([&](cli::job_table kinds) { return cli::check(check, kinds); });
    });
}

void add_plan(CLI::App& program, cli::plan_options& plan, cli::chosen_jobs& jobs, int& code) {
    auto* plan_command = program.add_subcommand(
        "plan", "Print the layers, which actor would run where and what flows between them.");
    plan_command->footer("Example: troupe plan apps/fashion_mnist/pipedream.yaml --nodes 2");
    cli::add_app(plan_command, plan.app);
    auto* plan_nodes =
        plan_command
            ->add_option("--nodes", plan.nodes, "Plan for so many local nodes of one device.")
            ->check(cli::number_in(1, 64));
    auto* plan_cluster = plan_command
                             ->add_option("--cluster", plan.cluster,
                                          "HOST:PORT: plan for the devices of a running cluster.")
                             ->excludes(plan_nodes);
    plan_command->add_option("--devices", plan.devices, "Devices of one process, cpu:N or cuda:I.")
        ->excludes(plan_nodes)
        ->excludes(plan_cluster);
    plan_command->add_option("--key", plan.access.key_file, "File with the cluster's key.")
        ->needs(plan_cluster);
    cli::add_transport(plan_command, plan.access)->needs(plan_cluster);
    add_device_memory(plan_command, plan.memory_mb)->excludes(plan_cluster);
    add_gpu_memory(plan_command, plan.gpu_memory_mb)->excludes(plan_nodes)->excludes(plan_cluster);
    plan_command->add_flag("--layers", plan.all_layers,
                           "List the layers of repeated blocks every time, not once.");
    plan_command->add_flag("--json", plan.json, "Print the plan as JSON, with all layers.");
    jobs.add_option(plan_command);
    plan_command->callback(
        [&] { code = jobs.call([&](cli::job_table kinds) { return cli::plan(plan, kinds); }); });
}

void add_explain(CLI::App& program, std::string& key, cli::chosen_jobs& jobs, int& code) {
    auto* explain_command = program.add_subcommand("explain", "Explain a key of the app file.");
    explain_command->footer("Example: troupe explain topology.pipeline.stages");
    explain_command->add_option("KEY", key, "Dotted key; without one, the whole file.");
    jobs.add_option(explain_command);
    explain_command->callback(
        [&] { code = jobs.call([&](cli::job_table kinds) { return cli::explain(key, kinds); }); });
}

void add_status(CLI::App& program, cli::status_options& status, int& code) {
    auto* status_command =
        program.add_subcommand("status", "Show the nodes and devices of a cluster.");
    status_command->footer("Example: troupe status 127.0.0.1:4711");
    status_command->add_option("ADDRESS", status.address, "HOST:PORT of any node.")->required();
    status_command->add_option("--key", status.access.key_file, "File with the cluster's key.");
    cli::add_transport(status_command, status.access);
    status_command->add_flag("--json", status.json, "Print JSON.");
    status_command->callback([&] { code = cli::status(status); });
}

void add_bench(CLI::App& program, int& code) {
    auto* bench_command =
        program.add_subcommand("bench", "Measure beside the peers and the machine's limits.");
    bench_command->footer(
        "Example: troupe bench frames --repetitions 5\n"
        "Benchmarks: frames, actors, operations, tracing, training, models, "
        "straggler, all_reduce, params, slow_link, gpu, accuracy, topologies, scheduled. "
        "They need the source tree.\n"
        "What follows the benchmark's name is for the benchmark, --help too.");
    bench_command->prefix_command(); // from the first word that is not an option of its own
    bench_command->callback(
        [bench_command, &code] { code = cli::bench(bench_command->remaining()); });
}

// Options whose values are names of files or folders.
constexpr std::array<std::string_view, 13> names_of_files{
    "APP",   "RESULT", "FROM",    "TO",        "NAME",  "--data", "--weights",
    "--out", "--key",  "--trace", "--program", "--csv", "--svg"};

// Every option of every command: their values, and the exit code of the command that was called.
struct command_line {
    command_line(CLI::App& program, const cli::job_source& source);

    cli::chosen_jobs jobs;

    cli::run_options run;
    cli::node_options_cli node;
    cli::check_options check;
    cli::plan_options plan;
    std::string key;
    cli::evaluate_options evaluate;
    cli::predict_options predict;
    cli::convert_options convert;
    cli::generate_options generate;
    cli::status_options status;
    cli::pipeline_options pipeline;
    cli::inspect_words inspect;
    int code = 0;
};

command_line::command_line(CLI::App& program, const cli::job_source& source) : jobs{source} {
    program.require_subcommand(1);
    program.set_version_flag("--version", TROUPE_VERSION);
    program.get_formatter()->column_width(34);
    add_run(program, run, jobs, code);
    add_node(program, node, jobs, code);
    add_check(program, check, jobs, code);
    add_plan(program, plan, jobs, code);
    add_explain(program, key, jobs, code);
    cli::add_evaluate(program, evaluate, jobs, code);
    cli::add_predict(program, predict, jobs, code);
    cli::add_convert(program, convert, code);
    cli::add_generate(program, generate, code);
    add_status(program, status, code);
    add_bench(program, code);
    cli::add_pipeline(program, pipeline, code);
    cli::add_inspect(program, inspect, code);
    // --key "$UNSET" must not run without a key.
    const auto refuse_empty = [](const std::string& value) {
        return std::string{value.empty() ? "needs a value" : ""};
    };
    // The shell does this for words alone, not behind "--data=".
    const std::function<std::string(std::string)> from_home = [](const std::string& name) {
        auto whole = with_home(name, cli::home_folder());
        if (!whole)
            throw CLI::ValidationError(whole.failure().message());
        return *whole;
    };
    for (CLI::App* command : program.get_subcommands({}))
        for (CLI::Option* option : command->get_options())
            if (option->get_items_expected_max() > 0) {
                option->check(refuse_empty);
                if (std::ranges::count(names_of_files, option->get_name()) > 0)
                    option->transform(from_home);
            }
}

} // namespace

namespace troupe::cli {

int run_program(int argc, char** argv, const job_source& jobs) {
    own_standard_output();
    CLI::App program{"Troupe trains models with actors.\n\n"
                     "  troupe run apps/fashion_mnist/pipedream.yaml --nodes 2   train on two "
                     "local node processes\n"
                     "  troupe inspect 127.0.0.1:4711 tail type=Activation      watch the messages "
                     "of a running node",
                     "troupe"};
    command_line line{program, jobs};
    cli::install_signal_handlers();
    try {
        program.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) // --help, --version
            return check_output(program.exit(e, std::cout, std::cerr));
        const bool unknown = program.get_subcommands().empty() && argc > 1;
        std::cerr << "troupe: "
                  << (unknown ? "there is no command '" + std::string{argv[1]} + "'"
                              : std::string{e.what()})
                  << "; see troupe "
                  << (program.get_subcommands().empty() ? "" : argv[1] + std::string{" "})
                  << "--help" << std::endl;
        return 2;
    }
    return check_output(line.code);
}

} // namespace troupe::cli
