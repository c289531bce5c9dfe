// Runs every case of tests/conformance/operations_cases.hpp that has a backward pass on the CPU back end and writes its
// operands and results to a safetensors file, for pytorch_operations.py to compare. Tensors are named CASE/input 0,
// CASE/constant 0, CASE/output 0, CASE/output_gradient, of the first output, and CASE/gradient 0, that of input 0.
//
//   operation_results FILE
#include <cstdio>
#include <fstream>

#include "actors/checkpoint/safetensors.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "tests/conformance/operations_cases.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct recorded {
    std::string name;
    tensor values;
};

void record(std::vector<recorded>& all, const std::string& name,
            const std::vector<tensor>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
        all.push_back({name + " " + std::to_string(i), values[i]});
}

void run(compute_context& context, const operation_case& row, std::vector<recorded>& all) {
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
    all.push_back({name + "output_gradient", gradient});
    record(all, name + "gradient", prepared.gradients());
}

bool write(const std::vector<recorded>& all, const char* path) {
    std::vector<named_tensor> named;
    for (const auto& [name, t] : all)
        named.push_back({name, t.type(), t.shape(), {t.data(), t.bytes()}});
    std::ofstream file{path, std::ios::binary};
    file << safetensors_header(named, {});
    for (const auto& t : named)
        file.write(reinterpret_cast<const char*>(t.bytes.data()),
                   static_cast<std::streamsize>(t.bytes.size()));
    return file.flush().good();
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
    std::vector<recorded> all;
    for (const auto& row : operation_cases())
        run(context, *row, all);
    return write(all, argv[1]) ? 0 : 1;
}
