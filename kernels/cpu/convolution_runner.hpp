// Runs convolutions, alone or with relu and max_pool behind them, a few samples at a time.
//
// Threads and errors: as convolution.hpp.
#pragma once

#include <map>
#include <unordered_map>

#include "kernels/cpu/convolution.hpp"
#include "kernels/cpu/convolution_operands.hpp"
#include "kernels/cpu/few_channels_runner.hpp"
#include "kernels/cpu/winograd_runner.hpp"

namespace troupe::cpu {

class convolution_runner {
  public:
    // `block` and the first two tables: see their runners. Products of bfloat16: with `bf16_dot_products`, by oneDNN's where
    // it has fast ones; otherwise, as float32 is convolved, of rounded numbers.
    convolution_runner(memory_pool& pool, std::size_t block, const winograd_loops& winograd,
                       const few_channels_loops& few, const loops& loops,
                       const bf16_loops& bf16_loops, bool bf16_dot_products);

    void forward(const conv2d_forward& operands);
    void forward(const conv2d_pool_forward& operands);
    void backward(const conv2d_backward& operands);
    void backward(const conv2d_pool_backward& operands);

  private:
    struct weight_sums;
    // An operand as its primitive wants it: where it was given, or in `space`.
    struct operand {
        scratch space;
        dnnl::memory memory;
    };

    bool takes_dot_products(const convolution_shape& shape) const noexcept;
    template <class Operands>
    void run(const Operands& operands);
    // Samples first.. in parts of `part`'s size, as many as there are; returns the first sample left over.
    std::size_t run_parts(const forward_convolution& operands, convolution& part,
                          std::size_t first);
    std::size_t run_parts(const backward_convolution& operands, convolution& part,
                          std::size_t first);
    void write_input_gradient(convolution& part, const operand& weight,
                              const float* output_gradient, float* input_gradient);
    void add_weight_gradient(convolution& part, const float* input, const float* output_gradient,
                             weight_sums& sums);
    // The sums of `part`-sized parts into the operands' weight and bias gradients, or in addition to what is there.
    void unpack(const backward_convolution& operands, convolution& part, const weight_sums& sums,
                bool overwrite);
    operand read(const operand_format& format, const float* given);
    // Space for a result, to be delivered when it is there.
    operand writable(const operand_format& format, float* given);
    void deliver(const operand_format& format, const operand& result, float* given);

    convolution& compiled(const convolution_shape& shape);
    dnnl::memory memory_at(const dnnl::memory::desc& description, const float* data) const;
    void execute(const compiled_pass& pass, std::unordered_map<int, dnnl::memory> operands);

    memory_pool& pool_;
    const loops& loops_;
    const bf16_loops& bf16_loops_;
    const bool bf16_dot_products_;
    winograd_runner winograd_;
    few_channels_runner few_channels_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    std::map<convolution_shape, std::unique_ptr<convolution>> compiled_;
};

} // namespace troupe::cpu
