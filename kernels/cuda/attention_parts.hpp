// Parts of all passes of attention: where the rows of a head lie, what its queries see, and which tile a block computes.
#pragma once

#include <cmath>

#include "kernels/cuda/attention_tiles.hpp"
#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/execution.hpp"
#include "kernels/ops/sequences.hpp"

namespace troupe::cuda {

// Columns of (samples, positions, stride).
template <class Float>
struct sequence_columns {
    Float* values;
    std::size_t stride, positions;

    __device__ row_range<Float> rows(std::size_t sample, std::size_t column,
                                     std::size_t count) const {
        return {values + sample * positions * stride + column, stride, count};
    }
};

struct attention_sizes {
    std::size_t samples, queries, keys, heads;
    std::size_t width; // of a head
    float scale;
    bool causal;
    const std::int32_t* key_lengths; // or null
    bad_element_slot bad;

    // A length that no sample can have counts as the nearest that it can.
    __device__ std::size_t length(std::size_t sample) const {
        return length(sample, threadIdx.x == 0);
    }
    __device__ std::size_t length(std::size_t sample, bool reports) const {
        if (key_lengths == nullptr)
            return keys;
        const std::int32_t given = key_lengths[sample];
        const bool is_good = given >= 1 && static_cast<std::size_t>(given) <= keys;
        if (!is_good && reports)
            report_bad(bad, sample, given);
        return is_good ? static_cast<std::size_t>(given) : given < 1 ? 1 : keys;
    }
    // Behind the last key that one of a tile of queries sees.
    __device__ std::size_t keys_end(std::size_t first_query, std::size_t length) const {
        return causal && first_query + tile_rows < length ? first_query + tile_rows : length;
    }
    // How many of `most` keys from `key` on a query sees.
    __device__ unsigned seen(std::size_t query, std::size_t key, std::size_t length,
                             unsigned most) const {
        return there(causal && query < length ? query + 1 : length, key, most);
    }
    // The first of the numbers that queries have by heads.
    __device__ std::size_t first_query(std::size_t sample, std::size_t head) const {
        return (sample * heads + head) * queries;
    }
};

// Which of a tile of keys those of a tile of queries see, counted from the first ones of both.
struct tile_view {
    unsigned queries, keys; // that there are
    unsigned ahead;         // a query sees the keys up to this one behind it

    // With `causal` a tile of queries sees tiles of keys that begin no later than it does.
    __device__ tile_view(const attention_sizes& n, std::size_t first_query, std::size_t first_key,
                         std::size_t length)
        : queries{there(n.queries, first_query, tile_rows)}, keys{there(length, first_key,
                                                                        tile_rows)},
          ahead{n.causal ? there(first_query, first_key, tile_rows) : tile_rows} {}
    // Some of the keys that there are come behind some of the queries.
    __device__ bool is_diagonal() const { return ahead < tile_rows; }
    __device__ bool is_seen(unsigned query, unsigned key) const {
        return query < queries && key < keys && key <= query + ahead;
    }
};

// Some rows and columns of a head.
struct tile_of_head {
    std::size_t sample, head, first_row, first_column;
};

// All tiles of `rows` rows of every head of every sample. With `causal` the last queries see the most keys, and the first
// keys are seen by the most queries: blocks begin with those.
struct tile_list {
    std::size_t count, groups, heads, samples;

    tile_list(const attention_sizes& n, std::size_t rows, unsigned columns)
        : groups{(n.width + columns - 1) / columns}, heads{n.heads}, samples{n.samples} {
        count = (rows + tile_rows - 1) / tile_rows * groups * heads * samples;
    }
    __device__ tile_of_head first_first(std::size_t i, unsigned columns) const {
        const std::size_t group = i % groups, of_heads = i / groups;
        const std::size_t head = of_heads % heads, of_samples = of_heads / heads;
        return {of_samples % samples, head, of_samples / samples * tile_rows, group * columns};
    }
    __device__ tile_of_head last_first(std::size_t i, unsigned columns) const {
        return first_first(count - 1 - i, columns);
    }
};

inline sequence_columns<const float> columns_of(const columns& c) {
    return {floats(c.of) + c.first, c.of.shape()[2], c.of.shape()[1]};
}
inline sequence_columns<float> columns_of(const mutable_columns& c) {
    return {floats(c.of) + c.first, c.of.shape()[2], c.of.shape()[1]};
}

template <class Attention>
result<attention_sizes> sizes_of(const Attention& op, execution& run) {
    const auto& shape = op.output.shape();
    const std::size_t width = shape[2] / op.settings.heads;
    attention_sizes n{.samples = shape[0],
                      .queries = shape[1],
                      .keys = op.keys.of.shape()[1],
                      .heads = op.settings.heads,
                      .width = width,
                      .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width))),
                      .causal = op.settings.causal,
                      .key_lengths =
                          op.key_lengths == nullptr ? nullptr : integers(*op.key_lengths),
                      .bad = nullptr};
    if (op.key_lengths == nullptr)
        return n;
    auto bad = run.look_out(
        [keys = n.keys](auto sample, auto length) { return bad_key_length(sample, length, keys); });
    if (!bad)
        return bad.failure();
    n.bad = *bad;
    return n;
}

} // namespace troupe::cuda
