// plan: what a run would place where, without running it.
#include <iostream>
#include <nlohmann/json.hpp>

#include "actors/messages.hpp"
#include "actors/plan/app_file.hpp"
#include "actors/runtime/actor.hpp"
#include "schemas/training.capnp.h"
#include "tools/troupe/handed_over.hpp"
#include "tools/troupe/plan_json.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

using layer_times = std::vector<double>;

// Asks the profiler of a device's node what every layer costs there, and hands the answer over.
class profile_question final : public actor {
  public:
    using answer = handed_over<result<layer_times>>;

    profile_question(actor_context& context, app_definition app, plan_device where,
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
        end(read_failure(body.getFailure())
                .in("measuring the layers on " + where_.node_name + "/" + where_.device));
    }
    void on_down(actor_address, const error& why) override { end(why); }
    void end(result<layer_times> outcome) {
        to_->give(std::move(outcome));
        quit();
    }

    app_definition app_;
    plan_device where_;
    std::shared_ptr<answer> to_;
};

result<layer_times> measure_layers(run_nodes& nodes, const app_definition& app) {
    auto answer = std::make_shared<profile_question::answer>();
    nodes.host->runtime().spawn<profile_question>("profile-question", app, nodes.devices[0],
                                                  answer);
    auto given = answer->wait();
    return given ? *given : result<layer_times>{given.failure()};
}

// `why` is of measuring on that device: what is exhausted is memory.
error advised(const error& why, const run_options& options, const plan_device& where,
              proto::App::Reader app) {
    if (why.code() != errc::exhausted)
        return why;
    const memory_advice more = advice_on_memory(options);
    return {why.code(),
            why.message() + "; use " +
                (app.getTrain().getBatch() > 1 ? "a smaller train.batch" : "smaller layers") +
                " or more stages" + (is_gpu(where) ? more.of_gpus : more.of_host)};
}

// What `run --nodes` would have, or what is there.
std::vector<plan_device> devices_for(const plan_options& options, const run_nodes& nodes) {
    return options.nodes > 0 ? devices_of_nodes(options.nodes, options.memory_mb << 20)
                             : nodes.devices;
}

} // namespace

int plan(const plan_options& options) {
    auto app = load_app(options.app.file, options.app.settings);
    if (!app)
        return report(app.failure());
    if (auto enough = app->check_training(); !enough)
        return report(enough.failure());
    note_list notes{options.json};
    notes.add(app->notes());
    // Layer times are measured on a device of the cluster, or on one of this process.
    run_options as_run;
    as_run.cluster = options.cluster;
    as_run.access = options.access;
    as_run.devices = options.devices.empty() && options.nodes > 0 ? "cpu:1" : options.devices;
    as_run.memory_mb = options.memory_mb;
    as_run.gpu_memory_mb = options.gpu_memory_mb;
    auto nodes = bring_together(as_run, app->app());
    if (!nodes)
        return stop_signals() > 0 ? stopped(nodes.failure()) : report(nodes.failure());
    notes.add(notes_on_sharing(*nodes, options.nodes, app->app()));
    if (options.cluster.empty()) // whose processors are not known here
        notes.add(notes_on_precision(nodes->devices, app->app()));
    plan_request request{app->app(), devices_for(options, *nodes), {}};
    if (needs_layer_times(app->app(), request.devices)) {
        auto times = measure_layers(*nodes, *app);
        if (!times)
            return report(advised(times.failure(), as_run, nodes->devices[0], app->app()));
        request.layer_ns = std::move(times).value();
    }
    auto made = make_plan(request);
    if (!made)
        return report(app->at_its_place(made.failure()));
    notes.add(notes_of(*made, !options.cluster.empty()));
    if (options.json) {
        auto line = to_json(*made);
        line["layers"] = layers_to_json(*made);
        line["notes"] = notes.kept();
        std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                  << std::endl;
    } else {
        std::cout << describe_layers(*made, options.all_layers) << '\n' << describe(*made);
    }
    return 0;
}

} // namespace troupe::cli
