// Operations that move elements and compute nothing.
#pragma once

#include <span>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// output = the inputs one behind another along `axis`; the other dimensions agree. Of any type of elements.
struct concat {
    std::size_t axis;
    std::size_t block =
        1; // channel block of images (kernels/ops/images.hpp); divides the channels of every input
    std::span<const tensor> inputs;
    tensor& output;

    result<void> check() const;
};

// The inverse of concat, and its derivative.
struct split {
    std::size_t axis;
    std::size_t block = 1;
    const tensor& input;
    std::span<tensor> outputs;

    result<void> check() const;
};

// output = input, of any type of elements, wherever either lies: in host memory or in that of the device.
struct transfer {
    const tensor& input;
    tensor& output;

    result<void> check() const;
};

} // namespace troupe
