// Training of an app's model on one core by the kernels alone, without actors: samples/s, their share of the peak of sgemm
// measured in the same run, the memory that training takes, and where the time goes,
// by kind of layer.
//
//   bench_training APP.yaml [MINIBATCHES] [--set KEY=VALUE]...
//
// The model, its loss, train.batch and train.optimizer are the app's; the samples are made up and always the same.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "actors/training/plan/training_app.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/profile.hpp"
#include "kernels/graph/value_form.hpp"
#include "kernels/optim/optimizer.hpp"
#include "tests/bench/sgemm_peak.hpp"
#include "tests/support/made_up.hpp"

using namespace troupe;

namespace {

constexpr int warm_up_minibatches = 5; // compile convolutions and fill the pool

// "VmHWM" (the most so far) or "VmRSS" (now): bytes of memory of this process.
std::uint64_t resident_bytes(std::string_view key) {
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key))
            return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10) * 1024;
    return 0;
}

double milliseconds(duration d) {
    return static_cast<double>(d.count()) * 1e-6;
}

struct training_times {
    duration forward{}, backward{}, update{};
    std::vector<duration> minibatches; // in order of time
};

training_times train(compute_context& context, proto::App::Reader app, const stage_program& program,
                     int minibatches, const time_source& time) {
    const std::size_t batch = app.getTrain().getBatch();
    const optimizer_ptr rule = make_optimizer(app.getTrain().getOptimizer());
    const float rate = base_learning_rate(app.getTrain().getOptimizer());
    const tensor input = test::made_up(context.memory, program.inputs()[0].info, batch, 1);
    const tensor labels = test::made_up(context.memory, program.labels(), batch, 2);
    const float scale =
        1.f / static_cast<float>(count_labels(labels, ignored_by(app.getModel().getLoss())));
    weights_ptr w = program.initialise(context, 1, rule->state().size()).value();
    training_times times;
    for (int step = -warm_up_minibatches; step < minibatches; ++step) {
        const time_point start = time.now();
        const batch_part part{.training = true,
                              .minibatch = static_cast<std::uint64_t>(step + warm_up_minibatches)};
        auto passed = program.forward(context, *w, part, {input}).value();
        auto loss = program.loss(context, passed.outputs[0], labels, scale).value();
        passed.outputs.clear();
        const time_point turn = time.now();
        auto back =
            program.backward(context, *w, part, std::move(passed.saved), {std::move(loss.gradient)})
                .value();
        const time_point before_update = time.now();
        w = next_version(context, program, *rule, std::move(w), back.weight_gradients, rate)
                .value();
        const time_point end = time.now();
        if (step < 0)
            continue;
        times.forward += turn - start;
        times.backward += before_update - turn;
        times.update += end - before_update;
        times.minibatches.push_back(end - start);
    }
    std::ranges::sort(times.minibatches);
    return times;
}

// Time and floating-point operations of all layers of a kind.
struct kind_cost {
    duration forward{}, backward{};
    double flops = 0;
};

void print_profile(compute_context& context, proto::App::Reader app, const time_source& time) {
    const std::size_t batch = app.getTrain().getBatch();
    const auto times =
        profile_layers(context, app.getModel(), {.batch = batch, .repetitions = 3}, time).value();
    const auto layers = describe_model(app.getModel()).value();
    std::map<std::string, kind_cost> kinds;
    for (std::size_t i = 0; i < times.size(); ++i) {
        kind_cost& kind = kinds[times[i].name.substr(times[i].name.rfind(' ') + 1)];
        kind.forward += times[i].forward;
        kind.backward += times[i].backward;
        kind.flops += (layers[i].forward_flops_per_sample + layers[i].backward_flops_per_sample) *
                      static_cast<double>(batch);
    }
    std::vector<std::pair<std::string, kind_cost>> sorted{kinds.begin(), kinds.end()};
    std::ranges::sort(sorted, std::ranges::greater{}, [](const auto& entry) {
        return entry.second.forward + entry.second.backward;
    });
    for (const auto& [name, cost] : sorted)
        std::printf("  %-22s forward %9.3f ms  backward %9.3f ms  %6.1f GFLOP/s\n", name.c_str(),
                    milliseconds(cost.forward), milliseconds(cost.backward),
                    cost.flops / milliseconds(cost.forward + cost.backward) * 1e-6);
}

int run(const char* file, int minibatches, const app_settings& settings) {
    const auto definition = load_training(file, settings);
    if (!definition) {
        std::fprintf(stderr, "%s\n", definition.failure().message().c_str());
        return 2;
    }
    const proto::App::Reader app = definition->app();
    const monotonic_time time;
    const double peak = bench::sgemm_peak_flops(time);
    const std::uint64_t resident_before = resident_bytes("VmRSS");
    memory_pool pool{std::uint64_t{16} << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    const auto program = stage_program::whole(app.getModel()).value();
    const training_times times = train(context, app, program, minibatches, time);
    const std::uint64_t resident = resident_bytes("VmHWM") - resident_before;

    const auto batch = static_cast<double>(app.getTrain().getBatch());
    const double flops =
        (program.forward_flops_per_sample() + program.backward_flops_per_sample()) * batch;
    std::printf("batch %.0f: forward %.3f ms, backward %.3f ms, update %.3f ms\n", batch,
                milliseconds(times.forward) / minibatches,
                milliseconds(times.backward) / minibatches,
                milliseconds(times.update) / minibatches);
    for (const auto& [name, took] :
         {std::pair{"median", times.minibatches[times.minibatches.size() / 2]},
          std::pair{"fastest", times.minibatches.front()}}) {
        const double seconds = milliseconds(took) * 1e-3;
        std::printf("%s minibatch %.3f ms, %.1f samples/s, %.1f GFLOP/s, %.0f%% of sgemm's %.1f "
                    "GFLOP/s\n",
                    name, milliseconds(took), batch / seconds, flops / seconds * 1e-9,
                    100 * flops / seconds / peak, peak * 1e-9);
    }
    std::printf("memory: %.1f MB at most, %.1f of them in the pool\n",
                static_cast<double>(resident) * 1e-6,
                static_cast<double>(pool.statistics().bytes_in_use_peak) * 1e-6);
    print_profile(context, app, time);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const char* file = nullptr;
    int minibatches = 20;
    app_settings settings;
    bool understood = true;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view{argv[i]} == "--set" && i + 1 < argc)
            settings.emplace_back(argv[++i]);
        else if (file == nullptr)
            file = argv[i];
        else if ((minibatches = std::atoi(argv[i])) < 1)
            understood = false;
    }
    if (file == nullptr || !understood) {
        std::fprintf(stderr, "usage: bench_training APP.yaml [MINIBATCHES] [--set KEY=VALUE]...\n");
        return 2;
    }
    return run(file, minibatches, settings);
}
