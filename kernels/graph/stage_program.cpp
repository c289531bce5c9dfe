#include "kernels/graph/stage_program.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/graph/graph_pass.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// Separates the random streams of initial weights from others with the same seed.
constexpr std::uint64_t initialisation_purpose = 0x6865'0000'0000'0000;

std::uint64_t purpose_of(std::size_t layer, std::size_t parameter) noexcept {
    static_assert(limits::layers_max <= 1 << 16);
    return initialisation_purpose + (static_cast<std::uint64_t>(layer) << 8) + (parameter & 0xff) +
           (static_cast<std::uint64_t>(parameter >> 8) << 24);
}

// Checks that these tensors are so many samples of these values.
result<void> check_batches(std::span<const tensor> batches, std::size_t samples,
                           std::span<const value_form> values) {
    if (batches.size() != values.size())
        return error{errc::protocol, std::to_string(batches.size()) + " tensors instead of " +
                                         std::to_string(values.size())};
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const tensor& t = batches[i];
        const tensor_shape shape = batch_of(samples, values[i].shape);
        if (!t || t.type() != values[i].type || t.shape() != shape || samples == 0)
            return error{errc::protocol,
                         std::string{to_string(t.type())} + to_string(t.shape()) + " instead of " +
                             std::string{to_string(values[i].type)} + to_string(shape)};
    }
    return {};
}

result<std::vector<tensor>> row_major(compute_context& context, std::vector<activation> values) {
    std::vector<tensor> tensors;
    for (auto& value : values) {
        auto plain = in_block(context, std::move(value), 1);
        if (!plain)
            return plain.failure();
        tensors.push_back(std::move(plain->values));
    }
    return tensors;
}

std::vector<activation> from_row_major(std::vector<tensor> tensors) {
    std::vector<activation> values;
    for (auto& t : tensors)
        values.push_back({std::move(t), 1});
    return values;
}

result<tensor> filled(compute_context& context, const tensor_shape& shape, double value) {
    auto t = tensor::allocate(context.memory, data_type::float32, shape);
    if (t)
        if (auto done = context.ops.run(fill{*t, static_cast<float>(value)}); !done)
            return done.failure();
    return t;
}

result<tensor> first_values(compute_context& context, const parameter_info& parameter,
                            random_stream stream) {
    if (parameter.initial_deviation == 0)
        return filled(context, parameter.shape, parameter.initial);
    auto t = tensor::allocate(context.host_memory(), data_type::float32, parameter.shape);
    if (!t)
        return t;
    for (float& x : t->mutable_values<float>())
        x = static_cast<float>(parameter.initial + parameter.initial_deviation * stream.normal());
    return copied_to_device(context, *t);
}

} // namespace

std::size_t samples_of(std::span<const tensor> batches) noexcept {
    return batches.empty() || !batches[0] || batches[0].shape().rank() == 0 ? 0
                                                                            : batches[0].shape()[0];
}

stage_program::stage_program(const model_graph& graph, proto::Model::Reader model,
                             layer_range range)
    : range_{range}, products_{precision_of(model)}, run_{std::make_shared<graph_range>(graph,
                                                                                        range)} {
    for (const graph_value& value : inputs())
        arriving_.push_back(value.info);
    for (const graph_value& value : outputs())
        if (value.trained)
            returning_.push_back(value.info);
    for (std::size_t n = range.first; n < range.first + range.count; ++n)
        for (std::size_t p = 0; p < graph.nodes[n].run->parameters().size(); ++p)
            purposes_.push_back(purpose_of(n, p));
    if (range.first + range.count == graph.nodes.size())
        loss_ = model_loss::create(model.getLoss(), graph.values.back().info.shape).value();
}

result<stage_program> stage_program::create(proto::Model::Reader model, layer_range range) {
    auto made = create(model, {&range, 1});
    return made ? result<stage_program>{std::move(made->front())} : made.failure();
}

result<stage_program> stage_program::whole(proto::Model::Reader model) {
    const auto graph = build_graph(model);
    return graph ? result<stage_program>{stage_program{*graph, model, {0, graph->nodes.size()}}}
                 : graph.failure();
}

result<std::vector<stage_program>> stage_program::create(proto::Model::Reader model,
                                                         std::span<const layer_range> ranges) {
    const auto graph = build_graph(model);
    if (!graph)
        return graph.failure();
    const std::size_t layers = graph->nodes.size();
    std::vector<stage_program> programs;
    for (const layer_range& range : ranges) {
        if (range.count == 0 || range.first >= layers || range.count > layers - range.first)
            return error{errc::usage, "a stage of " + std::to_string(range.count) +
                                          " layers from layer " + std::to_string(range.first) +
                                          " on does not fit a model of " + std::to_string(layers) +
                                          " layers"};
        programs.push_back({*graph, model, range});
    }
    return programs;
}

const std::string& stage_program::first_layer() const noexcept {
    return run_->steps().front().name;
}
const std::vector<graph_value>& stage_program::inputs() const noexcept {
    return run_->inputs();
}
const std::vector<graph_value>& stage_program::outputs() const noexcept {
    return run_->outputs();
}
const std::vector<parameter_info>& stage_program::parameters() const noexcept {
    return run_->parameters();
}
const std::vector<average_info>& stage_program::averages() const noexcept {
    return run_->averages();
}
double stage_program::forward_flops_per_sample() const noexcept {
    return run_->forward_flops();
}
double stage_program::backward_flops_per_sample() const noexcept {
    return run_->backward_flops();
}

double stage_program::weight_half_flops_per_sample() const noexcept {
    return run_->weight_half_flops();
}

std::vector<std::size_t> stage_program::kept_bytes_per_sample() const {
    std::vector<std::size_t> bytes = run_->kept_bytes();
    if (has_loss())
        bytes.back() += bytes_of(outputs()[0].info);
    return bytes;
}

std::size_t stage_program::parameter_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const auto& parameter : parameters())
        bytes += parameter.shape.elements() * sizeof(float);
    return bytes;
}

weights_layout stage_program::layout(std::span<const std::string_view> state) const {
    return {parameters(), averages(), state};
}

result<weights_ptr> stage_program::initialise(compute_context& context, std::uint64_t seed,
                                              std::size_t state_per_parameter) const {
    auto made = std::make_shared<weights>();
    for (std::size_t p = 0; p < parameters().size(); ++p) {
        auto values = first_values(context, parameters()[p], random_stream{seed, purposes_[p]});
        if (!values)
            return values.failure().in(parameters()[p].name);
        made->parameters.push_back(std::move(*values));
    }
    for (const auto& parameter : parameters())
        for (std::size_t kind = 0; kind < state_per_parameter; ++kind) {
            auto values = filled(context, parameter.shape, 0);
            if (!values)
                return values.failure().in("the optimizer's state of " + parameter.name);
            made->state.push_back(std::move(*values));
        }
    made->updates.resize(parameters().size());
    for (const auto& average : averages()) {
        auto values = filled(context, average.shape, average.initial);
        if (!values)
            return values.failure().in(average.name);
        made->averages.push_back(std::move(*values));
    }
    return weights_ptr{std::move(made)};
}

result<void> stage_program::check_inputs(std::span<const tensor> batches,
                                         std::size_t samples) const {
    return check_batches(batches, samples, arriving_);
}

result<void> stage_program::check_gradients(std::span<const tensor> batches,
                                            std::size_t samples) const {
    return check_batches(batches, samples, returning_);
}

result<void> stage_program::check_labels(std::span<const tensor> batches,
                                         std::size_t samples) const {
    return check_batches(batches, samples, {&labels(), 1});
}

result<forward_result> stage_program::forward(compute_context& context, const weights& w,
                                              const batch_part& part,
                                              std::vector<tensor> inputs) const {
    if (auto fits = check_inputs(inputs, samples_of(inputs)); !fits)
        return fits.failure().in("input");
    TROUPE_CHECK(w.parameters.size() == parameters().size(), "the weights belong to this stage");
    compute_context precise = with_precision(context);
    auto passed =
        run_->forward(precise, {part, w.parameters, w.averages}, from_row_major(std::move(inputs)));
    if (!passed)
        return passed.failure();
    auto outputs = row_major(context, std::move(passed->outputs));
    if (!outputs)
        return outputs.failure();
    return forward_result{std::move(*outputs), {std::move(passed->saved)}};
}

result<std::string> stage_program::first_not_finite(compute_context& context, const weights& w,
                                                    const batch_part& part,
                                                    const std::vector<tensor>& inputs) const {
    const auto is_finite = [&](const tensor& t) {
        double squares = 0;
        return t.type() != data_type::float32 ||
               (context.ops.run(sum_of_squares{t, squares}).ok() && std::isfinite(squares));
    };
    if (!std::ranges::all_of(inputs, is_finite))
        return std::string{};
    std::string found;
    const graph_range::step_hook look = [&](std::size_t step, const activation& made) {
        if (found.empty() && !is_finite(made.values))
            found = run_->steps()[step].name;
        return result<void>{};
    };
    compute_context precise = with_precision(context);
    auto passed =
        run_->forward(precise, {part, w.parameters, w.averages, &look}, from_row_major(inputs));
    if (!passed)
        return passed.failure();
    return found;
}

result<backward_result> stage_program::backward(compute_context& context, const weights& w,
                                                const batch_part& part, saved_activations saved,
                                                std::vector<tensor> output_gradients,
                                                const gradients_hook* ready,
                                                const std::vector<bool>* as_factors) const {
    if (auto fits = check_gradients(output_gradients, samples_of(output_gradients)); !fits)
        return fits.failure().in("gradient");
    TROUPE_CHECK(w.parameters.size() == parameters().size(), "the weights belong to this stage");
    compute_context precise = with_precision(context);
    const graph_range::pass pass{.part = part,
                                 .parameters = w.parameters,
                                 .averages = w.averages,
                                 .after_gradients = ready,
                                 .as_factors = as_factors};
    auto passed = run_->backward(precise, pass, std::move(saved.layers),
                                 from_row_major(std::move(output_gradients)));
    if (!passed)
        return passed.failure();
    auto inputs = row_major(context, std::move(passed->inputs));
    if (!inputs)
        return inputs.failure();
    backward_result done{std::move(*inputs), std::move(passed->weights.parameters)};
    std::ranges::move(passed->weights.statistics, std::back_inserter(done.weight_gradients));
    return done;
}

result<half_backward> stage_program::backward_inputs(compute_context& context, const weights& w,
                                                     const batch_part& part,
                                                     saved_activations saved,
                                                     std::vector<tensor> output_gradients) const {
    if (auto fits = check_gradients(output_gradients, samples_of(output_gradients)); !fits)
        return fits.failure().in("gradient");
    compute_context precise = with_precision(context);
    half_backward half;
    half.rest = std::make_shared<graph_pass>(graph_pass::backward(
        *run_, std::move(saved.layers), from_row_major(std::move(output_gradients)), true));
    if (auto done = half.rest->run_until(precise, {part, w.parameters, w.averages}, 0); !done)
        return done.failure();
    auto inputs = row_major(context, half.rest->take_input_gradients());
    if (!inputs)
        return inputs.failure();
    half.input_gradients = std::move(*inputs);
    for (const tensor& t : half.rest->kept())
        half.kept_bytes += t.bytes();
    return half;
}

result<std::vector<tensor>>
stage_program::backward_weights(compute_context& context, const weights& w, const batch_part& part,
                                graph_pass& rest, const gradients_hook* ready,
                                const std::vector<bool>* as_factors) const {
    compute_context precise = with_precision(context);
    auto made = rest.take_weight_gradients(precise, {.part = part,
                                                     .parameters = w.parameters,
                                                     .averages = w.averages,
                                                     .after_gradients = ready,
                                                     .as_factors = as_factors});
    if (!made)
        return made.failure();
    std::vector<tensor> all = std::move(made->parameters);
    std::ranges::move(made->statistics, std::back_inserter(all));
    return all;
}

result<std::vector<tensor>> stage_program::next_averages(compute_context& context,
                                                         const weights& current,
                                                         std::span<const tensor> statistics) const {
    TROUPE_CHECK(statistics.size() == averages().size(), "one statistic per average");
    std::vector<tensor> next;
    for (std::size_t i = 0; i < statistics.size(); ++i) {
        const float momentum = averages()[i].momentum;
        auto made = tensor::allocate(context.memory, data_type::float32, averages()[i].shape);
        if (!made)
            return made.failure();
        const tensor& old = current.averages[i];
        // (1 - momentum) * old + momentum * statistic, in two steps.
        if (auto done = context.ops.run(add_scaled{old, -momentum, old, *made}); !done)
            return done.failure();
        if (auto done = context.ops.run(add_scaled{*made, momentum, statistics[i], *made}); !done)
            return done.failure();
        next.push_back(std::move(*made));
    }
    return next;
}

result<loss_result> stage_program::loss(compute_context& context, const tensor& logits,
                                        const tensor& labels, float scale) const {
    TROUPE_CHECK(has_loss(), "the last stage computes the loss");
    return loss_->run(context, logits, labels, scale);
}

} // namespace troupe
