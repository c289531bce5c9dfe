// evaluate: the test samples through saved weights.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "actors/data/batches.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/saved_weights.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

// Adds the batches' sums. errc::cancelled after a signal.
struct test_sums {
    double loss_sum = 0;
    std::uint64_t correct = 0;
    std::uint64_t counted = 0;
};

result<test_sums> evaluate_batches(compute_context& context, const stage_program& program,
                                   const weights& w, const dataset& data, std::size_t batch_size) {
    test_sums sum;
    const batch_plan plan{file_order(data.size()), batch_size};
    for (std::size_t b = 0; b < plan.batches(); ++b) {
        if (stop_signals() > 0)
            return error{errc::cancelled, "stopped after " + std::to_string(b * batch_size) +
                                              " of " + std::to_string(data.size()) + " samples"};
        auto samples = fill_batch(data, plan.indices(b), 0, context.memory);
        if (!samples)
            return samples.failure();
        auto forward = program.forward(context, w, {}, {std::move(samples->input)});
        if (!forward)
            return forward.failure();
        auto loss = program.loss(context, forward->outputs[0], samples->labels, 0);
        if (!loss)
            return loss.failure();
        sum.loss_sum += loss->loss_sum;
        sum.correct += loss->correct;
        sum.counted += loss->counted;
    }
    return sum;
}

} // namespace

int evaluate(const evaluate_options& options) {
    const auto app = load_app(options.app.file, options.app.settings);
    if (!app)
        return report(app.failure());
    const auto data = load_samples(*app);
    if (!data)
        return report(data.failure());
    const auto model = app->app().getModel();
    const auto program = stage_program::create(model, {0, count_layers(model)}).value();
    memory_pool memory{options.memory_mb << 20};
    const auto saved = load_weights(*app, options.weights, memory);
    if (!saved)
        return report(saved.failure());
    const auto ops = make_cpu_operations(memory);
    compute_context context{*ops, memory};
    const auto sum = evaluate_batches(context, program, *saved->weights, (*data)->test,
                                      app->app().getTrain().getBatch());
    if (!sum)
        return sum.failure().code() == errc::cancelled ? stopped(sum.failure())
                                                       : report(sum.failure());
    const double counted = static_cast<double>(std::max<std::uint64_t>(sum->counted, 1));
    const double loss = sum->loss_sum / counted;
    const double accuracy = static_cast<double>(sum->correct) / counted;
    const bool classifies = model.getLoss().isCrossEntropy();
    const std::string from = saved->from.string();
    if (!std::isfinite(loss))
        return report({errc::numeric, "the test loss of " + from +
                                          " is not a number; its weights are damaged, or of a "
                                          "training that has diverged"});
    if (options.json) {
        nlohmann::ordered_json line = {{"event", "evaluation"},
                                       {"weights", from},
                                       {"samples", (*data)->test.size()},
                                       {"test_loss", loss}};
        if (classifies)
            line["test_accuracy"] = accuracy;
        std::cout << line.dump() << std::endl;
        return 0;
    }
    char text[64];
    std::snprintf(text, sizeof text, "test loss %.4f", loss);
    std::cout << text;
    std::snprintf(text, sizeof text, "  test accuracy %.2f%%", accuracy * 100);
    std::cout << (classifies ? text : "") << "  of " << from << std::endl;
    return 0;
}

} // namespace troupe::cli
