// Every back end that tests run on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/ops/ops.hpp"
#include "kernels/reference/reference.hpp"

namespace troupe::test {

struct backend {
    std::string name;
    std::function<std::unique_ptr<operations>(memory_pool&)> make;
};

inline std::vector<backend> backends() {
    return {{"reference", [](memory_pool&) { return make_reference_operations(); }},
            {"cpu", [](memory_pool& pool) { return make_cpu_operations(pool); }}};
}

} // namespace troupe::test
