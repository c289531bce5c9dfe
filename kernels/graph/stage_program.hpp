// The computation of one pipeline stage: a contiguous range of a model's layers, with the loss if
// it holds the last.
//
// Pure: a stage_program holds shapes and layer settings, no weights and no activations. Weights
// come in as immutable versions, activations that the backward pass needs go out as
// `saved_activations` and come back with the gradient. Which weights belong to which pass is
// decided by the caller (the pipeline protocol), never here.
//
// A model gives bit-equal results however it is cut: initial weights depend on (seed, layer,
// parameter) only, and every layer computes the same whether its neighbours are in the same stage
// or not.
//
// Threads: const methods are thread-safe; compute_context belongs to the device thread that runs
// the work. Errors: errc::usage for impossible models (naming the layer and its shapes),
// errc::exhausted for memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/graph/value_form.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/ids.hpp"

namespace troupe {

// Layers first .. first + count of the model.
struct layer_range {
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const layer_range&, const layer_range&) = default;
};

// One immutable version of a stage's parameters with the optimizer state that belongs to it.
struct weights {
    weight_version version;
    std::vector<tensor> parameters; // in the order of stage_program::parameters()
    std::vector<tensor>
        state; // what the optimizer keeps: so many per parameter, in order of the parameters
};
using weights_ptr = std::shared_ptr<const weights>;

struct parameter_info {
    std::string name;   // "layers.0.weight", numbered over the whole model
    tensor_shape shape; // linear: (out, in); conv2d: (out, in, kernel, kernel); bias: (out)
    std::size_t fan_in = 0;
    bool is_bias = false;
    double initial_deviation = 0; // of the normal distribution of its first values; 0 for a bias
};

// What a layer's backward pass needs of its forward pass. Opaque to everybody but the layers.
struct saved_layer {
    std::vector<tensor> tensors;
    std::size_t block = 1; // channel block of the image tensors among them (kernels/ops/ops.hpp)
};
struct saved_activations {
    std::vector<saved_layer> layers;
};

struct forward_result {
    tensor output; // (batch, output_shape...)
    saved_activations saved;
};

struct backward_result {
    tensor input_gradient; // (batch, input_shape...); empty when not asked for
    std::vector<tensor> parameter_gradients;
};

struct loss_result {
    double loss_sum = 0;       // over the samples, not divided by their number
    std::uint64_t correct = 0; // samples whose largest output is their label
    tensor gradient;           // (batch, classes), of `scale` times loss_sum; empty when scale is 0
};

class layer; // kernels/layers/layer.hpp

class stage_program {
  public:
    static result<stage_program> create(proto::Model::Reader model, layer_range range);

    layer_range range() const noexcept { return range_; }
    const tensor_shape& input_shape() const noexcept { return input_shape_; }   // of one sample
    const tensor_shape& output_shape() const noexcept { return output_shape_; } // of one sample
    bool has_loss() const noexcept { return has_loss_; }
    const value_form& labels() const noexcept { return labels_; } // only where has_loss()
    const std::vector<parameter_info>& parameters() const noexcept { return parameters_; }
    std::size_t parameter_bytes() const noexcept;
    double forward_flops_per_sample() const noexcept {
        return forward_flops_;
    } // multiply and add count as two
    double backward_flops_per_sample() const noexcept { return backward_flops_; }

    // Version 0: zero for biases, normal for weights: of variance 2 / fan_in where a relu follows (He et al. 2015), else
    // 2 / (fan_in + fan_out) (Glorot and Bengio 2010).
    // With so many zeroed tensors of optimizer state per parameter.
    result<weights_ptr> initialise(compute_context& context, std::uint64_t seed,
                                   std::size_t state_per_parameter) const;

    // input: (batch, input_shape...), float32. Overwritten where nobody else holds it. For
    // inference drop `saved`. errc::protocol for an input, and below for a gradient, of another
    // type or shape, or of no samples.
    result<forward_result> forward(compute_context& context, const weights& w, tensor input) const;

    // `w` must be the version that the forward pass used.
    result<backward_result> backward(compute_context& context, const weights& w,
                                     saved_activations saved, tensor output_gradient,
                                     bool want_input_gradient) const;

    // Softmax cross entropy of the last layer's output. labels: as labels() says. errc::data for a
    // label that is not smaller than the number of classes. Only where has_loss(). The gradient is
    // of scale * sum of losses, so that the gradients of microbatches add up to that of their
    // minibatch with scale = 1 / samples of the minibatch.
    result<loss_result> loss(compute_context& context, const tensor& logits, const tensor& labels,
                             float scale) const;

  private:
    // A layer, or several that run as one.
    struct step {
        std::size_t layer; // number of the first
        std::size_t parameters;
        std::shared_ptr<const troupe::layer> run;
    };

    layer_range range_;
    tensor_shape input_shape_;
    tensor_shape output_shape_;
    bool has_loss_ = false;
    value_form labels_;
    std::vector<parameter_info> parameters_;
    std::vector<step> steps_;
    double forward_flops_ = 0;
    double backward_flops_ = 0;
};

// Name and output shape of every layer of a model, for plans and error messages. Checks the whole
// model.
struct layer_info {
    std::string name; // "layers.3 conv2d"
    tensor_shape output_shape;
    std::size_t parameter_elements = 0;
    double forward_flops_per_sample = 0;
};
result<std::vector<layer_info>> describe_model(proto::Model::Reader model);

} // namespace troupe
