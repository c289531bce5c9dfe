#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"

namespace troupe::test {

std::vector<backend> backends() {
    return {{"reference", [](memory_pool&) { return make_reference_operations(); }},
            {"cpu", [](memory_pool& pool) { return make_cpu_operations(pool); }}};
}

operand_pool::operand_pool(std::uint64_t bytes_max) : memory_pool{bytes_max} {}

} // namespace troupe::test
