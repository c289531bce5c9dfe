// Inputs and outputs of layers: plain values that layers, graphs of them and the stages of a pipeline share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// The label of what a loss leaves out, where the app file names no other: padding.
inline constexpr std::int32_t ignored_label = -1;

// A value, of one sample.
struct value_form {
    data_type type = data_type::float32;
    tensor_shape shape;
    std::size_t values = 0; // of int32: every value is one of 0 .. values - 1, or `ignored`
    std::int32_t ignored = ignored_label;

    friend bool operator==(const value_form&, const value_form&) = default;
};

inline value_form numbers(const tensor_shape& shape) {
    return {data_type::float32, shape, 0};
}

inline std::size_t bytes_of(const value_form& value) noexcept {
    return value.shape.elements() * size_of(value.type);
}

// A value that crosses from one part of a model to another. `trained`: something before it has parameters, so that its
// gradient comes back.
struct graph_value {
    value_form info;
    bool trained = false;
};

// A batch on its way through a stage. `block` is the channel block of (samples, channels, height, width), else 1.
struct activation {
    tensor values;
    std::size_t block = 1;
};

// Which samples a pass computes, and what for. What a layer draws at random depends on this alone, so that it is the same
// however a minibatch is cut and wherever a model is.
struct batch_part {
    bool training =
        false; // else inference: nothing is dropped, running averages stand for the batch's
    std::uint64_t seed = 0;
    std::uint64_t minibatch = 0; // over the run
    std::uint64_t first_row = 0; // of its samples within the minibatch
    float share = 1;             // of the minibatch's samples
    std::uint64_t place = 0;     // of the layer within the model, mixed; set on the way to it
};

struct parameter_info {
    std::string name;   // "weight"; of a stage "layers.0.weight", numbered over the whole model
    tensor_shape shape; // linear: (out, in); conv2d: (out, in, kernel, kernel); bias: (out)
    // Its first values: `initial` plus a normal variable of this deviation. Of a weight that multiplies `fan_in` inputs (0:
    // it is none) the deviation is chosen by what follows it in the graph.
    double initial = 0;
    double initial_deviation = 0;
    std::size_t fan_in = 0;
    // Rows of a sample that the weight of a linear layer multiplies. Its gradient is a product of as many rows of
    // the output's gradient and of the input (sufficient factors). 0: it is none.
    std::size_t factor_rows = 0;
};

// A running average of a statistic of the minibatches, kept beside the parameters and saved with them:
// average' = (1 - momentum) * average + momentum * statistic.
struct average_info {
    std::string name; // "running_mean"
    tensor_shape shape;
    double initial = 0;
    float momentum = 0.1f;
};

// How much a layer keeps of a pass of training until its backward pass, of one sample: values that other layers may keep,
// too, and bytes of its own. A few numbers of the whole batch are left out.
struct kept_values {
    std::size_t inputs = 0; // so many, from the first on
    bool output = false;
    std::size_t more_bytes = 0;
};

// The state that a layer's backward pass needs of its forward pass. Opaque to everybody but the layer.
struct saved_layer {
    std::vector<tensor> tensors;
    std::size_t block = 1; // channel block of the image tensors among them (kernels/ops/ops.hpp)
};

} // namespace troupe
