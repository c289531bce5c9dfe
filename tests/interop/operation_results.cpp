// Runs every case of tests/conformance/operations_cases.hpp that has a backward pass on the CPU back end and writes its
// operands and results to a safetensors file, for pytorch_operations.py to compare. Tensors are named CASE/input 0,
// CASE/constant 0, CASE/output 0, CASE/output_gradient, of the first output, and CASE/gradient 0, that of input 0.
//
//   operation_results FILE
#include <cstdio>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/conformance/operations_cases.hpp"
#include "tests/support/recorded_tensors.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

void record(recorded_tensors& all, const std::string& name, const std::vector<tensor>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
        all.add(name + " " + std::to_string(i), values[i]);
}

void run(compute_context& context, const operation_case& row, recorded_tensors& all) {
    std::vector<tensor> inputs;
    for (const auto& shape : row.input_shapes())
        inputs.push_back(random_tensor(context.memory, shape, inputs.size() + 1));
    const tensor gradient = random_tensor(context.memory, row.output_shape(), 9);
    const auto prepared = row.prepare(context, inputs, gradient);
    if (!prepared.backward)
        return;
    TROUPE_CHECK(prepared.forward().ok() && prepared.backward().ok(), "the case runs");
    const std::string name = row.name() + "/";
    record(all, name + "input", inputs);
    record(all, name + "constant", row.constants(context));
    record(all, name + "output", prepared.outputs());
    all.add(name + "output_gradient", gradient);
    record(all, name + "gradient", prepared.gradients());
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: operation_results FILE\n");
        return 2;
    }
    memory_pool pool{1ull << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    recorded_tensors all;
    for (const auto& row : operation_cases())
        run(context, *row, all);
    return all.write(argv[1]) ? 0 : 1;
}
