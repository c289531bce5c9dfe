#include "tools/troupe/training_job.hpp"

#include "actors/messages.hpp"
#include "actors/pipeline/layer_profiler.hpp"
#include "actors/training/plan/plan_json.hpp"
#include "actors/training/plan/table_file.hpp"
#include "actors/training/resume.hpp"
#include "actors/training/roles/training_roles.hpp"
#include "actors/training/samples.hpp"
#include "actors/training/trainer.hpp"
#include "actors/training/training_messages.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/nearest.hpp"
#include "tools/troupe/evaluate_network.hpp"
#include "tools/troupe/handed_over.hpp"
#include "tools/troupe/run_setup.hpp"

namespace troupe::cli {

namespace {

// ---- notes ----

// A precision that does nothing, or costs time, on the processors of this machine among these devices.
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

// Other runs on the same devices, devices on the same cores, and devices that the app leaves idle: of this process, or of so
// many `children` with one each.
std::vector<std::string> sharing_notes(const run_nodes& nodes, std::uint32_t children,
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
    if (auto sets = note_of_instruction_sets(nodes.devices); !sets.empty())
        notes.push_back(std::move(sets));
    if (!nodes.others.empty())
        notes.push_back(join(nodes.others) + (nodes.others.size() == 1 ? " uses" : " use") +
                        " this cluster too; runs take turns on the devices that they share");
    return notes;
}

// ---- measured layers ----

using layer_times = std::vector<double>;

// Asks the profiler of a device's node what every layer costs there, and hands the answer over.
class profile_question final : public actor {
  public:
    using answer = handed_over<result<layer_times>>;

    profile_question(actor_context& context, training_app app, plan_device where,
                     std::shared_ptr<answer> to)
        : actor{context}, app_{std::move(app)}, where_{std::move(where)}, to_{std::move(to)} {
        on<proto::LayerTimes>(&profile_question::times);
        on<proto::ProfileFailed>(&profile_question::failed);
    }

  private:
    void on_start() override {
        const actor_address profiler{where_.node, well_known::profiler};
        watch(profiler);
        frame_builder<proto::ProfileModel> request;
        request.body().setDevice(where_.device.c_str());
        request.body().setBatch(app_.app().getTrain().getBatch());
        request.body().setModel(app_.app().getModel());
        send(profiler, std::move(request));
    }
    void times(proto::LayerTimes::Reader body, const frame&) {
        if (body.getNanoseconds().size() != count_layers(app_.app().getModel()))
            return end(error{errc::protocol, "the measured layer times do not fit the model"});
        layer_times measured;
        for (const std::uint64_t ns : body.getNanoseconds())
            measured.push_back(static_cast<double>(ns));
        end(std::move(measured));
    }
    void failed(proto::ProfileFailed::Reader body, const frame&) {
        end(read_failure(body.getFailure()).in("measuring the layers on " + where_text(where_)));
    }
    void on_down(actor_address, const error& why) override { end(why); }
    void end(result<layer_times> outcome) {
        to_->give(std::move(outcome));
        quit();
    }

    training_app app_;
    plan_device where_;
    std::shared_ptr<answer> to_;
};

result<layer_times> measure_layers(const job_site& site, const training_app& app) {
    auto answer = std::make_shared<profile_question::answer>();
    site.runtime.spawn<profile_question>("profile-question", app, site.measured_on, answer);
    auto given = answer->wait();
    return given ? *given : result<layer_times>{given.failure()};
}

// `why` is of measuring on that device: what is exhausted is memory.
error advised(const error& why, const job_site& site, proto::App::Reader app) {
    if (why.code() != errc::exhausted)
        return why;
    return {why.code(),
            why.message() + "; use " +
                (app.getTrain().getBatch() > 1 ? "a smaller train.batch" : "smaller layers") +
                " or more stages" +
                (is_gpu(site.measured_on) ? site.more_memory.of_gpus : site.more_memory.of_host)};
}

// ---- the job ----

class training final : public job {
  public:
    training(training_app app, std::shared_ptr<const schedule_table> table,
             std::shared_ptr<const data_sets> data, checkpoints saved)
        : app_{std::move(app)}, table_{std::move(table)}, data_{std::move(data)}, saved_{std::move(
                                                                                      saved)} {}

    std::vector<std::string> notes() const override {
        if (!data_)
            return app_.notes();
        std::vector<std::string> all = app_.notes(data_->train.size());
        all.insert(all.end(), data_->notes.begin(), data_->notes.end());
        return all;
    }
    std::vector<std::string> notes_on(std::span<const plan_device> devices) const override {
        return notes_on_precision(devices, app());
    }
    std::vector<std::string> notes_on_sharing(const run_nodes& nodes,
                                              std::uint32_t children) const override {
        return sharing_notes(nodes, children, app());
    }
    bool is_for_one_device() const override {
        return app().getTopology().isSingle() && app().getTopology().getReplicas() == 1;
    }

    // All layers take the same time here, where times decide.
    result<void> check_place(const std::vector<plan_device>& devices) const override {
        const std::size_t layers = count_layers(app().getModel());
        if (auto made = make_plan({app(), devices, std::vector<double>(layers, 1), table_}); !made)
            return app_.at_its_place(made.failure());
        return {};
    }

    result<planned_job> plan(const job_site& site, bool all) override {
        plan_request request{app(), site.devices, {}, table_};
        if (needs_layer_times(app(), request.devices)) {
            auto times = measure_layers(site, app_);
            if (!times)
                return advised(times.failure(), site, app());
            request.layer_ns = std::move(times).value();
        }
        const auto made = make_plan(request);
        if (!made)
            return app_.at_its_place(made.failure());
        json planned = to_json(*made);
        planned["layers"] = layers_to_json(*made);
        return planned_job{.text = describe_layers(*made, all) + "\n" + describe(*made),
                           .json = planned.dump(),
                           .notes = notes_of(*made, site.of_cluster)};
    }

    std::optional<nothing_left> is_done() const override {
        if (!saved_.resume)
            return std::nullopt;
        const checkpoint_info& last = saved_.resume->info();
        if (last.progress.epochs_done < app().getTrain().getEpochs())
            return std::nullopt;
        return nothing_left{"nothing left to do: checkpoint " + last.folder.string() + " has " +
                                std::to_string(last.progress.epochs_done) +
                                " epochs; for more, raise train.epochs in the app file",
                            news_of(run_report{.checkpoint = last.folder.string()}, 0)};
    }

    actor_address spawn(const job_run& run) override {
        trainer_options options{.app = app_, .table = table_};
        options.run = run.number;
        options.devices = run.devices;
        options.data = std::move(data_);
        options.io = run.io;
        options.store = std::move(saved_.store);
        options.resume = std::move(saved_.resume);
        options.more_memory = run.more_memory;
        options.of_cluster = run.of_cluster;
        options.listener = &run.listener;
        return run.runtime.spawn_of_run<trainer>(run.number, "trainer", std::move(options));
    }

  private:
    proto::App::Reader app() const { return app_.app(); }

    training_app app_;
    std::shared_ptr<const schedule_table> table_; // null: the app names no file
    std::shared_ptr<const data_sets> data_;       // null where it is only planned
    checkpoints saved_;
};

result<std::unique_ptr<job>> open_training(const app_definition& definition, job_purpose purpose,
                                           bool resume) {
    training_app app{definition};
    auto table = read_table_file(app);
    if (!table)
        return app.at_its_place(table.failure());
    if (purpose == job_purpose::plan) {
        if (auto enough = app.check_training(); !enough)
            return enough.failure();
        return std::unique_ptr<job>{
            std::make_unique<training>(std::move(app), std::move(*table), nullptr, checkpoints{})};
    }
    auto data = load_samples(app);
    if (!data)
        return data.failure();
    if (auto enough = app.check_training((*data)->train.size()); !enough)
        return enough.failure();
    result<checkpoints> saved = checkpoints{};
    if (purpose == job_purpose::run)
        saved = open_checkpoints(app.app(), **data, resume);
    if (!saved)
        return saved.failure();
    for (const std::string& sentence : saved->notes)
        note(sentence);
    return std::unique_ptr<job>{std::make_unique<training>(std::move(app), std::move(*table),
                                                           std::move(*data), std::move(*saved))};
}

} // namespace

job_kind training_job() {
    return {.app = training_kind(),
            .roles = training_roles(),
            .messages = training_messages(),
            .services =
                [](node_runtime& node, const std::vector<std::shared_ptr<device>>& devices) {
                    node.spawn_as<layer_profiler>(well_known::profiler, "profiler", devices);
                },
            .open = &open_training,
            .evaluate =
                [](const app_definition& app, const evaluate_options& options) {
                    return evaluate_network(training_app{app}, options);
                }};
}

} // namespace troupe::cli
