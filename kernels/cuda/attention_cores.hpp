// Attention with products in bfloat16 by tensor cores: as the float32 kernels of ops/ do it, by tiles of 16x16.
// "FlashAttention-2", Dao 2023.
#pragma once

#include "kernels/cuda/attention_parts.hpp"
#include "kernels/cuda/core_tiles.hpp"

namespace troupe::cuda {

static_assert(tile_rows == core_rows);

// Others, and heads that are wider, go by the float32 kernels.
template <class Attention>
bool goes_by_cores(const Attention& op, const attention_sizes& n) {
    return op.products == precision::bfloat16 && n.width <= many_columns;
}

result<void> attend_by_cores(const attention_forward& op, const attention_sizes& n, execution& run);
// `means`: (samples, heads, queries), see ops/attention_backward.cu.
result<void> attend_back_by_cores(const attention_backward& op, const attention_sizes& n,
                                  const float* means, execution& run);

// By cuDNN, where a machine has it; false where it does not take it.
result<bool> attend_by_cudnn(const attention_forward& op, const attention_sizes& n, execution& run);
result<bool> attend_back_by_cudnn(const attention_backward& op, const attention_sizes& n,
                                  execution& run);

// Columns of a tensor as tensor cores take them: each head by itself, its rows rounded to bfloat16 without anything between
// them. There are zeros behind the last position, up to a multiple of core_rows, and behind the last column, up to one of
// core_side; and for keys that nobody sees.
struct packed_heads {
    const __nv_bfloat16* first;
    std::size_t positions; // with the zeros, as the width
    unsigned width;

    __device__ packed_rows rows(const attention_sizes& n, std::size_t sample, std::size_t head,
                                std::size_t position) const {
        return packed_rows{first, width}.from((sample * n.heads + head) * positions + position);
    }
};

// The strip from `row` on of a head's rows.
__device__ inline strip_output strip_of(const row_range<float>& rows, std::size_t row,
                                        std::size_t width) {
    return {rows.values + row * rows.stride, rows.stride, there(rows.count, row, core_side),
            static_cast<unsigned>(width)};
}

struct made_heads {
    buffer_ref memory;
    packed_heads heads;
};
enum class head_rows : bool { queries, keys };

constexpr std::size_t packed_positions(std::size_t positions) noexcept {
    return (positions + core_rows - 1) / core_rows * core_rows;
}
constexpr std::size_t packed_width(std::size_t width) noexcept {
    return (width + core_side - 1) / core_side * core_side;
}
inline std::size_t heads_bytes(const attention_sizes& n, head_rows rows) noexcept {
    return n.samples * n.heads * packed_positions(rows == head_rows::keys ? n.keys : n.queries) *
           packed_width(n.width) * sizeof(__nv_bfloat16);
}

// Puts the packing into the stream.
result<made_heads> pack_heads(execution& run, const attention_sizes& n, const columns& from,
                              head_rows rows);

// e^x = 2^(x * log2_e), which is fewer instructions.
inline constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;

} // namespace troupe::cuda
