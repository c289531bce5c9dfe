// Steps of training of whole models on a GPU, in its own memory, beside the CPU back end: what goes out, the loss, and the
// weights that an update makes, within 1e-3 of the largest; and twice the same bits.
//
//   model_steps MODULE SAMPLES APP.yaml...
//
// Ends with 77, "skipped", where there is no GPU.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>

#include "actors/plan/app_file.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cuda/cuda_module.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/graph/value_form.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/made_up.hpp"

using namespace troupe;

namespace {

constexpr int skipped = 77;
constexpr int steps = 1; // of further ones, a relu that rounding has tipped over makes much
constexpr float tolerance = 1e-3f;

struct problem {
    stage_program program;
    std::shared_ptr<const optimizer> rule;
    weights_ptr begin;
    tensor input, labels;
};

struct outcome {
    std::vector<double> losses;
    std::vector<tensor> tensors; // the last step's output, then the weights behind it
};

// All in the memory of the device, but for what comes out.
result<outcome> train(compute_context& context, const problem& p) {
    auto now = std::make_shared<weights>(*p.begin);
    for (auto* part : {&now->parameters, &now->state, &now->averages})
        if (auto in = bring_in(context, *part); !in)
            return in.failure();
    const auto input = brought_in(context, p.input);
    const auto labels = brought_in(context, p.labels);
    if (!input || !labels)
        return input ? labels.failure() : input.failure();
    weights_ptr current = std::move(now);
    outcome out;
    for (int step = 0; step < steps; ++step) {
        const batch_part part{
            .training = true, .seed = 1, .minibatch = static_cast<std::uint64_t>(step)};
        auto forward = p.program.forward(context, *current, part, {*input});
        if (!forward)
            return forward.failure();
        const tensor output = forward->outputs[0];
        auto loss =
            p.program.loss(context, output, *labels, 1.f / static_cast<float>(p.labels.elements()));
        if (!loss)
            return loss.failure();
        out.losses.push_back(loss->loss_sum);
        auto backward = p.program.backward(context, *current, part, std::move(forward->saved),
                                           {std::move(loss->gradient)});
        if (!backward)
            return backward.failure();
        auto next = next_version(context, p.program, *p.rule, std::move(current),
                                 backward->weight_gradients, 0.01f);
        if (!next)
            return next.failure();
        current = std::move(*next);
        out.tensors = {output};
    }
    const auto all = current->tensors();
    out.tensors.insert(out.tensors.end(), all.begin(), all.end());
    if (auto taken = take_out(context, out.tensors); !taken)
        return taken.failure();
    return out;
}

result<outcome> train_on(device& d, const problem& p) {
    const auto done =
        std::make_shared<std::promise<result<void>>>(); // the device may still be leaving it
    outcome out;
    d.submit({[&](compute_context& context) -> result<void> {
                  auto trained = train(context, p);
                  if (!trained)
                      return trained.failure();
                  out = std::move(*trained);
                  return {};
              },
              [done](result<void> how, duration) { done->set_value(std::move(how)); }});
    if (auto how = done->get_future().get(); !how)
        return how.failure();
    return out;
}

// As a share of the largest.
float difference(const tensor& a, const tensor& b) {
    float scale = 1e-3f, worst = 0;
    for (const float x : b.values<float>())
        scale = std::max(scale, std::abs(x));
    for (std::size_t i = 0; i < b.elements(); ++i) {
        const float off = std::abs(a.values<float>()[i] - b.values<float>()[i]);
        worst = off <= worst ? worst : std::isfinite(off) ? off : INFINITY;
    }
    return worst / scale;
}

bool same_bits(const outcome& a, const outcome& b) {
    return a.losses == b.losses &&
           std::ranges::equal(a.tensors, b.tensors, [](const tensor& x, const tensor& y) {
               return std::memcmp(x.data(), y.data(), x.bytes()) == 0;
           });
}

result<problem> made(const char* app_file, std::size_t samples, memory_pool& pool) {
    const auto app = load_app(app_file);
    if (!app)
        return app.failure();
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    auto program = stage_program::whole(app->app().getModel());
    if (!program)
        return program.failure();
    auto rule = make_optimizer(app->app().getTrain().getOptimizer());
    auto begin = program->initialise(context, 1, rule->state().size());
    if (!begin)
        return begin.failure();
    tensor input = test::made_up(pool, program->inputs()[0].info, samples, 2);
    tensor labels = test::made_up(pool, program->labels(), samples, 3);
    return problem{std::move(*program), std::move(rule), *begin, std::move(input),
                   std::move(labels)};
}

// Whether the device gives what the processor gives.
result<bool> compare(const char* app_file, std::size_t samples, device& gpu, device& cpu,
                     memory_pool& pool) {
    auto p = made(app_file, samples, pool);
    if (!p)
        return p.failure();
    const auto expected = train_on(cpu, *p);
    const auto given = expected ? train_on(gpu, *p) : expected;
    const auto again = given ? train_on(gpu, *p) : given;
    if (!again)
        return again.failure().in(app_file);
    float worst = 0;
    for (std::size_t i = 0; i < expected->tensors.size(); ++i)
        worst = std::max(worst, difference(given->tensors[i], expected->tensors[i]));
    for (int s = 0; s < steps; ++s)
        worst =
            std::max(worst, static_cast<float>(std::abs(given->losses[s] - expected->losses[s]) /
                                               std::max(1e-3, std::abs(expected->losses[s]))));
    const bool same = same_bits(*given, *again);
    std::printf("%s: %d steps are off by %.1e%s%s\n", app_file, steps, static_cast<double>(worst),
                worst <= tolerance ? "" : ", which is too much",
                same ? "" : "; other bits the second time");
    return worst <= tolerance && same;
}

int run(int count, char** words) {
    const auto module = open_cuda_module(words[1]);
    const auto gpus = module ? (*module)->gpus() : result<std::vector<gpu_info>>{module.failure()};
    if (!gpus) {
        std::printf("skipped: %s\n", gpus.failure().message().c_str());
        return skipped;
    }
    const monotonic_clock time;
    const auto gpu = (*module)->make_device({}, time).value();
    const auto cpu = make_cpu_device({.memory_bytes_max = 16ull << 30}, time).value();
    memory_pool pool{16ull << 30};
    bool all = true;
    for (int i = 3; i < count; ++i) {
        const auto good = compare(words[i], std::strtoul(words[2], nullptr, 10), *gpu, *cpu, pool);
        if (!good)
            std::printf("%s\n", good.failure().message().c_str());
        all &= good && *good;
    }
    drain(*gpu);
    drain(*cpu);
    return all ? 0 : 1;
}

} // namespace

int main(int count, char** words) {
    if (count < 4) {
        std::fprintf(stderr, "usage: model_steps MODULE SAMPLES APP.yaml...\n");
        return 2;
    }
    return run(count, words);
}
