// One row of floats per sample, equally far apart: a position of a sequence.
#pragma once

#include <cstddef>

namespace troupe::cpu {

template <class Float>
struct sample_rows {
    Float* first;
    std::size_t stride; // floats from row to row

    // Always inlined, so that a file that is compiled once per instruction set has copies of its own.
    [[gnu::always_inline]] Float* of(std::size_t sample) const { return first + sample * stride; }
};

} // namespace troupe::cpu
