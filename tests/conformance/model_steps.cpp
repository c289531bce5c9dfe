// A step of training of whole models on a GPU, in its own memory, beside the CPU back end: the output, the loss, the
// gradient of every parameter and the weights that an update makes, within 1e-3 of the largest; and the same bits again. As
// they are with one sample, and with so many samples with gelu for relu and average_pool for max_pool: where a value is so
// near a kink that rounding puts it on the other side, gradients jump, on any two back ends. Of a model with many layers of
// kinks only the loss and the output are compared as it is: on an H200 the gradients of GoogLeNet (66 such layers),
// ResNet-18 (17) and ResNet-50 (more) were off by 3e-3, 3e-2 and 2e-1 of the largest, without kinks by 4e-5, 3e-5 and
// 3e-4; VGG-16's (18) by 4e-6.
//
//   model_steps MODULE SAMPLES APP.yaml...
//
// Ends with 77, "skipped", where there is no GPU.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "actors/training/plan/training_app.hpp"
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
constexpr float tolerance = 1e-3f;
constexpr std::ptrdiff_t kinked_layers_max =
    16; // of models whose gradients are compared as they are

struct problem {
    stage_program program;
    bool has_many_kinks;
    std::shared_ptr<const optimizer> rule;
    weights_ptr begin;
    tensor input, labels;
};

struct outcome {
    double loss = 0;
    std::vector<tensor> gradients; // of the parameters, then what else is summed over microbatches
    std::vector<tensor> others;    // the output, and the weights behind the update
};

// All in the memory of the device, but for what comes out.
result<outcome> train(compute_context& context, const problem& p) {
    auto now = std::make_shared<weights>(*p.begin);
    for (auto* part : {&now->parameters, &now->state, &now->averages})
        if (auto in = copy_to_device(context, *part); !in)
            return in.failure();
    const auto input = copied_to_device(context, p.input);
    const auto labels = copied_to_device(context, p.labels);
    if (!input || !labels)
        return input ? labels.failure() : input.failure();
    weights_ptr current = std::move(now);
    outcome out;
    const batch_part part{.training = true, .seed = 1};
    auto forward = p.program.forward(context, *current, part, {*input});
    if (!forward)
        return forward.failure();
    const tensor output = forward->outputs[0];
    auto loss =
        p.program.loss(context, output, *labels, 1.f / static_cast<float>(p.labels.elements()));
    if (!loss)
        return loss.failure();
    out.loss = loss->loss_sum;
    auto backward = p.program.backward(context, *current, part, std::move(forward->saved),
                                       {std::move(loss->gradient)});
    if (!backward)
        return backward.failure();
    out.gradients = backward->weight_gradients;
    if (auto taken = copy_to_host(context, out.gradients); !taken)
        return taken.failure();
    auto next = next_version(context, p.program, *p.rule, std::move(current),
                             backward->weight_gradients, 0.01f);
    if (!next)
        return next.failure();
    out.others = (*next)->tensors();
    out.others.push_back(output);
    if (auto taken = copy_to_host(context, out.others); !taken)
        return taken.failure();
    return out;
}

result<outcome> train_on(device& d, const problem& p) {
    const auto done =
        std::make_shared<std::promise<result<void>>>(); // the device may still be leaving it
    outcome out;
    d.submit({.work = [&](compute_context& context) -> result<void> {
                  auto trained = train(context, p);
                  if (!trained)
                      return trained.failure();
                  out = std::move(*trained);
                  return {};
              },
              .done = [done](result<void> how, duration) { done->set_value(std::move(how)); },
              .owner = reinterpret_cast<std::uintptr_t>(&p)});
    if (auto how = done->get_future().get(); !how)
        return how.failure();
    return out;
}

float largest(const tensor& t) {
    float most = 1e-6f;
    for (const float x : t.values<float>())
        most = std::max(most, std::abs(x));
    return most;
}

// Infinite for what is not finite.
float difference(const tensor& a, const tensor& b) {
    float worst = 0;
    for (std::size_t i = 0; i < b.elements(); ++i) {
        const float off = std::abs(a.values<float>()[i] - b.values<float>()[i]);
        worst = off <= worst ? worst : std::isfinite(off) ? off : INFINITY;
    }
    return worst;
}

float difference_of_loss(const outcome& given, const outcome& expected) {
    return static_cast<float>(std::abs(given.loss - expected.loss) /
                              std::max(1e-3, std::abs(expected.loss)));
}

// As a share of the largest.
float difference_of_output(const outcome& given, const outcome& expected) {
    const tensor& output = expected.others.back();
    return difference(given.others.back(), output) / largest(output);
}

// As a share of the largest of each tensor. Of a bias, of its layer: in front of a batch norm its gradient is rounding.
float difference(const outcome& given, const outcome& expected, const problem& p) {
    if (p.has_many_kinks)
        return std::max(difference_of_loss(given, expected), difference_of_output(given, expected));
    const stage_program& program = p.program;
    const auto& parameters = program.parameters();
    const auto scale = [&](std::size_t i) {
        float most = largest(expected.gradients[i]);
        if (!program.averages().empty() && i < parameters.size() &&
            parameters[i].name.ends_with(".bias")) {
            const std::string layer = parameters[i].name.substr(0, parameters[i].name.rfind('.'));
            for (std::size_t j = 0; j < parameters.size(); ++j)
                if (parameters[j].name.starts_with(layer + "."))
                    most = std::max(most, largest(expected.gradients[j]));
        }
        return most;
    };
    float worst = difference_of_loss(given, expected);
    for (std::size_t i = 0; i < expected.gradients.size(); ++i)
        worst = std::max(worst, difference(given.gradients[i], expected.gradients[i]) / scale(i));
    for (std::size_t i = 0; i < expected.others.size(); ++i)
        worst = std::max(worst, difference(given.others[i], expected.others[i]) /
                                    largest(expected.others[i]));
    return worst;
}

bool same_bits(std::span<const tensor> a, std::span<const tensor> b) {
    return std::ranges::equal(a, b, [](const tensor& x, const tensor& y) {
        return std::memcmp(x.data(), y.data(), x.bytes()) == 0;
    });
}

bool same_bits(const outcome& a, const outcome& b) {
    return a.loss == b.loss && same_bits(a.gradients, b.gradients) && same_bits(a.others, b.others);
}

// The text with `to` in place of each word that is `from`.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const auto is_of_word = [&](std::size_t at) {
        return at < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
    };
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
        const bool is_word = !(at > 0 && is_of_word(at - 1)) && !is_of_word(at + from.size());
        if (is_word)
            text.replace(at, from.size(), to);
        at += is_word ? to.size() : from.size();
    }
    return text;
}

enum class kinks { as_they_are, smooth };

result<training_app> load(const char* file, kinks k) {
    if (k == kinks::as_they_are)
        return load_training(file);
    std::ifstream in{file};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    text = replaced(std::move(text), "relu", "gelu");
    return parse_training(replaced(std::move(text), "max_pool", "average_pool"), file);
}

result<problem> made(const char* app_file, kinks k, std::size_t samples, memory_pool& pool) {
    const auto app = load(app_file, k);
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
    const auto layers = describe_model(app->app().getModel());
    if (!layers)
        return layers.failure();
    const auto kinked = std::ranges::count_if(*layers, [](const layer_info& layer) {
        return layer.name.ends_with(" relu") || layer.name.ends_with(" max_pool");
    });
    tensor input = test::made_up(pool, program->inputs()[0].info, samples, 2);
    tensor labels = test::made_up(pool, program->labels(), samples, 3);
    return problem{std::move(*program), kinked > kinked_layers_max, std::move(rule), *begin,
                   std::move(input),    std::move(labels)};
}

// Whether the device gives what the processor gives.
result<bool> compare(const char* app_file, kinks k, std::size_t samples, device& gpu, device& cpu,
                     memory_pool& pool) {
    auto p = made(app_file, k, samples, pool);
    if (!p)
        return p.failure();
    const auto expected = train_on(cpu, *p);
    const auto given = expected ? train_on(gpu, *p) : expected;
    const auto again = given ? train_on(gpu, *p) : given;
    if (!again)
        return again.failure().in(app_file);
    const float worst = difference(*given, *expected, *p);
    const bool same = same_bits(*given, *again);
    std::printf("%s%s, samples: %zu%s; off by %.1e%s%s\n", app_file,
                k == kinks::smooth ? " without kinks" : "", samples,
                p->has_many_kinks ? ", loss and output" : "", static_cast<double>(worst),
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
    const monotonic_time time;
    const auto gpu = (*module)->make_device({}, time).value();
    const auto cpu = make_cpu_device({.memory_bytes_max = 16ull << 30}, time).value();
    memory_pool pool{16ull << 30};
    bool all = true;
    const std::size_t samples = std::strtoul(words[2], nullptr, 10);
    for (int i = 3; i < count; ++i)
        for (const auto& [k, of_it] :
             {std::pair{kinks::as_they_are, std::size_t{1}}, std::pair{kinks::smooth, samples}}) {
            const auto good = compare(words[i], k, of_it, *gpu, *cpu, pool);
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
