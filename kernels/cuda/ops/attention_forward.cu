// A block takes a tile of queries over all keys that they see, a tile of keys at a time: "FlashAttention", Dao et al. 2022.
// Of every query it keeps the largest score so far, and sums relative to that. Where a head is wider than the columns that
// a block has sums of, several blocks compute the same scores.
#include <cfloat>

#include "kernels/cuda/attention_cores.hpp"
#include "kernels/cuda/attention_factors.hpp"
#include "kernels/cuda/cuda_operations.hpp"

namespace troupe {

namespace {

using namespace cuda;

// ---- helpers ----------------------------------------------------------------------------------------------------------

struct attention_task {
    attention_sizes n;
    sequence_columns<const float> queries, keys, values;
    sequence_columns<float> output;
    float* log_sums;
    tile_list tiles;
};

// Over the threads that share a row of a tile, which are half a warp.
__device__ float largest_of_row(float x) {
    for (int mask = threads_across / 2; mask > 0; mask /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, mask));
    return x;
}
__device__ float sum_of_row(float x) {
    for (int mask = threads_across / 2; mask > 0; mask /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, mask);
    return x;
}

// The state of a row's scores so far.
struct row_state {
    float largest = -FLT_MAX;
    float total = 0; // of exp(score - largest), of this thread's scores
};

// The scores become their powers relative to the largest so far; the sums become relative to that.
template <unsigned columns>
__device__ void weigh(const tile_view& view, float scale, tile_scores& scores,
                      row_state (&states)[rows_of_thread], tile_sums<columns>& sums) {
    const tile_place at;
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i) {
        float largest = states[i].largest;
#pragma unroll
        for (unsigned j = 0; j < others_of_thread; ++j) {
            scores[i][j] = view.is_seen(at.row(i), at.other(j)) ? scores[i][j] * scale : -INFINITY;
            largest = fmaxf(largest, scores[i][j]);
        }
        largest = largest_of_row(largest);
        const float factor = expf(states[i].largest - largest);
        states[i] = {largest, states[i].total * factor};
#pragma unroll
        for (unsigned j = 0; j < others_of_thread; ++j) {
            scores[i][j] = expf(scores[i][j] - largest);
            states[i].total += scores[i][j];
        }
#pragma unroll
        for (unsigned k = 0; k < columns_of_thread<columns>; ++k)
            sums[i][k] *= factor;
    }
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <unsigned columns>
__global__ void __launch_bounds__(tile_threads, tile_blocks) attention_kernel(attention_task t) {
    __shared__ tile_memory memory;
    const tile_place at;
    const attention_sizes& n = t.n;
    for (std::size_t i = blockIdx.x; i < t.tiles.count; i += gridDim.x) {
        const tile_of_head tile = t.tiles.last_first(i, columns);
        const std::size_t length = n.length(tile.sample);
        const std::size_t end = n.keys_end(tile.first_row, length);
        const std::size_t column = tile.head * n.width;
        const auto queries = t.queries.rows(tile.sample, column, n.queries);
        const auto keys = t.keys.rows(tile.sample, column, length);
        const auto values = t.values.rows(tile.sample, column, length);
        row_state states[rows_of_thread];
        tile_sums<columns> sums;
        clear_sums<columns>(sums);
        for (std::size_t key = 0; key < end; key += tile_rows) {
            tile_scores scores;
            multiply_rows(queries, tile.first_row, keys, key, n.width, memory, scores);
            const tile_view view{n, tile.first_row, key, length};
            weigh<columns>(view, n.scale, scores, states, sums);
            store_scores(scores, memory);
            add_product<columns, counted::up_to_i>(values, key, view.is_diagonal(),
                                                   tile.first_column, n.width, memory, sums);
        }
        float* const log_sums = t.log_sums + n.first_query(tile.sample, tile.head);
#pragma unroll
        for (unsigned r = 0; r < rows_of_thread; ++r) {
            const float total = sum_of_row(states[r].total);
            const std::size_t query = tile.first_row + at.row(r);
            if (at.x == 0 && tile.first_column == 0 && query < n.queries)
                log_sums[query] = states[r].largest + logf(total);
#pragma unroll
            for (unsigned k = 0; k < columns_of_thread<columns>; ++k)
                sums[r][k] /= total;
        }
        store_sums<columns>(sums, t.output.rows(tile.sample, column, n.queries), tile.first_row,
                            tile.first_column, n.width);
    }
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const attention_forward& op) {
    const auto n = sizes_of(op, run_);
    if (!n)
        return n.failure();
    if (op.products == precision::bfloat16)
        if (const auto taken = attend_by_cudnn(op, *n, run_); !taken || *taken)
            return taken ? result<void>{} : taken.failure();
    if (goes_by_cores(op, *n))
        return attend_by_cores(op, *n, run_);
    const bool is_narrow = n->width <= few_columns;
    attention_factors factors{run_, op.products, op.output.shape()[2]};
    const auto queries = factors.of(op.queries), keys = factors.of(op.keys),
               values = factors.of(op.values);
    for (const auto* made : {&queries, &keys, &values})
        if (!*made)
            return made->failure();
    const attention_task task{.n = *n,
                              .queries = *queries,
                              .keys = *keys,
                              .values = *values,
                              .output = columns_of(mutable_columns{op.output}),
                              .log_sums = floats(op.log_sums),
                              .tiles = {*n, n->queries, is_narrow ? few_columns : many_columns}};
    return checked(
        launch(run_.stream(), {blocks_for(task.tiles.count, 1), tile_threads},
               is_narrow ? attention_kernel<few_columns> : attention_kernel<many_columns>, task),
        {&op.queries.of, &op.keys.of});
}

} // namespace troupe
