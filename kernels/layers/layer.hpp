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

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/graph/stage_program.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

// A batch on its way through a stage. `block` is the channel block of (samples, channels, height,
// width), else 1.
struct activation {
    tensor values;
    std::size_t block = 1;
};

// The same values in channel block `block`; those of `from` itself where it is that already.
result<activation> in_block(compute_context& context, activation from, std::size_t block);

// `t` itself where nobody else can see it change, otherwise new memory of its shape.
result<tensor> writable(compute_context& context, const tensor& t);

class layer {
  public:
    virtual ~layer() = default;

    virtual std::string_view kind() const noexcept = 0;
    virtual tensor_shape output_shape() const noexcept = 0; // of one sample
    virtual double
    forward_flops() const noexcept = 0; // of one sample; multiply and add count as two
    virtual double backward_flops(bool want_input_gradient) const noexcept = 0;
    // Names without the layer's number: "weight", "bias".
    virtual std::vector<parameter_info> parameters() const { return {}; }

    // Leaves in `saved` what backward needs. Overwrites the input where nobody else holds it and
    // that saves memory.
    virtual result<activation> forward(compute_context& context, std::span<const tensor> parameters,
                                       activation input, saved_layer& saved) const = 0;

    struct backward_pass {
        std::span<const tensor> parameters;
        saved_layer saved;
        activation output_gradient;
        bool want_input_gradient = true;
    };
    struct gradients {
        activation input; // without values where not wanted
        std::vector<tensor> parameters;
    };
    virtual result<gradients> backward(compute_context& context, backward_pass pass) const = 0;

  protected:
    // Memory for what backward is to compute: of the shape of the input, which forward has saved as
    // tensors[0], where it is wanted, and of each parameter's.
    static result<gradients> allocate_gradients(compute_context& context,
                                                const backward_pass& pass);
};

// The layer that `description` asks for, behind an input of `input_shape`. errc::usage for
// impossible shapes, without the layer's name.
result<std::shared_ptr<const layer>> make_layer(proto::Layer::Reader description,
                                                const tensor_shape& input_shape);

// As it stands in app files: "max_pool".
std::string_view layer_kind(proto::Layer::Reader description) noexcept;

} // namespace troupe
