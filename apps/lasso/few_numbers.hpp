// Numbers of all variables of which few are not 0, as they are saved: those, and their places.
//
// Threads: values. Errors: errc::exhausted where the pool has no room; errc::protocol for what is not so saved.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"

namespace troupe::lasso {

// Appends them as NAME and "NAME places".
result<void> append_few(memory_pool& memory, const std::string& name,
                        std::span<const double> numbers, scheduled::saved_part& to);
// All `count` of them, to the bit.
result<std::vector<double>> read_few(const scheduled::saved_part& saved, const std::string& name,
                                     std::size_t count);

} // namespace troupe::lasso
