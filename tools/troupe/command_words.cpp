#include "tools/troupe/command_words.hpp"

namespace troupe::cli {

void add_app(CLI::App* command, app_choice& app) {
    command->add_option("APP", app.file, "The app file.")->required();
    command
        ->add_option("--set", app.settings,
                     "KEY=VALUE overrides a key of the app file; may be repeated.")
        ->allow_extra_args(false);
}

namespace {

void add_memory(CLI::App* command, std::uint64_t& memory_mb) {
    command
        ->add_option("--memory-mb", memory_mb,
                     "Bound of the memory of weights and batches, in MiB.")
        ->check(number_in(16u, 1u << 24, "MiB"))
        ->capture_default_str();
}

void add_result(CLI::App* command, std::string& result, std::string& data) {
    command->add_option("RESULT", result,
                        "Of a program: the folder that it wrote; without it the app's "
                        "result.directory.");
    command->add_option("--data", data,
                        "Of a program: a file in the place of the one with the rows, such as "
                        "data.matrix.features.");
}

} // namespace

CLI::Option* add_transport(CLI::App* command, access_choice& access) {
    command->add_flag("--plain", access.plain,
                      "Does not seal what travels over TCP between machines; all of a cluster have "
                      "it, or none.");
    return command
        ->add_option("--transport", access.transport,
                     "What frames travel over: auto takes shared memory within a machine, RDMA "
                     "between machines that have it, else TCP; shm, tcp or rdma take that alone.")
        ->check(CLI::IsMember({"auto", "shm", "tcp", "rdma"}));
}

void chosen_jobs::add_option(CLI::App* command) {
    command
        ->add_option("--program", modules_,
                     "Module with a program of your own, made by tools/program; may be repeated.")
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

int chosen_jobs::call(const std::function<int(job_table)>& command) const {
    const auto kinds = source_(modules_);
    return kinds ? command(*kinds) : report(kinds.failure());
}

void add_evaluate(CLI::App& program, evaluate_options& options, chosen_jobs& jobs, int& code) {
    auto* command = program.add_subcommand(
        "evaluate", "Test saved weights on the test samples, or a program's result on data.");
    command->footer(
        "Examples: troupe evaluate my_app.yaml\n"
        "          troupe evaluate my_app.yaml --weights weights.safetensors\n"
        "          troupe evaluate my_program.yaml result --data held_out.csv\n\n"
        "Of an app with data.translation it also translates the test sentences and counts\n"
        "those that are exactly as they should be.");
    add_app(command, options.app);
    add_result(command, options.result, options.data);
    command->add_option("--weights", options.weights,
                        "A checkpoint, a folder of them, or a safetensors file; without it the "
                        "app's latest checkpoint.");
    add_memory(command, options.memory_mb);
    command->add_flag("--json", options.json, "Print JSON.");
    jobs.add_option(command);
    command->callback(
        [&] { code = jobs.call([&](job_table kinds) { return evaluate(options, kinds); }); });
}

void add_predict(CLI::App& program, predict_options& options, chosen_jobs& jobs, int& code) {
    auto* command = program.add_subcommand(
        "predict", "Let a program's result predict: a line of CSV for each row of the data.");
    command->footer(
        "Examples: troupe predict my_program.yaml result --data new.csv\n"
        "          troupe predict my_program.yaml --data new.csv --out predicted.csv\n\n"
        "The data needs no targets; those that it has are not used.");
    add_app(command, options.app);
    add_result(command, options.result, options.data);
    auto* out = command->add_option("--out", options.out, "File to write to.");
    command->add_flag("--force", options.force, "Replace a file that is there.")->needs(out);
    add_memory(command, options.memory_mb);
    command->add_flag("--json", options.json, "Say as JSON what was written.")->needs(out);
    jobs.add_option(command);
    command->callback(
        [&] { code = jobs.call([&](job_table kinds) { return predict(options, kinds); }); });
}

void add_convert(CLI::App& program, convert_options& options, int& code) {
    auto* command = program.add_subcommand(
        "convert", "Turn checkpoints into a safetensors file, or such a file into a checkpoint.");
    command->footer(
        "Examples: troupe convert my_app.yaml checkpoints weights.safetensors\n"
        "          troupe convert my_app.yaml weights.safetensors checkpoints\n\n"
        "The file has the parameters and running averages under the names of a PyTorch\n"
        "module of the same layers. From the checkpoint, `troupe run --resume` starts.");
    add_app(command, options.app);
    command
        ->add_option("FROM", options.from, "A checkpoint, a folder of them, or a safetensors file.")
        ->required();
    command->add_option("TO", options.to, "NAME.safetensors, or a folder for checkpoints.")
        ->required();
    command->add_flag("--force", options.force, "Replace a file that is there.");
    add_memory(command, options.memory_mb);
    command->callback([&] { code = convert(options); });
}

void add_generate(CLI::App& program, generate_options& options, int& code) {
    auto* command = program.add_subcommand(
        "generate", "Let a language model of bytes write on, or a model translate.");
    command->footer(
        "Examples: troupe generate apps/text_gpt/single.yaml --prompt 'A computer'\n"
        "          troupe generate apps/translation/single.yaml --prompt 'three hundred'\n\n"
        "Length, temperature and seed are those of a language model. A translation is of the\n"
        "likeliest token at every position, and stands on a line of its own for every line of the\n"
        "prompt. What the model has no space for is left out of the prompt, and characters that\n"
        "its vocabulary has not are read as one that is unknown: a note says so.");
    add_app(command, options.app);
    command->add_option("--weights", options.weights,
                        "As of evaluate; without it the app's latest checkpoint.");
    command->add_option("--prompt", options.prompt,
                        "What the text begins with, without it a new line; or what to translate, a "
                        "sentence a line.");
    command->add_option("--length", options.length, "Bytes to write.")
        ->check(number_in(1u, 1'000'000u, "bytes"))
        ->capture_default_str();
    command
        ->add_option("--temperature", options.temperature,
                     "How freely to choose; 0: always the likeliest byte.")
        ->check(number_in(0.0, 100.0))
        ->capture_default_str();
    command->add_option("--seed", options.seed, "Same seed, same text.")->capture_default_str();
    add_memory(command, options.memory_mb);
    command->callback([&] { code = generate(options); });
}

void add_pipeline(CLI::App& program, pipeline_options& options, int& code) {
    auto* command = program.add_subcommand(
        "pipeline", "Draw a pipeline's schedule over time, with its idle time and its memory.");
    command->footer(
        "Examples: troupe pipeline zero_bubble --devices 4 --microbatches 8\n"
        "          troupe pipeline interleaved --devices 4 --microbatches 8 --stages-per-device 2 "
        "--hop 0.25\n"
        "          troupe pipeline table.csv --times 1,1.2,0.8 --svg table.svg\n\n"
        "Schedules: " +
        schedule_names() +
        ".\n"
        "A file has a line per device, in the form of PyTorch's torch.distributed.pipelining.");
    command->add_option("NAME", options.name, "A schedule, or a file with a table.")->required();
    const auto add_size = [&](const char* name, std::uint32_t& number, const char* meaning,
                              std::uint32_t most) {
        command
            ->add_option_function<std::uint32_t>(
                name,
                [&](std::uint32_t given) {
                    number = given;
                    options.has_sizes = true;
                },
                meaning)
            ->check(CLI::Range(1u, most));
    };
    table_request& request = options.request;
    request.devices = 4;
    request.microbatches = 8;
    add_size("--devices", request.devices, "Devices; 4 unless said.", limits::stages_max);
    add_size("--microbatches", request.microbatches, "Microbatches of a minibatch; 8 unless said.",
             limits::schedule_microbatches_max);
    add_size("--stages-per-device", request.stages_per_device,
             "Stages on each device, of interleaved and zero_bubble.", limits::stages_max);
    add_size("--activations", request.activations,
             "Of zero_bubble_v: keeps 1 of so many parts of the activations.", 3);
    const auto add_flag = [&](const char* name, bool& flag, const char* meaning) {
        command->add_flag_function(
            name, [&](std::int64_t) { flag = options.has_sizes = true; }, meaning);
    };
    add_flag("--doubled-warm-up", request.doubled_warm_up,
             "Begins with twice as many forwards: less idle time, more memory.");
    add_flag("--vertical-sync", request.vertical_sync,
             "Of pipedream: all stages use the version that the first one used.");
    command
        ->add_option("--times", options.times,
                     "F,I,W: times of a stage that has a device for itself, forward and the two "
                     "halves of backward.")
        ->capture_default_str();
    command->add_option("--hop", options.hop, "Time from a device to the next, in the same unit.")
        ->capture_default_str();
    command->add_flag("--fit", options.fit,
                      "Order the steps anew for --times and --hop, with no more memory, where that "
                      "idles less.");
    command->add_option("--csv", options.csv_file, "Write the table to FILE, in PyTorch's form.")
        ->type_name("FILE");
    command->add_option("--svg", options.svg_file, "Write the picture to FILE.")->type_name("FILE");
    command->add_option("--trace", options.trace_file, "Write a Chrome/Perfetto trace to FILE.")
        ->type_name("FILE");
    command->callback([&] { code = pipeline(options); });
}

} // namespace troupe::cli
