// The loops of sparse codecs (kernels/ops/sparse.hpp), compiled once per instruction set as those of loops.hpp and under the
// same rule: no result depends on the instruction set.
//
// Magnitudes are told by the bits of a float without its sign, as a whole number. Payloads are at any address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

struct sparse_loops {
    // The number of elements whose magnitude is at least `least`.
    std::size_t (*count)(const float* x, std::size_t count, std::int32_t least);
    // Writes the indices of the first `most` of them to `to`, 4 bytes each; returns the number written.
    std::size_t (*find)(const float* x, std::size_t count, std::int32_t least, void* to,
                        std::size_t most);
    // True if indices, 4 bytes each of which the bits of `mask` count, are below `bound` and ascend.
    bool (*ascend)(const void* indices, std::size_t count, std::uint32_t mask, std::size_t bound);
};

extern const sparse_loops sparse_loops_baseline;
extern const sparse_loops sparse_loops_avx2;
extern const sparse_loops sparse_loops_avx512;

} // namespace troupe::cpu
