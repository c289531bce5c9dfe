// Payloads that differ from a genuine one in the number, the types, the sizes or the numbers of its tensors. Values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "actors/scheduled/payload.hpp"
#include "schemas/base/random.hpp"

namespace troupe::test {

struct broken {
    std::string how;
    scheduled::payload tensors;
    // Another number of tensors, or another type of one: refused by whoever looks at them.
    bool is_obvious = false;
    std::optional<std::size_t> removed = {}; // which tensor
};

// Tensors that are not broken are shared with `p`.
std::vector<broken> broken_ones(const scheduled::payload& p, memory_pool& memory,
                                random_stream& random);

// That may be written.
scheduled::payload deep_copy(const scheduled::payload& p, memory_pool& memory);

} // namespace troupe::test
