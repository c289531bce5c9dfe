// The size of a terminal, and what fits on it.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::inspector {

struct screen_size {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

// Of the terminal behind this descriptor, at this moment; 24 by 80 where it does not tell.
screen_size screen_of(int descriptor);

// What of the lines of `text` fits, without the end of the last one: nothing wraps or scrolls.
std::string cut_to(const screen_size& to, std::string_view text);

} // namespace troupe::inspector
