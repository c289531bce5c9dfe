// The execution of a contiguous range of a graph's layers, forward and backward: the order of steps, and their values. Whole
// passes are run here; graph_pass.hpp runs them step by step.
//
// Layers that are faster together run as one step. Every value is released after its last reader; gradients of a value that
// several layers read are added in the reverse order of these, wherever the graph is cut, so that the bits are the same.
//
// Threads: const and shared freely; compute_context belongs to the thread that runs the work.
// Errors: those of the operations, with the layer's name.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/graph/model_graph.hpp"
#include "kernels/graph/weights.hpp"

namespace troupe {

class graph_range {
  public:
    // Layers first .. first + count of the graph.
    graph_range(const model_graph& graph, layer_range range);

    const std::vector<graph_value>& inputs() const noexcept { return inputs_; }
    const std::vector<graph_value>& outputs() const noexcept { return outputs_; }
    // Named by the layers' paths, in the order of the layers.
    const std::vector<parameter_info>& parameters() const noexcept { return parameters_; }
    const std::vector<average_info>& averages() const noexcept { return averages_; }
    double forward_flops() const noexcept { return forward_flops_; } // of one sample
    double backward_flops() const noexcept { return backward_flops_; }
    double weight_half_flops() const noexcept { return weight_half_flops_; } // of these
    // Bytes that each layer keeps for one sample between its forward and its backward pass. A value that several layers keep
    // counts at the first.
    const std::vector<std::size_t>& kept_bytes() const noexcept { return kept_bytes_; }

    // A layer, or several that run as one.
    struct step {
        layer_range layers; // numbers in the graph
        std::string name;   // of the first layer: "layers.3 conv2d"
        std::shared_ptr<const layer> run;
        std::vector<std::size_t> inputs; // slots
        std::vector<bool> wanted;        // by input: its gradient is needed
        std::vector<bool> last_use;      // by input: no later step reads it
        std::size_t output = 0;          // slot
        std::size_t first_parameter = 0, parameter_count = 0;
        std::size_t first_average = 0, average_count = 0;
        bool trained = false; // has a backward pass
    };
    const std::vector<step>& steps() const noexcept { return steps_; }
    std::size_t slots() const noexcept { return slots_; }
    const std::vector<std::size_t>& input_slots() const noexcept { return input_slots_; }
    const std::vector<std::size_t>& output_slots() const noexcept { return output_slots_; }

    // Called after each step, in both directions, with its number and, in a forward pass, its output; an error that it
    // returns ends the pass.
    using step_hook = std::function<result<void>(std::size_t, const activation&)>;

    // Called in a backward pass after each step with parameters, with the number of the first one and their gradients, which
    // are not written any more.
    using gradients_hook = std::function<result<void>(std::size_t, std::span<const tensor>)>;

    struct pass {
        const batch_part& part;
        std::span<const tensor> parameters;
        std::span<const tensor> averages; // not read in training
        const step_hook* after_step = nullptr;
        const gradients_hook* after_gradients = nullptr;
        const std::vector<bool>* as_factors = nullptr; // by parameter; for backward passes
    };
    struct outcome {
        std::vector<activation> outputs;
        std::vector<saved_layer> saved; // by step; without tensors unless training
    };
    result<outcome> forward(compute_context& context, const pass& p,
                            std::vector<activation> inputs) const;

    struct weight_gradients {
        std::vector<tensor> parameters;
        std::vector<tensor> statistics; // by average
    };
    // `output_gradients` has one gradient for each output that is trained, in order.
    struct gradients {
        std::vector<activation> inputs; // of the inputs that are trained, in order
        weight_gradients weights;
    };
    result<gradients> backward(compute_context& context, const pass& p,
                               std::vector<saved_layer> saved,
                               std::vector<activation> output_gradients) const;

  private:
    void add_step(const model_graph& graph, layer_range layers, std::shared_ptr<const layer> run);
    void count_kept(const model_graph& graph, layer_range range);

    std::vector<graph_value> inputs_;
    std::vector<graph_value> outputs_;
    std::vector<parameter_info> parameters_;
    std::vector<average_info> averages_;
    std::vector<step> steps_;
    std::vector<std::size_t> input_slots_, output_slots_;
    std::vector<std::size_t> slot_of_; // by value of the graph
    std::size_t slots_ = 0;
    std::vector<std::size_t> kept_bytes_;
    double forward_flops_ = 0;
    double backward_flops_ = 0;
    double weight_half_flops_ = 0;
};

} // namespace troupe
