// Training throughput of the convolutional network of apps/fashion_mnist on one core, without actors: what the kernels
// alone give, and as a share of the peak of sgemm measured in the same run.
//
//   bench_training [BATCH] [MINIBATCHES]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/profile.hpp"
#include "kernels/optim/optimizer.hpp"
#include "tests/bench/sgemm_peak.hpp"
#include "tests/unit/kernels/models.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;

int main(int argc, char** argv) {
    const std::size_t batch = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64;
    const int minibatches = argc > 2 ? std::atoi(argv[2]) : 200;
    memory_pool pool{4ull << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    const monotonic_clock time;

    test::model_builder net{1, 28, 28};
    net.conv2d(32, 3, 1, 1)
        .relu()
        .max_pool(2)
        .conv2d(64, 3, 1, 1)
        .relu()
        .max_pool(2)
        .linear(128)
        .relu()
        .linear(10);
    const auto model = net.build();
    const auto program = stage_program::create(model, {0, 9}).value();
    auto w = program.initialise(context, 1, 1).value();
    const tensor input = test::random_tensor(pool, {batch, 1, 28, 28}, 1);
    const tensor labels = test::labels(pool, batch, 10, 2);
    const optimizer_ptr rule = test::sgd_rule(0.9f);

    duration forward{}, backward{}, update{};
    std::vector<duration> steps;
    for (int step = -10; step < minibatches; ++step) {
        const time_point start = time.now();
        const batch_part part{.training = true};
        auto passed = program.forward(context, *w, part, {input}).value();
        auto loss =
            program.loss(context, passed.outputs[0], labels, 1.f / static_cast<float>(batch))
                .value();
        const time_point turn = time.now();
        auto back =
            program.backward(context, *w, part, std::move(passed.saved), {std::move(loss.gradient)})
                .value();
        const time_point before_update = time.now();
        w = rule->step(context, std::move(w), back.weight_gradients, 0.01f).value();
        const time_point end = time.now();
        if (step < 0)
            continue; // compiles and warms up
        forward += turn - start;
        backward += before_update - turn;
        update += end - before_update;
        steps.push_back(end - start);
    }
    const auto ms = [&](duration d) { return static_cast<double>(d.count()) * 1e-6 / minibatches; };
    std::ranges::sort(steps);
    const double median_s = static_cast<double>(steps[steps.size() / 2].count()) * 1e-9;
    const double fastest_s = static_cast<double>(steps.front().count()) * 1e-9;
    const double flops =
        (program.forward_flops_per_sample() + program.backward_flops_per_sample()) *
        static_cast<double>(batch);
    const double peak = bench::sgemm_peak_flops(time);
    std::printf("batch %zu: forward %.3f ms, backward %.3f ms, update %.3f ms\n", batch,
                ms(forward), ms(backward), ms(update));
    for (const auto& [name, seconds] :
         {std::pair{"median", median_s}, std::pair{"fastest", fastest_s}})
        std::printf(
            "%s minibatch %.3f ms, %.0f samples/s, %.1f GFLOP/s, %.0f%% of sgemm's %.1f GFLOP/s\n",
            name, seconds * 1e3, static_cast<double>(batch) / seconds, flops / seconds * 1e-9,
            100 * flops / seconds / peak, peak * 1e-9);
    const auto times =
        profile_layers(context, model, {.batch = batch, .repetitions = 10}, time).value();
    for (const auto& layer : times)
        std::printf("  %-20s forward %7.3f ms  backward %7.3f ms\n", layer.name.c_str(),
                    static_cast<double>(layer.forward.count()) * 1e-6,
                    static_cast<double>(layer.backward.count()) * 1e-6);
}
