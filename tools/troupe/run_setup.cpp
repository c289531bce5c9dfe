#include "tools/troupe/run_setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <thread>

#include "actors/pipeline/run_shape.hpp"
#include "actors/plan/app_file.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/printable.hpp"
#include "tools/troupe/saved_weights.hpp"
#include "transport/ucx/socket.hpp"

namespace troupe::cli {

result<std::shared_ptr<const data_sets>> load_samples(const app_definition& definition) {
    const auto app = definition.app();
    const auto layers = describe_model(app.getModel());
    if (!layers)
        return layers.failure();
    const value_form inputs = input_form(app.getModel()).value();
    const auto loss = model_loss::create(app.getModel().getLoss(), layers->back().output_shape);
    if (!loss)
        return loss.failure();
    auto sets = load_data(app.getData(), inputs.shape, app.getTrain().getSeed());
    if (!sets)
        return definition.at_its_place(sets.failure());
    for (dataset* set : {&sets->train, &sets->test})
        if (auto fits = fit_to_model(*set, inputs, loss->labels()); !fits)
            return definition.at_its_place(fits.failure());
    for (std::string& text : sets->notes)
        text = definition.at_its_place({errc::usage, text}).message();
    return std::make_shared<const data_sets>(std::move(sets).value());
}

namespace {

// What a run that goes on must have in common with the one that saved, and has not.
std::vector<std::string> other_than_saved(proto::App::Reader app, const data_sets& data,
                                          const checkpoint_progress& saved) {
    std::vector<std::string> others;
    const auto compare = [&](const char* what, std::uint64_t then, std::uint64_t now) {
        if (then != now)
            others.push_back(std::string{what} + " " + std::to_string(then) + ", not " +
                             std::to_string(now));
    };
    if (auto other = model_difference(saved.model, app.getModel()); !other.empty())
        others.push_back(std::move(other));
    if (is_another_vocabulary(saved.vocabulary_sha256, data.vocabulary_sha256))
        others.push_back("another data.translation.vocabulary_file, of SHA-256 " +
                         saved.vocabulary_sha256);
    compare("train.seed", saved.seed, app.getTrain().getSeed());
    const std::size_t train_samples = data.train.size();
    const run_shape shape = run_shape::of(app.getTrain(), train_samples);
    const std::uint32_t batch = shape.batch.at(saved.epochs_done);
    if (!app.getTrain().hasBatchGrowth())
        compare("train.batch", saved.batch, batch);
    else if (saved.batch != batch)
        others.push_back("minibatches of " + std::to_string(saved.batch) + " samples in epoch " +
                         std::to_string(saved.epochs_done + 1) +
                         ", where train.batch and train.batch_growth now make " +
                         std::to_string(batch));
    compare("a number of training samples of", saved.train_samples, train_samples);
    if (others.empty() && saved.minibatches_done != shape.minibatches_before(saved.epochs_done) +
                                                        saved.minibatches_of_epoch)
        others.emplace_back("another train.batch_growth");
    return others;
}

// One whose numbers a run can train on from.
result<loaded_checkpoint> load_usable(const checkpoint_info& info) {
    auto loaded = load_checkpoint(info);
    if (!loaded)
        return loaded;
    if (auto finite = loaded->check_finite(); !finite)
        return finite.failure();
    return loaded;
}

// What to do about the latest checkpoint, which cannot be used: older ones may be damaged, too.
std::string advice_on_damage(const checkpoint_info& latest) {
    std::vector<std::string> damaged{latest.folder.string()};
    auto all = list_checkpoints(latest.folder.parent_path());
    if (!all)
        return "; delete " + damaged.front();
    for (const checkpoint_info& older : *all | std::views::reverse) {
        if (older.folder == latest.folder)
            continue;
        if (load_usable(older))
            return "; delete " + in_a_row(damaged) + " to go on from " + older.folder.string();
        damaged.push_back(older.folder.string());
    }
    return "; there is no older one to go on from: delete " + in_a_row(damaged) +
           " and train anew without --resume";
}

// How to train on from weights that another run saved, where the model has the same.
std::string advice_on_weights(proto::Model::Reader model, const data_sets& data,
                              const checkpoint_info& latest) {
    if (is_another_vocabulary(latest.progress.vocabulary_sha256, data.vocabulary_sha256))
        return "";
    const auto saved = load_usable(latest);
    const auto layout = stage_program::whole(model)->layout({});
    const auto is_there = [&](const weights_layout::entry& wanted) {
        const named_tensor* t = saved->find(wanted.name);
        return t != nullptr && t->shape == wanted.shape;
    };
    return saved && std::ranges::all_of(layout.entries(), is_there)
               ? "; `troupe convert APP.yaml " + latest.folder.string() +
                     " FOLDER` makes a checkpoint of its weights that this run goes on from"
               : "";
}

// What an earlier build took for the updates of each weight may be more than its optimizer had made.
void note_counts(proto::App::Reader app, const checkpoint_info& saved) {
    const auto optimizer = app.getTrain().getOptimizer();
    if (saved.counts_updates || !counts_updates(optimizer))
        return;
    note("--resume: " + saved.folder.string() +
         " was saved by an earlier build, without the optimizer's counts of updates; " +
         optimizer_word(optimizer) + " goes on as if it had made " +
         std::to_string(saved.progress.version.value()) +
         " of every weight, as that build took it, which is more than it has where replicas of a "
         "stage or of the whole updated by themselves");
}

// The optimizer's state that the checkpoint lacks, and what it has of another's.
void note_optimizer(proto::App::Reader app, const loaded_checkpoint& saved) {
    const auto kind_of = [](std::string_view name) { // of "exp_avg.layers.0.weight"
        return printable(name.substr(0, name.find(".layers.")), limits::name_bytes_max);
    };
    const auto model = app.getModel();
    const auto rule = make_optimizer(app.getTrain().getOptimizer());
    const auto layout = stage_program::whole(model)->layout(rule->state());
    std::set<std::string> known, shared, missing, others;
    for (const auto& entry : layout.entries()) {
        known.insert(entry.name);
        if (entry.is_state)
            (saved.find(entry.name) == nullptr ? missing : shared).insert(kind_of(entry.name));
    }
    for (const safetensors_file& file : saved.files())
        for (const named_tensor& t : file.view.tensors)
            if (!known.contains(t.name) && t.name.find(".layers.") != std::string::npos)
                others.insert(kind_of(t.name));
    const auto words = [](const std::set<std::string>& kinds) {
        constexpr std::size_t shown_max = 4;
        std::vector<std::string> few;
        std::ranges::copy(kinds | std::views::take(shown_max), std::back_inserter(few));
        return in_a_row(few) + (kinds.size() > few.size()
                                    ? " and " + std::to_string(kinds.size() - few.size()) + " more"
                                    : "");
    };
    const std::string from = "--resume: " + saved.info().folder.string();
    const std::string then = printable(saved.info().progress.optimizer, limits::name_bytes_max);
    const std::string now = optimizer_word(app.getTrain().getOptimizer());
    if (!then.empty() && then != now && !shared.empty())
        note(from + " was saved with train.optimizer " + then + "; " + now +
             " goes on with its state: " + words(shared));
    if (!others.empty())
        note(from +
             " was saved with another train.optimizer; its state is left out: " + words(others));
    if (!shared.empty())
        note_counts(app, saved.info());
    if (!missing.empty())
        note(from + " has not the state of this train.optimizer, which begins with zeros: " +
             words(missing));
    if (const auto topology = app.getTopology();
        topology.getReplicas() > 1 && !rule->state().empty()) {
        const auto sync = replica_sync::of(topology.getSync(), topology.getReplicas());
        if (sync && sync->exchange)
            note(std::string{"--resume: with "} + name_of(*sync->exchange) +
                 " a checkpoint has what the first replica's optimizer kept; all replicas begin "
                 "with that");
    }
}

result<void> load_latest(proto::App::Reader app, const data_sets& data,
                         const checkpoint_info& latest, checkpoints& out) {
    if (const auto others = other_than_saved(app, data, latest.progress); !others.empty())
        return error{errc::usage, "--resume: " + latest.folder.string() + " was saved with " +
                                      in_a_row(others) +
                                      "; resume with the same, or train into another folder" +
                                      advice_on_weights(app.getModel(), data, latest)};
    auto loaded = load_usable(latest);
    if (loaded)
        note_optimizer(app, *loaded);
    if (!loaded && loaded.failure().code() == errc::data)
        return error{errc::data, loaded.failure().message() + advice_on_damage(latest)};
    if (!loaded)
        return loaded.failure();
    out.resume = std::make_shared<const loaded_checkpoint>(std::move(loaded).value());
    return {};
}

} // namespace

result<checkpoints> open_checkpoints(proto::App::Reader app, const data_sets& data, bool resume) {
    checkpoints out;
    if (!app.hasCheckpoint()) {
        if (resume)
            return error{
                errc::usage,
                "--resume: the app file names no checkpoint folder; add checkpoint.directory"};
        return out;
    }
    const std::string directory = app.getCheckpoint().getDirectory().cStr();
    auto store = checkpoint_store::open({directory, app.getCheckpoint().getKeep()});
    if (!store)
        return store.failure().in("checkpoint.directory");
    out.store = std::make_shared<checkpoint_store>(std::move(store).value());
    auto latest = out.store->latest();
    if (!latest)
        return latest.failure();
    if (latest->has_value() && !resume)
        return error{
            errc::usage,
            "checkpoint.directory: " + directory +
                " has checkpoints of an earlier run; go on from them with --resume, or name "
                "another folder"};
    if (!latest->has_value() && resume)
        return error{errc::usage, "--resume: " + directory + " has no checkpoint"};
    if (latest->has_value())
        if (auto loaded = load_latest(app, data, **latest, out); !loaded)
            return loaded.failure();
    return out;
}

namespace {

constexpr const char* alone_name = "local"; // of a node without others

std::string default_devices(proto::App::Reader app) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    const bool is_one = app.getTopology().isSingle() && app.getTopology().getReplicas() == 1;
    return is_one ? "cpu:1" : "cpu:" + std::to_string(cores);
}

} // namespace

std::vector<plan_device> devices_of_nodes(std::uint32_t nodes, std::uint64_t memory_bytes) {
    std::vector<plan_device> devices;
    for (std::uint32_t n = 0; n < nodes; ++n)
        devices.push_back({.node = node_id{n + 1},
                           .node_name = "node-" + std::to_string(n),
                           .device = "cpu:0",
                           .memory_bytes = memory_bytes});
    return devices;
}

std::vector<plan_device> devices_of_process(const device_choice& chosen) {
    std::vector<plan_device> devices;
    for (const std::string& name : chosen.names())
        devices.push_back({node_id{1}, alone_name, name});
    return devices;
}

result<run_nodes> bring_together(const run_options& options, proto::App::Reader app) {
    run_nodes nodes;
    node_host_options host{.role = peer_role::client, .tracing = !options.no_trace};
    host.node.access = options.access;
    const bool alone = options.nodes == 0 && options.cluster.empty();
    host.node.name = alone ? alone_name : "run-" + host_name() + "-" + std::to_string(getpid());
    host.node.join = options.cluster;
    host.node.devices = "";
    host.node.memory_mb = options.memory_mb;
    if (!options.cluster.empty()) {
        auto listen = address_towards(options.cluster);
        if (!listen)
            return listen.failure().in("--cluster");
        if (options.access.key_file.empty() && !resolve(*listen)->is_loopback())
            return error{errc::usage, "--cluster: " + options.cluster +
                                          " is another machine, whose nodes want the cluster's "
                                          "key; give it by --key FILE"};
        host.node.listen = *listen;
    }
    if (options.nodes > 0) {
        // What is wrong with the key is told once, by the run, and not by each child.
        if (const auto usable = open_access(options.access); !usable)
            return usable.failure();
        auto children = child_nodes::start(
            {options.nodes, options.access, options.memory_mb, options.no_trace});
        if (!children)
            return children.failure();
        nodes.children = std::move(children).value();
        host.node.join = nodes.children->address();
    } else if (alone) {
        host.node.devices = options.devices.empty() ? default_devices(app) : options.devices;
        host.node.gpu_memory_mb = options.gpu_memory_mb;
    }
    auto started = node_host::start(host);
    if (!started)
        return started.failure();
    nodes.host = std::move(started).value();
    auto members = nodes.host->members();
    if (!members)
        return members.failure();
    nodes.devices = devices_of(*members);
    for (const member_info& m : *members)
        if (m.role == peer_role::client && m.name != nodes.host->name())
            nodes.others.push_back(m.name);
    if (nodes.devices.empty())
        return error{errc::unreachable,
                     "the cluster at " + options.cluster + " has no devices; start `troupe node`s"};
    return nodes;
}

void note_list::add(const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences)
        if (is_json_)
            kept_.push_back(sentence);
        else
            note(sentence);
}

memory_advice advice_on_memory(const run_options& options) {
    const bool of_cluster = !options.cluster.empty();
    const std::string larger =
        of_cluster ? ", or start nodes with a larger bound: troupe node " : ", or a larger bound: ";
    memory_advice advice{larger + "--memory-mb", larger + "--gpu-memory-mb"};
    if (!of_cluster && options.gpu_memory_mb == 0)
        advice.of_gpus = ""; // what is free is theirs
    return advice;
}

std::vector<std::string> notes_on_precision(std::span<const plan_device> devices,
                                            proto::App::Reader app) {
    const proto::Precision precision = app.getModel().getPrecision();
    if (precision == proto::Precision::TF32 && std::ranges::none_of(devices, is_gpu))
        return {"model.precision: tf32 is for GPUs; processors multiply as with f32, so leave it "
                "out or name GPUs, as with --devices cuda:0"};
    const bool is_bf16 = precision == proto::Precision::BF16 && !cpu_is_faster_in_bf16();
    if (std::ranges::all_of(devices, is_gpu) || (!is_bf16 && precision != proto::Precision::F16))
        return {};
    return {"model.precision: this processor multiplies " + std::string{is_bf16 ? "bf16" : "f16"} +
            " no faster than f32; leave it out where speed is what you want"};
}

bool is_cut_by_devices(proto::Topology::Reader topology) {
    return topology.getReplicas() == 1 && topology.isPipeline() &&
           topology.getPipeline().getStages().isAuto();
}

std::vector<std::string> notes_on_sharing(const run_nodes& nodes, std::uint32_t children,
                                          proto::App::Reader app) {
    std::vector<std::string> notes;
    const std::size_t devices = std::max<std::size_t>(children, nodes.devices.size());
    const auto own = std::ranges::count(nodes.devices, nodes.host->name(), &plan_device::node_name);
    const auto gpus = std::ranges::count_if(nodes.devices, is_gpu);
    const auto own_gpus = std::ranges::count_if(nodes.devices, [&](const plan_device& d) {
        return is_gpu(d) && d.node_name == nodes.host->name();
    });
    const auto here = children > 0 ? children : static_cast<std::size_t>(own - own_gpus);
    if (app.getTopology().isPipeline() && !app.getTopology().getPipeline().getStages().isList() &&
        gpus > 0 && static_cast<std::size_t>(gpus) < nodes.devices.size())
        notes.push_back("topology.pipeline.stages: cut as if all devices were as fast as " +
                        nodes.devices[0].device +
                        "; give a list of stages for GPUs and processors together");
    const std::uint32_t replicas = app.getTopology().getReplicas();
    if (app.getTopology().isSingle() && replicas > 1 && devices > replicas)
        notes.push_back("topology.replicas: " + std::to_string(devices - replicas) + " of " +
                        std::to_string(devices) + " devices have nothing to do");
    else if (app.getTopology().isSingle() && replicas == 1 && devices > 1)
        notes.push_back(
            "topology: single, so that one of " + std::to_string(devices) +
            " devices does all the work; a stage for each is topology: {pipeline: {stages: auto}}");
    else if (const auto cores = note_of_cores(here); !cores.empty())
        notes.push_back(cores + (is_cut_by_devices(app.getTopology())
                                     ? "; `stages: auto` makes a stage for each of them"
                                     : ""));
    if (!app.getTopology().isSingle() && devices > replicas && devices % replicas > 0)
        notes.push_back("topology.replicas: each has " + std::to_string(devices / replicas) +
                        " of " + std::to_string(devices) + " devices, and " +
                        std::to_string(devices % replicas) + " nothing to do");
    if (!nodes.others.empty())
        notes.push_back(in_a_row(nodes.others) + (nodes.others.size() == 1 ? " uses" : " use") +
                        " this cluster too; runs take turns on the devices that they share");
    return notes;
}

} // namespace troupe::cli
