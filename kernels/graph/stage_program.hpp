// The computation of one pipeline stage: a contiguous range of a model's layers, with the loss if
// it holds the last.
//
// Pure: a stage_program holds shapes and layer settings, no weights and no activations. Weights are
// immutable versions, passed in; activations that the backward pass needs are returned as
// `saved_activations` and passed back with the gradient. The caller (the pipeline protocol) decides
// which weights belong to which pass.
//
// A model gives bit-equal results however it is cut: initial weights depend on (seed, layer,
// parameter) only, and every layer computes the same whether its neighbours are in the same stage
// or not. Where a model is cut, every value that is read on the other side crosses, skip
// connections too; gradients come back for those that have parameters before them.
//
// Threads: const methods are thread-safe; compute_context belongs to the device thread that runs
// the work. Errors: errc::usage for impossible models (naming the layer and its shapes),
// errc::exhausted for memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/graph/model_loss.hpp"
#include "kernels/graph/weights.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

struct saved_activations {
    std::vector<saved_layer> layers;
};

struct forward_result {
    std::vector<tensor> outputs; // (batch, shape...) of stage_program::outputs()
    saved_activations saved;
};

struct backward_result {
    std::vector<tensor> input_gradients; // of the inputs that are trained, in order
    // Gradients of parameters(), then the statistics for averages(): all that is summed over microbatches.
    std::vector<tensor> weight_gradients;
};

// The first dimension of the first tensor; 0 without one.
std::size_t samples_of(std::span<const tensor> batches) noexcept;

class graph_pass;  // kernels/graph/graph_pass.hpp
class graph_range; // kernels/graph/graph_range.hpp

// The first half of a backward pass, between the two.
struct half_backward {
    std::vector<tensor> input_gradients; // as in backward_result
    std::shared_ptr<graph_pass> rest;    // for the second half; null once that has it
    std::uint64_t kept_bytes = 0;        // of the tensors in `rest`
};
struct model_graph;

class stage_program {
  public:
    static result<stage_program> create(proto::Model::Reader model, layer_range range);
    static result<stage_program> whole(proto::Model::Reader model); // all layers as one stage
    // Several stages of one model, whose graph is built once.
    static result<std::vector<stage_program>> create(proto::Model::Reader model,
                                                     std::span<const layer_range> ranges);

    layer_range range() const noexcept { return range_; }
    const std::string& first_layer() const noexcept; // "layers.3 linear"
    // The values that cross into the stage and out of it.
    const std::vector<graph_value>& inputs() const noexcept;
    const std::vector<graph_value>& outputs() const noexcept;
    bool has_loss() const noexcept { return loss_.has_value(); }
    const value_form& labels() const noexcept { return loss_->labels(); } // only where has_loss()
    const std::vector<parameter_info>& parameters() const noexcept;
    const std::vector<average_info>& averages() const noexcept;
    std::size_t parameter_bytes() const noexcept;
    double forward_flops_per_sample() const noexcept; // multiply and add count as two
    double backward_flops_per_sample() const noexcept;
    double weight_half_flops_per_sample() const noexcept; // of these, in backward_weights()
    // Bytes that each layer keeps for one sample between forward and backward; the model's last layer also the loss's
    // gradient.
    std::vector<std::size_t> kept_bytes_per_sample() const;

    // The layout in which the stage's weights are stored and sent, for an optimizer with this state.
    weights_layout layout(std::span<const std::string_view> state) const;

    // Version 0: biases are zero, weights are normal with variance 2 / fan_in where a relu follows (He et al. 2015), else
    // 2 / (fan_in + fan_out) (Glorot and Bengio 2010). Each parameter has so many zeroed tensors of optimizer state.
    result<weights_ptr> initialise(compute_context& context, std::uint64_t seed,
                                   std::size_t state_per_parameter) const;

    // Check that these are so many samples of inputs(), of gradients of those outputs() that are trained, or of labels().
    // errc::protocol.
    result<void> check_inputs(std::span<const tensor> batches, std::size_t samples) const;
    result<void> check_gradients(std::span<const tensor> batches, std::size_t samples) const;
    result<void> check_labels(std::span<const tensor> batches, std::size_t samples) const;

    // `inputs`: must pass check_inputs(); overwritten where nobody else holds them.
    result<forward_result> forward(compute_context& context, const weights& w,
                                   const batch_part& part, std::vector<tensor> inputs) const;

    // The first of the stage's layers whose output has a value that is not finite, "layers.3 linear", found by another
    // forward pass; empty if the inputs have one already, or no output has.
    result<std::string> first_not_finite(compute_context& context, const weights& w,
                                         const batch_part& part,
                                         const std::vector<tensor>& inputs) const;

    // Called during a backward pass, on its thread, as soon as the gradients of some layers are there, the last layers'
    // first: with the number of their first parameter, and the gradients, which do not change any more. An error ends the
    // pass.
    using gradients_hook = std::function<result<void>(std::size_t, std::span<const tensor>)>;

    // `w` and `part` must be those of the forward pass, which must have been one of training. Gradients must pass
    // check_gradients(). `as_factors`: by parameter, true: its gradient is returned as factors (sufficient_factors.hpp); the
    // parameter must have factor_rows.
    result<backward_result> backward(compute_context& context, const weights& w,
                                     const batch_part& part, saved_activations saved,
                                     std::vector<tensor> output_gradients,
                                     const gradients_hook* ready = nullptr,
                                     const std::vector<bool>* as_factors = nullptr) const;

    // The same backward pass in two halves, with the same bits: the gradients of the inputs, and later those of the
    // weights (backward_result::weight_gradients). Linear and attention layers leave their weights to the second half;
    // others compute all in the first. Gradients are handed to `ready` in the second.
    result<half_backward> backward_inputs(compute_context& context, const weights& w,
                                          const batch_part& part, saved_activations saved,
                                          std::vector<tensor> output_gradients) const;
    result<std::vector<tensor>>
    backward_weights(compute_context& context, const weights& w, const batch_part& part,
                     graph_pass& rest, const gradients_hook* ready = nullptr,
                     const std::vector<bool>* as_factors = nullptr) const;

    // The running averages of the version after `current`, from statistics summed over a minibatch.
    result<std::vector<tensor>> next_averages(compute_context& context, const weights& current,
                                              std::span<const tensor> statistics) const;

    // The model's loss of the last layer's output. Only if has_loss().
    result<loss_result> loss(compute_context& context, const tensor& logits, const tensor& labels,
                             float scale) const;

  private:
    stage_program(const model_graph& graph, proto::Model::Reader model, layer_range range);

    // The given context, with the precision of the model's products.
    compute_context with_precision(const compute_context& context) const {
        return {context.ops, context.memory, products_, context.host};
    }

    layer_range range_;
    precision products_ = precision::float32;
    std::optional<model_loss> loss_;
    std::vector<value_form> arriving_, returning_; // of inputs(); of the gradients of outputs()
    std::vector<std::uint64_t> purposes_; // by parameter: purpose of its initial random numbers
    std::shared_ptr<const graph_range> run_;
};

// Every layer of a model, with blocks taken apart, for plans and error messages (describe_model.cpp). Checks the whole
// model.
struct layer_info {
    std::string name; // "layers.3 conv2d", "layers.4.layers.0 conv2d"
    std::string key;  // of the app file, below model: "layers[4].residual.layers[0]"
    tensor_shape output_shape;
    std::size_t parameter_elements = 0;
    double forward_flops_per_sample = 0;
    double backward_flops_per_sample = 0;
    std::size_t samples_min = 1; // least samples of a training pass
    // Bytes of one sample that cross if a stage ends here: values forward, and gradients back.
    std::size_t crossing_bytes = 0;
    std::size_t crossing_gradient_bytes = 0;
};
result<std::vector<layer_info>> describe_model(proto::Model::Reader model);
std::size_t count_layers(proto::Model::Reader model); // of a model that has been checked

} // namespace troupe
