// Every back end that tests run on: of this processor (processor_backends.cpp), emulated (tests/emulated_cuda/backends.cpp)
// or of this machine's GPU (gpu_backends.cpp). One of these files is linked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ops/ops.hpp"

namespace troupe::test {

struct backend {
    std::string name;
    std::function<std::unique_ptr<operations>(memory_pool&)> make;
};

std::vector<backend> backends();

// The last of them, which runs use.
inline std::unique_ptr<operations> shipped_operations(memory_pool& pool) {
    return backends().back().make(pool);
}

// Of memory where the tests write and read operands, and the back ends, too.
class operand_pool : public memory_pool {
  public:
    explicit operand_pool(std::uint64_t bytes_max);
};

} // namespace troupe::test
