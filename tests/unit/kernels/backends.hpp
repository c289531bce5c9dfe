// Every back end that tests run on.
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

// Of this processor (processor_backends.cpp), or emulated (tests/emulated_cuda/backends.cpp): one of them is linked.
std::vector<backend> backends();

} // namespace troupe::test
