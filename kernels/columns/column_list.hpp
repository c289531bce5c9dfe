// Numbers of columns as the loops read them. No inline functions: also for files that are compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe {

// `count` columns: numbers[0] and so on; or, without numbers, `first` and those that follow.
struct column_list {
    const std::uint32_t* numbers;
    std::size_t first;
    std::size_t count;
};

} // namespace troupe
