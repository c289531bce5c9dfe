// Layers: what a model is made of. Each knows its shapes and parameters and calls operations; it
// holds no values.
//
// Between two layers of a stage an image batch keeps the channel block that its producer computed
// it in; whoever needs another one converts (`in_block`). At the borders of a stage images are
// row-major. Changing the block moves elements and never rounds, so it does not matter where a
// model is cut.
//
// Threads: const and shared freely; compute_context belongs to the thread that runs the work.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/layers/layer_values.hpp"
#include "kernels/ops/ops.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

// The same values in channel block `block`; those of `from` itself where it is that already.
result<activation> in_block(compute_context& context, activation from, std::size_t block);

// `t` itself where nobody else can see it change, otherwise new memory of its shape.
result<tensor> writable(compute_context& context, const tensor& t);

// New float32 tensors.
template <std::size_t N>
result<std::array<tensor, N>> allocate_all(compute_context& context,
                                           const tensor_shape (&shapes)[N]) {
    std::array<tensor, N> made;
    for (std::size_t i = 0; i < N; ++i) {
        auto t = tensor::allocate(context.memory, data_type::float32, shapes[i]);
        if (!t)
            return t.failure();
        made[i] = std::move(*t);
    }
    return made;
}

class layer {
  public:
    virtual ~layer() = default;

    virtual std::string_view kind() const noexcept = 0;
    virtual value_form output() const noexcept = 0;
    virtual double
    forward_flops() const noexcept = 0; // of one sample; multiply and add count as two
    virtual double backward_flops(bool want_input_gradient) const noexcept = 0;
    // The part of backward_flops() that weight_gradients() takes.
    virtual double weight_half_flops() const noexcept { return 0; }
    virtual kept_values kept() const noexcept = 0;
    // Whether the output is the input in another shape, in the same memory.
    virtual bool reshapes() const noexcept { return false; }
    // The fewest samples that a pass of training may have.
    virtual std::size_t samples_min() const noexcept { return 1; }
    // Names without the layer's number: "weight", "bias".
    virtual std::vector<parameter_info> parameters() const { return {}; }
    virtual std::vector<average_info> averages() const { return {}; }

    struct forward_pass {
        const batch_part& part;
        std::span<const tensor> parameters;
        std::span<const tensor> averages;
        std::vector<activation> inputs;
    };
    // Leaves in `saved` what backward needs. Overwrites an input where nobody else holds it and
    // that saves memory.
    virtual result<activation> forward(compute_context& context, forward_pass pass,
                                       saved_layer& saved) const = 0;

    struct backward_pass {
        const batch_part& part;
        std::span<const tensor> parameters;
        saved_layer saved;
        activation output_gradient;
        std::vector<bool> wanted; // by input: whether its gradient is
        // The gradient of the first parameter, which has factor_rows, is wanted as its factors (sufficient_factors.hpp).
        bool as_factors = false;
        // A layer that gains by it gives the gradients of its inputs alone, and leaves a rest for weight_gradients().
        bool in_halves = false;
    };
    struct gradients {
        std::vector<activation> inputs; // by input, without values where not wanted
        std::vector<tensor> parameters; // null tensors where there is a rest
        std::vector<tensor> statistics; // what the averages are of, times the part's share
        saved_layer rest;               // without tensors: nothing is left to do
    };
    // After forward passes of training only.
    virtual result<gradients> backward(compute_context& context, backward_pass pass) const = 0;

    struct weight_pass {
        const batch_part& part;
        std::span<const tensor> parameters;
        saved_layer rest;
        bool as_factors = false;
    };
    // The second half of a backward pass that has left a rest: the gradients of the parameters, with the bits of the whole.
    virtual result<std::vector<tensor>> weight_gradients(compute_context& context,
                                                         weight_pass pass) const;

  protected:
    // Memory for what backward is to compute: of the shape of the only input, which forward has saved as
    // tensors[0], where its gradient is wanted, and of each parameter's.
    static result<gradients> allocate_gradients(compute_context& context,
                                                const backward_pass& pass);
    // The two parts of that. Of the first parameter no memory where its factors are wanted.
    static result<gradients> allocate_input_gradient(compute_context& context,
                                                     const backward_pass& pass);
    static result<std::vector<tensor>> allocate_weight_gradients(compute_context& context,
                                                                 std::span<const tensor> parameters,
                                                                 bool as_factors);
};

// The layer of one input that `description` asks for: all but those that hold other layers (kernels/graph/model_graph.hpp).
// errc::usage for impossible shapes, without the layer's name.
result<std::shared_ptr<const layer>> make_layer(proto::Layer::Reader description,
                                                const value_form& input);

// The function of a layer that computes one of each number; none of other layers.
std::optional<pointwise> pointwise_of(proto::Layer::Reader description) noexcept;

// As it stands in app files: "max_pool".
std::string_view layer_kind(proto::Layer::Reader description) noexcept;

} // namespace troupe
