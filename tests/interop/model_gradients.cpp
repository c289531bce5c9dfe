// One minibatch through a whole model on the CPU back end, written to a safetensors file for pytorch_models.py to compare:
// "input", "labels", "output" (after a forward pass of training), "loss" (mean over what is counted), and per parameter NAME
// "weight/NAME" and "gradient/NAME"; per running average "average/NAME", before and "next/NAME" after the minibatch.
//
//   model_gradients APP.yaml SAMPLES SEED FILE
#include <cstdio>
#include <cstdlib>

#include "actors/training/plan/training_app.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/graph/value_form.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/made_up.hpp"
#include "tests/support/recorded_tensors.hpp"

using namespace troupe;

namespace {

// Biases and the like begin with one value: others show more.
void shake(weights& w, std::uint64_t seed) {
    random_stream random{seed};
    for (tensor& t : w.parameters)
        for (float& x : t.mutable_values<float>())
            x += static_cast<float>(0.1 * (random.uniform() - 0.5) * (x == 0 || x == 1 ? 1 : 0));
}

int run(const char* app_file, std::size_t samples, std::uint64_t seed, const char* path) {
    const auto app = load_training(app_file);
    if (!app) {
        std::fprintf(stderr, "%s\n", app.failure().message().c_str());
        return 2;
    }
    const auto model = app->app().getModel();
    const auto program = stage_program::whole(model).value();
    memory_pool pool{std::uint64_t{16} << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    auto begin = std::make_shared<weights>(*program.initialise(context, 1, 0).value());
    shake(*begin, 2);
    const tensor input = test::made_up(pool, program.inputs()[0].info, samples, 2 * seed);
    const tensor labels = test::made_up(pool, program.labels(), samples, 2 * seed + 1);
    const batch_part part{.training = true, .seed = 1};
    auto forward = program.forward(context, *begin, part, {input}).value();
    test::recorded_tensors out;
    out.add("input", input);
    out.add("labels", labels);
    out.add("output", forward.outputs[0]);
    const float scale = 1.f / static_cast<float>(labels.elements());
    auto loss = program.loss(context, forward.outputs[0], labels, scale).value();
    tensor mean = tensor::allocate(pool, data_type::float32, {1}).value();
    mean.mutable_values<float>()[0] = static_cast<float>(loss.loss_sum * double{scale});
    out.add("loss", mean);
    auto backward =
        program
            .backward(context, *begin, part, std::move(forward.saved), {std::move(loss.gradient)})
            .value();
    const std::size_t parameters = program.parameters().size();
    for (std::size_t i = 0; i < parameters; ++i) {
        out.add("weight/" + program.parameters()[i].name, begin->parameters[i]);
        out.add("gradient/" + program.parameters()[i].name, backward.weight_gradients[i]);
    }
    const auto next = program
                          .next_averages(context, *begin,
                                         std::span{backward.weight_gradients}.subspan(parameters))
                          .value();
    for (std::size_t i = 0; i < next.size(); ++i) {
        out.add("average/" + program.averages()[i].name, begin->averages[i]);
        out.add("next/" + program.averages()[i].name, next[i]);
    }
    return out.write(path) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: model_gradients APP.yaml SAMPLES SEED FILE\n");
        return 2;
    }
    return run(argv[1], std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10),
               argv[4]);
}
