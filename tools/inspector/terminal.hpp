// The size of a terminal, and text cut to it.
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

// The current size of the terminal behind this descriptor; 24 by 80 where it is unknown.
screen_size screen_of(int descriptor);

// The part of `text` that fits without wrapping or scrolling, without the end of its last line.
std::string cut_to(const screen_size& to, std::string_view text);

} // namespace troupe::inspector
