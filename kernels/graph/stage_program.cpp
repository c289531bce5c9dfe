#include "kernels/graph/stage_program.hpp"

#include <cmath>

#include "kernels/graph/model_walk.hpp"
#include "kernels/layers/kinds.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// Separates the streams of initial weights from what else is drawn from the same seed.
constexpr std::uint64_t initialisation_purpose = 0x6865'0000'0000'0000;

std::uint64_t purpose_of(std::size_t layer, std::size_t parameter) noexcept {
    return initialisation_purpose + (static_cast<std::uint64_t>(layer) << 8) + parameter;
}

result<void> check_batch(std::string_view what, const tensor& t, const tensor_shape& sample_shape) {
    if (t && t.type() == data_type::float32 && t.shape().rank() == sample_shape.rank() + 1 &&
        t.shape()[0] > 0 && t.shape().without_first() == sample_shape)
        return {};
    return error{errc::protocol, std::string{what} + " is " + std::string{to_string(t.type())} +
                                     " " + to_string(t.shape()) +
                                     ", but the stage takes float32 batches of " +
                                     to_string(sample_shape)};
}

result<tensor> zeros(compute_context& context, const tensor_shape& shape) {
    auto t = tensor::allocate(context.memory, data_type::float32, shape);
    if (t)
        if (auto done = context.ops.run(fill{*t, 0}); !done)
            return done.failure();
    return t;
}

// The weights of a layer that computes (out, in, ...): what a relu halves is made up for (He), and otherwise the variances
// of activations and gradients are balanced (Glorot).
double initial_deviation(const parameter_info& weight, bool relu_follows) {
    const double fan_in = static_cast<double>(weight.fan_in);
    const double fan_out =
        static_cast<double>(weight.shape[0]) * fan_in / static_cast<double>(weight.shape[1]);
    return std::sqrt(2.0 / (relu_follows ? fan_in : fan_in + fan_out));
}

result<tensor> normal(compute_context& context, const parameter_info& parameter,
                      random_stream stream) {
    auto t = tensor::allocate(context.memory, data_type::float32, parameter.shape);
    if (!t)
        return t;
    for (float& x : t->mutable_values<float>())
        x = static_cast<float>(parameter.initial_deviation * stream.normal());
    return t;
}

} // namespace

result<stage_program> stage_program::create(proto::Model::Reader model, layer_range range) {
    auto walked = walk_model(model);
    if (!walked)
        return walked.failure();
    const std::size_t layers = walked->size();
    if (range.count == 0 || range.first >= layers || range.count > layers - range.first)
        return error{errc::usage, "a stage of " + std::to_string(range.count) +
                                      " layers from layer " + std::to_string(range.first) +
                                      " on does not fit a model of " + std::to_string(layers) +
                                      " layers"};
    stage_program program;
    program.range_ = range;
    program.has_loss_ = range.first + range.count == layers;
    const auto own = std::span{*walked}.subspan(range.first, range.count);
    for (const auto& step : own) {
        // Of the whole model, so that initial weights do not depend on the cut.
        const bool relu_follows = step.index + 1 < layers &&
                                  model.getLayers()[static_cast<unsigned>(step.index + 1)].isRelu();
        for (auto& parameter : step.made->parameters()) {
            if (!parameter.is_bias)
                parameter.initial_deviation = initial_deviation(parameter, relu_follows);
            parameter.name = "layers." + std::to_string(step.index) + "." + parameter.name;
            program.parameters_.push_back(std::move(parameter));
        }
        program.forward_flops_ += step.made->forward_flops();
        program.backward_flops_ += step.made->backward_flops(step.index > 0);
    }
    for (auto& step : join_layers(model, own))
        program.steps_.push_back(
            {step.index, step.made->parameters().size(), std::move(step.made)});
    program.input_shape_ = (*walked)[range.first].input_shape;
    program.output_shape_ = program.steps_.back().run->output_shape();
    if (program.has_loss_)
        program.labels_ = label_form(model.getLoss(), program.output_shape_);
    return program;
}

std::size_t stage_program::parameter_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const auto& parameter : parameters_)
        bytes += parameter.shape.elements() * sizeof(float);
    return bytes;
}

result<weights_ptr> stage_program::initialise(compute_context& context, std::uint64_t seed,
                                              std::size_t state_per_parameter) const {
    auto made = std::make_shared<weights>();
    std::size_t next = 0;
    for (const step& s : steps_)
        for (std::size_t p = 0; p < s.parameters; ++p, ++next) {
            const auto& parameter = parameters_[next];
            auto values = parameter.is_bias ? zeros(context, parameter.shape)
                                            : normal(context, parameter,
                                                     random_stream{seed, purpose_of(s.layer, p)});
            if (!values)
                return values.failure().in(parameter.name);
            made->parameters.push_back(std::move(*values));
        }
    for (const auto& parameter : parameters_)
        for (std::size_t kind = 0; kind < state_per_parameter; ++kind) {
            auto values = zeros(context, parameter.shape);
            if (!values)
                return values.failure().in("the optimizer's state of " + parameter.name);
            made->state.push_back(std::move(*values));
        }
    return weights_ptr{std::move(made)};
}

result<forward_result> stage_program::forward(compute_context& context, const weights& w,
                                              tensor input) const {
    if (auto fits = check_batch("the input", input, input_shape_); !fits)
        return fits.failure();
    TROUPE_CHECK(w.parameters.size() == parameters_.size(), "the weights belong to this stage");
    forward_result done;
    done.saved.layers.resize(steps_.size());
    activation current{std::move(input), 1};
    std::span<const tensor> rest = w.parameters;
    for (std::size_t l = 0; l < steps_.size(); ++l) {
        const auto parameters = rest.first(steps_[l].parameters);
        rest = rest.subspan(parameters.size());
        auto next =
            steps_[l].run->forward(context, parameters, std::move(current), done.saved.layers[l]);
        if (!next)
            return next.failure();
        current = std::move(*next);
    }
    auto plain = in_block(context, std::move(current), 1);
    if (!plain)
        return plain.failure();
    done.output = std::move(plain->values);
    return done;
}

result<backward_result> stage_program::backward(compute_context& context, const weights& w,
                                                saved_activations saved, tensor output_gradient,
                                                bool want_input_gradient) const {
    if (auto fits = check_batch("the gradient", output_gradient, output_shape_); !fits)
        return fits.failure();
    TROUPE_CHECK(w.parameters.size() == parameters_.size(), "the weights belong to this stage");
    TROUPE_CHECK(saved.layers.size() == steps_.size(), "what was saved belongs to this stage");
    backward_result done;
    done.parameter_gradients.resize(parameters_.size());
    activation current{std::move(output_gradient), 1};
    std::size_t end = parameters_.size();
    for (std::size_t l = steps_.size(); l-- > 0;) {
        const std::size_t begin = end - steps_[l].parameters;
        auto passed = steps_[l].run->backward(
            context, {.parameters = std::span{w.parameters}.subspan(begin, end - begin),
                      .saved = std::move(saved.layers[l]),
                      .output_gradient = std::move(current),
                      .want_input_gradient = want_input_gradient || l > 0});
        if (!passed)
            return passed.failure();
        std::ranges::move(passed->parameters,
                          done.parameter_gradients.begin() + static_cast<std::ptrdiff_t>(begin));
        current = std::move(passed->input);
        end = begin;
    }
    if (want_input_gradient) {
        auto plain = in_block(context, std::move(current), 1);
        if (!plain)
            return plain.failure();
        done.input_gradient = std::move(plain->values);
    }
    return done;
}

result<loss_result> stage_program::loss(compute_context& context, const tensor& logits,
                                        const tensor& labels, float scale) const {
    TROUPE_CHECK(has_loss_, "the last stage computes the loss");
    loss_result done;
    if (scale != 0) {
        auto gradient = tensor::allocate(context.memory, data_type::float32, logits.shape());
        if (!gradient)
            return gradient.failure();
        done.gradient = std::move(*gradient);
    }
    softmax_cross_entropy_sums sums;
    auto computed =
        context.ops.run(softmax_cross_entropy{.logits = logits,
                                              .labels = labels,
                                              .scale = scale,
                                              .gradient = scale != 0 ? &done.gradient : nullptr,
                                              .sums = sums});
    if (!computed)
        return computed.failure();
    done.loss_sum = sums.loss;
    done.correct = sums.correct;
    return done;
}

result<std::vector<layer_info>> describe_model(proto::Model::Reader model) {
    auto walked = walk_model(model);
    if (!walked)
        return walked.failure();
    std::vector<layer_info> infos;
    for (const auto& step : *walked) {
        layer_info info{"layers." + std::to_string(step.index) + " " +
                            std::string{step.made->kind()},
                        step.made->output_shape(), 0, step.made->forward_flops()};
        for (const auto& parameter : step.made->parameters())
            info.parameter_elements += parameter.shape.elements();
        infos.push_back(std::move(info));
    }
    return infos;
}

} // namespace troupe
