#include "kernels/cpu/convolution_runner.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

// Shapes come from models and batch sizes, so there are few; a long-lived device forgets them all now and then.
constexpr std::size_t compiled_max = 512;

} // namespace

// The weight gradient of the parts so far, packed as the primitive gives it.
struct convolution_runner::weight_sums {
    scratch weight, bias;           // the sum
    scratch part_weight, part_bias; // of one part
    std::size_t elements;
    bool empty = true;
};

convolution_runner::convolution_runner(memory_pool& pool, std::size_t block,
                                       const winograd_loops& winograd,
                                       const few_channels_loops& few, const loops& loops,
                                       const bf16_loops& bf16_loops, bool bf16_dot_products)
    : pool_{pool}, loops_{loops}, bf16_loops_{bf16_loops}, bf16_dot_products_{bf16_dot_products},
      winograd_{pool, block, winograd, loops, bf16_loops}, few_channels_{pool, block, few, loops,
                                                                         bf16_loops} {}

bool convolution_runner::takes_dot_products(const convolution_shape& shape) const noexcept {
    return bf16_dot_products_ && shape.settings.products == precision::bfloat16;
}

template <class Operands>
void convolution_runner::run(const Operands& operands) {
    if (!takes_dot_products(operands.shape) && winograd_.suits(operands.shape))
        return winograd_.run(operands);
    if (!takes_dot_products(operands.shape) && few_channels_.suits(operands))
        return few_channels_.run(operands);
    const std::size_t at_a_time = samples_at_a_time(operands.shape);
    const std::size_t done =
        run_parts(operands, compiled(with_samples(operands.shape, at_a_time)), 0);
    if (const std::size_t rest = operands.shape.samples - done; rest > 0)
        run_parts(operands, compiled(with_samples(operands.shape, rest)), done);
}

void convolution_runner::forward(const conv2d_forward& o) {
    run(forward_convolution{shape_of(o.settings, o.input, o.weight, o.bias != nullptr), o.input,
                            o.weight, o.bias, o.output});
}

void convolution_runner::forward(const conv2d_pool_forward& o) {
    run(forward_convolution{shape_of(o.settings, o.input, o.weight, o.bias != nullptr), o.input,
                            o.weight, o.bias, o.output, &o.pool, &o.positions});
}

void convolution_runner::backward(const conv2d_backward& o) {
    run(backward_convolution{shape_of(o.settings, o.input, o.weight, o.bias_gradient != nullptr),
                             o.input, o.weight, o.output_gradient, o.input_gradient,
                             o.weight_gradient, o.bias_gradient});
}

void convolution_runner::backward(const conv2d_pool_backward& o) {
    run(backward_convolution{shape_of(o.settings, o.input, o.weight, o.bias_gradient != nullptr),
                             o.input, o.weight, o.output_gradient, o.input_gradient,
                             o.weight_gradient, o.bias_gradient, &o.pool, &o.output, &o.positions});
}

std::size_t convolution_runner::run_parts(const forward_convolution& o, convolution& part,
                                          std::size_t first) {
    const compiled_pass& pass = part.forward();
    const std::size_t samples = part.shape().samples;
    const operand weight = read(pass.weight, sample(o.weight, 0));
    const scratch images{pool_,
                         o.pool != nullptr ? part.shape().output_elements() * sizeof(float) : 0};
    for (; first + samples <= o.shape.samples; first += samples) {
        float* convolved = o.pool != nullptr ? images.floats() : sample(o.output, first);
        const operand input = read(pass.input, sample(o.input, first));
        const operand output = writable(pass.output, convolved);
        execute(pass, {{DNNL_ARG_SRC, input.memory},
                       {DNNL_ARG_WEIGHTS, weight.memory},
                       {DNNL_ARG_BIAS,
                        memory_at(part.bias(), o.bias != nullptr ? sample(*o.bias, 0) : nullptr)},
                       {DNNL_ARG_DST, output.memory}});
        deliver(pass.output, output, convolved);
        if (o.pool != nullptr)
            pool_part(loops_, o, first, samples, convolved);
    }
    return first;
}

std::size_t convolution_runner::run_parts(const backward_convolution& o, convolution& part,
                                          std::size_t first) {
    const std::size_t samples = part.shape().samples;
    const bool initial = first == 0; // later parts add to what is there
    const std::size_t weight_bytes = part.backward_weight().weight.wanted.get_size();
    const std::size_t bias_bytes = o.shape.bias ? o.shape.out * sizeof(float) : 0;
    weight_sums sums{{pool_, weight_bytes},
                     {pool_, bias_bytes},
                     {pool_, weight_bytes},
                     {pool_, bias_bytes},
                     weight_bytes / sizeof(float)};
    const operand weight = o.input_gradient != nullptr
                               ? read(part.backward_input().weight, sample(o.weight, 0))
                               : operand{{pool_, 0}, {}};
    const scratch images{pool_,
                         o.pool != nullptr ? part.shape().output_elements() * sizeof(float) : 0};
    for (; first + samples <= o.shape.samples; first += samples) {
        const float* gradient = sample(o.output_gradient, first);
        if (o.pool != nullptr) {
            unpool_part(loops_, o, first, samples, images.floats());
            gradient = images.floats();
        }
        if (o.input_gradient != nullptr)
            write_input_gradient(part, weight, gradient, sample(*o.input_gradient, first));
        add_weight_gradient(part, sample(o.input, first), gradient, sums);
    }
    unpack(o, part, sums, initial);
    return first;
}

void convolution_runner::write_input_gradient(convolution& part, const operand& weight,
                                              const float* output_gradient, float* input_gradient) {
    const compiled_pass& pass = part.backward_input();
    const operand from = read(pass.output, output_gradient);
    const operand to = writable(pass.input, input_gradient);
    execute(pass, {{DNNL_ARG_DIFF_DST, from.memory},
                   {DNNL_ARG_WEIGHTS, weight.memory},
                   {DNNL_ARG_DIFF_SRC, to.memory}});
    deliver(pass.input, to, input_gradient);
}

void convolution_runner::add_weight_gradient(convolution& part, const float* input,
                                             const float* output_gradient, weight_sums& sums) {
    const compiled_pass& pass = part.backward_weight();
    float* weight = (sums.empty ? sums.weight : sums.part_weight).floats();
    float* bias = (sums.empty ? sums.bias : sums.part_bias).floats();
    const operand images = read(pass.input, input);
    const operand gradients = read(pass.output, output_gradient);
    execute(pass, {{DNNL_ARG_SRC, images.memory},
                   {DNNL_ARG_DIFF_DST, gradients.memory},
                   {DNNL_ARG_DIFF_WEIGHTS, memory_at(pass.weight.wanted, weight)},
                   {DNNL_ARG_DIFF_BIAS, memory_at(part.bias(), bias)}});
    if (!sums.empty) {
        loops_.add_scaled(sums.weight.floats(), 1, weight, sums.weight.floats(), sums.elements);
        if (part.shape().bias)
            loops_.add_scaled(sums.bias.floats(), 1, bias, sums.bias.floats(), part.shape().out);
    }
    sums.empty = false;
}

void convolution_runner::unpack(const backward_convolution& o, convolution& part,
                                const weight_sums& sums, bool overwrite) {
    const operand_format& format = part.backward_weight().weight;
    float* weight = sample(o.weight_gradient, 0);
    float* bias = o.bias_gradient != nullptr ? sample(*o.bias_gradient, 0) : nullptr;
    const std::size_t biases = o.shape.bias ? o.shape.out : 0;
    const scratch plain{pool_, overwrite ? 0 : o.weight.bytes()};
    const float* sum = sums.weight.floats();
    if (format.convert) {
        float* to = overwrite ? weight : plain.floats();
        dnnl::reorder{*format.convert}.execute(stream_,
                                               {{DNNL_ARG_FROM, memory_at(format.wanted, sum)},
                                                {DNNL_ARG_TO, memory_at(format.given, to)}});
        sum = to;
    }
    if (!overwrite) {
        loops_.add_scaled(weight, 1, sum, weight, o.weight.elements());
        loops_.add_scaled(bias, 1, sums.bias.floats(), bias, biases);
        return;
    }
    if (sum != weight)
        std::copy_n(sum, o.weight.elements(), weight);
    std::copy_n(sums.bias.floats(), biases, bias);
}

convolution_runner::operand convolution_runner::writable(const operand_format& format,
                                                         float* given) {
    if (!format.convert)
        return {{pool_, 0}, memory_at(format.given, given)};
    scratch space{pool_, format.wanted.get_size()};
    dnnl::memory memory = memory_at(format.wanted, space.floats());
    return {std::move(space), std::move(memory)};
}

convolution_runner::operand convolution_runner::read(const operand_format& format,
                                                     const float* given) {
    scratch rounded{pool_, rounds(format.rounds_to) ? format.given.get_size() : 0};
    if (rounds(format.rounds_to)) {
        bf16_loops_.round(format.rounds_to, given, rounded.floats(),
                          format.given.get_size() / sizeof(float));
        given = rounded.floats();
    }
    operand converted = writable(format, const_cast<float*>(given));
    if (format.convert)
        dnnl::reorder{*format.convert}.execute(
            stream_,
            {{DNNL_ARG_FROM, memory_at(format.given, given)}, {DNNL_ARG_TO, converted.memory}});
    else
        converted.space = std::move(rounded);
    return converted;
}

void convolution_runner::deliver(const operand_format& format, const operand& result,
                                 float* given) {
    if (format.convert)
        dnnl::reorder{*format.convert}.execute(
            stream_,
            {{DNNL_ARG_FROM, result.memory}, {DNNL_ARG_TO, memory_at(format.given, given)}});
}

convolution& convolution_runner::compiled(const convolution_shape& shape) {
    if (const auto found = compiled_.find(shape); found != compiled_.end())
        return *found->second;
    if (compiled_.size() >= compiled_max)
        compiled_.clear();
    return *(compiled_[shape] =
                 std::make_unique<convolution>(engine_, shape, takes_dot_products(shape)));
}

dnnl::memory convolution_runner::memory_at(const dnnl::memory::desc& description,
                                           const float* data) const {
    return {description, engine_,
            const_cast<float*>(data)}; // oneDNN has one type for what it reads and writes
}

void convolution_runner::execute(const compiled_pass& pass,
                                 std::unordered_map<int, dnnl::memory> operands) {
    const scratch space{pool_, pass.scratch.get_size()};
    operands.emplace(DNNL_ARG_SCRATCHPAD, memory_at(pass.scratch, space.floats()));
    pass.primitive.execute(stream_, operands);
}

} // namespace troupe::cpu
