// The windows of a pool in an image. Internal linkage, as in vectors.hpp.
#pragma once

#include <cstddef>

namespace troupe::cpu {

namespace {

struct range {
    std::size_t begin, end;
};

// The rows of the window-th window that lie in the image, counted from the window's first; likewise columns.
inline range inside(std::size_t window, std::size_t stride, std::size_t padding, std::size_t kernel,
                    std::size_t size) {
    const std::size_t first = window * stride; // in the padded image
    const std::size_t left = size + padding - first;
    return {first < padding ? padding - first : 0, kernel < left ? kernel : left};
}

} // namespace

} // namespace troupe::cpu
