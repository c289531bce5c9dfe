#include "tools/troupe/evaluate_network.hpp"

#include <cmath>
#include <iostream>
#include <optional>

#include "actors/data/samples/batches.hpp"
#include "actors/training/samples.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/base/json.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/saved_weights.hpp"
#include "tools/troupe/signals.hpp"
#include "tools/troupe/text_use.hpp"
#include "tools/troupe/translations.hpp"

namespace troupe::cli {

namespace {

// The model that is tested.
struct trained_model {
    const stage_program& program;
    const weights& w;
    const translator* translates; // null where it does not
};

struct test_sums {
    double loss_sum = 0;
    std::uint64_t correct = 0;
    std::uint64_t counted = 0;
    std::uint64_t exact = 0; // translations that say what the labels say
};

// How many of a batch's sources are translated exactly as its labels say.
result<std::uint64_t> exact_matches(compute_context& context, const trained_model& model,
                                    batch samples) {
    const auto targets = model.translates->translate(context, std::move(samples.input));
    if (!targets)
        return targets.failure();
    const std::size_t length = targets->shape()[1];
    const auto row = [length](const tensor& tokens, std::size_t sample) {
        return tokens.values<std::int32_t>().subspan(sample * length, length);
    };
    std::uint64_t exact = 0;
    for (std::size_t s = 0; s < targets->shape()[0]; ++s)
        exact +=
            model.translates->codec().is_exact(row(*targets, s), row(samples.labels, s)) ? 1 : 0;
    return exact;
}

result<void> evaluate_batch(compute_context& context, const trained_model& model, batch samples,
                            test_sums& sum) {
    auto forward = model.program.forward(context, model.w, {}, {samples.input});
    if (!forward)
        return forward.failure();
    const auto loss = model.program.loss(context, forward->outputs[0], samples.labels, 0);
    if (!loss)
        return loss.failure();
    sum.loss_sum += loss->loss_sum;
    sum.correct += loss->correct;
    sum.counted += loss->counted;
    if (model.translates == nullptr)
        return {};
    const auto exact = exact_matches(context, model, std::move(samples));
    if (!exact)
        return exact.failure();
    sum.exact += *exact;
    return {};
}

// Adds the batches' sums. errc::cancelled after a signal.
result<test_sums> evaluate_batches(compute_context& context, const trained_model& model,
                                   const dataset& data, std::size_t batch_size) {
    test_sums sum;
    const batch_plan plan{file_order(data.size()), batch_size};
    for (std::size_t b = 0; b < plan.batches(); ++b) {
        const error stopped{errc::cancelled, "stopped after " + std::to_string(b * batch_size) +
                                                 " of " + std::to_string(data.size()) + " samples"};
        if (stop_signals() > 0)
            return stopped;
        auto samples = fill_batch(data, plan.indices(b), 0, context.memory);
        if (!samples)
            return samples.failure();
        if (auto done = evaluate_batch(context, model, std::move(*samples), sum); !done)
            return done.failure().code() == errc::cancelled ? stopped : done.failure();
    }
    return sum;
}

// The figures that are printed.
struct evaluation {
    test_sums sums;
    std::size_t samples;
    std::string from; // the weights
    bool classifies;
    bool translates;

    double loss() const { return sums.loss_sum / counted(); }
    double accuracy() const { return static_cast<double>(sums.correct) / counted(); }
    double exact_share() const {
        return static_cast<double>(sums.exact) / static_cast<double>(samples);
    }

  private:
    double counted() const { return static_cast<double>(std::max<std::uint64_t>(sums.counted, 1)); }
};

void print_json(const evaluation& done, const note_list& notes) {
    json line = {{"event", "evaluation"},
                 {"weights", done.from},
                 {"samples", done.samples},
                 {"test_loss", done.loss()}};
    if (done.classifies)
        line["test_accuracy"] = done.accuracy();
    if (done.translates)
        line["exact_matches"] = done.sums.exact;
    line["notes"] = notes.kept();
    std::cout << line.dump() << std::endl;
}

void print(const evaluation& done) {
    char text[96];
    std::snprintf(text, sizeof text, "test loss %.4f", done.loss());
    std::cout << text;
    std::snprintf(text, sizeof text, "  test accuracy %.2f%%", done.accuracy() * 100);
    std::cout << (done.classifies ? text : "");
    std::snprintf(text, sizeof text, "  exact matches %.2f%% (%llu of %zu)",
                  done.exact_share() * 100, static_cast<unsigned long long>(done.sums.exact),
                  done.samples);
    std::cout << (done.translates ? text : "") << "  of " << done.from << std::endl;
}

} // namespace

int evaluate_network(const training_app& app, const evaluate_options& options) {
    if (!options.result.empty() || !options.data.empty())
        return report({errc::usage, "RESULT and --data are for programs; the weights of a network "
                                    "are named by --weights, its test samples by the app file"});
    const auto data = load_samples(app);
    if (!data)
        return report(data.failure());
    const auto model = app.app().getModel();
    const auto program = stage_program::whole(model).value();
    memory_pool memory{options.memory_mb << 20};
    const auto saved = load_weights(app, options.weights, memory);
    if (!saved)
        return report(saved.failure());
    if (auto same = check_vocabulary(app, (*data)->vocabulary_sha256, *saved); !same)
        return report(same.failure());
    note_list notes{options.json};
    notes.add((*data)->notes);
    notes.add(saved->notes);
    std::optional<translator> translates;
    if (const auto use = text_use_of(app, program); use && *use == text_use::translates) {
        auto opened = translator::open(app, *saved);
        if (!opened)
            return report(opened.failure());
        translates = std::move(*opened);
    } else if (app.app().getData().isTranslation())
        notes.add({"no exact matches: " + use.failure().message()});
    const auto ops = make_cpu_operations(memory);
    compute_context context{*ops, memory};
    const auto sum =
        evaluate_batches(context, {program, *saved->weights, translates ? &*translates : nullptr},
                         (*data)->test, app.app().getTrain().getBatch());
    if (!sum)
        return sum.failure().code() == errc::cancelled ? stopped(sum.failure())
                                                       : report(sum.failure());
    const evaluation done{*sum, (*data)->test.size(), saved->from.string(),
                          model.getLoss().isCrossEntropy(), translates.has_value()};
    if (!std::isfinite(done.loss()))
        return report({errc::numeric, "the test loss of " + done.from +
                                          " is not a number; its weights are damaged, or of a "
                                          "training that has diverged"});
    options.json ? print_json(done, notes) : print(done);
    return 0;
}

} // namespace troupe::cli
