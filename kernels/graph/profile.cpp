#include "kernels/graph/profile.hpp"

#include <algorithm>

#include "kernels/layers/kinds.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

result<tensor> noise(compute_context& context, const tensor_shape& shape, std::uint64_t purpose) {
    auto t = tensor::allocate(context.memory, data_type::float32, shape);
    if (t) {
        random_stream random{0, purpose};
        for (float& x : t->mutable_values<float>())
            x = static_cast<float>(random.uniform() - 0.5);
    }
    return t;
}

result<layer_time> time_once(compute_context& context, const stage_program& program,
                             const weights& w, std::size_t batch, const clock& time) {
    auto input = noise(context, batch_of(batch, program.input_shape()), 1);
    auto gradient = noise(context, batch_of(batch, program.output_shape()), 2);
    if (!input || !gradient)
        return input ? gradient.failure() : input.failure();
    const time_point start = time.now();
    auto passed = program.forward(context, w, std::move(*input));
    if (!passed)
        return passed.failure();
    const time_point turn = time.now();
    const bool want_input_gradient = program.range().first > 0;
    auto back = program.backward(context, w, std::move(passed->saved), std::move(*gradient),
                                 want_input_gradient);
    if (!back)
        return back.failure();
    return layer_time{"", turn - start, time.now() - turn};
}

} // namespace

result<std::vector<layer_time>> profile_layers(compute_context& context, proto::Model::Reader model,
                                               const profile_options& options, const clock& time) {
    auto infos = describe_model(model);
    if (!infos)
        return infos.failure();
    std::vector<layer_time> times;
    for (std::size_t i = 0; i < infos->size(); ++i) {
        auto program = stage_program::create(model, {i, 1});
        if (!program)
            return program.failure();
        auto w = program->initialise(context, 0, false);
        if (!w)
            return w.failure();
        layer_time best{(*infos)[i].name, duration::max(), duration::max()};
        for (std::size_t repetition = 0; repetition <= options.repetitions; ++repetition) {
            auto once = time_once(context, *program, **w, options.batch, time);
            if (!once)
                return once.failure();
            if (repetition == 0 && options.repetitions > 0)
                continue;
            best.forward = std::min(best.forward, once->forward);
            best.backward = std::min(best.backward, once->backward);
        }
        times.push_back(std::move(best));
    }
    return times;
}

} // namespace troupe
