// With p the shares of a query's keys, and m = sum over c of output[c] * output_gradient[c] of the query:
//     to_value[j] = sum over i of p[i][j] * output_gradient[i]
//     to_score[i][j] = p[i][j] * (output_gradient[i] . value[j] - m[i]) / sqrt(d)
//     to_query[i] = sum over j of to_score[i][j] * key[j], to_key[j] = sum over i of to_score[i][j] * query[i]
// One kernel has blocks of queries that go over keys, one blocks of keys that go over queries, so that nobody adds to what
// is another's. The shares are computed again from the scores and the log_sums.
#include "kernels/cuda/attention_cores.hpp"
#include "kernels/cuda/attention_factors.hpp"
#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/factors.hpp"
#include "kernels/cuda/row_reductions.hpp"

namespace troupe {

namespace {

using namespace cuda;

// ---- helpers ----------------------------------------------------------------------------------------------------------

struct attention_task {
    attention_sizes n;
    sequence_columns<const float> queries, keys, values, output_gradient;
    const float* log_sums; // (samples, heads, queries), as means
    const float* means;    // m
    sequence_columns<float> query_gradient, key_gradient, value_gradient;
    tile_list tiles;
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <unsigned columns>
__global__ void __launch_bounds__(tile_threads, tile_blocks)
    query_gradient_kernel(attention_task t) {
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
        const auto gradient = t.output_gradient.rows(tile.sample, column, n.queries);
        const float* const log_sums = t.log_sums + n.first_query(tile.sample, tile.head);
        const float* const means = t.means + n.first_query(tile.sample, tile.head);
        tile_sums<columns> sums;
        clear_sums<columns>(sums);
        for (std::size_t key = 0; key < end; key += tile_rows) {
            const tile_view view{n, tile.first_row, key, length};
            tile_scores scores;
            multiply_rows(queries, tile.first_row, keys, key, n.width, memory, scores);
#pragma unroll
            for (unsigned r = 0; r < rows_of_thread; ++r) {
                const std::size_t query = tile.first_row + at.row(r);
                const float log_sum = query < n.queries ? log_sums[query] : 0;
#pragma unroll
                for (unsigned j = 0; j < others_of_thread; ++j)
                    scores[r][j] = view.is_seen(at.row(r), at.other(j))
                                       ? expf(scores[r][j] * n.scale - log_sum)
                                       : 0;
            }
            store_scores(scores, memory);
            multiply_rows(gradient, tile.first_row, values, key, n.width, memory, scores);
#pragma unroll
            for (unsigned r = 0; r < rows_of_thread; ++r) {
                const std::size_t query = tile.first_row + at.row(r);
                const float mean = query < n.queries ? means[query] : 0;
#pragma unroll
                for (unsigned j = 0; j < others_of_thread; ++j)
                    scores[r][j] = memory.scores[at.score(r, j)] * (scores[r][j] - mean) * n.scale;
            }
            store_scores(scores, memory);
            add_product<columns, counted::up_to_i>(keys, key, view.is_diagonal(), tile.first_column,
                                                   n.width, memory, sums);
        }
        store_sums<columns>(sums, t.query_gradient.rows(tile.sample, column, n.queries),
                            tile.first_row, tile.first_column, n.width);
    }
}

// Rows of its tiles are keys, the others queries.
template <unsigned columns>
__global__ void __launch_bounds__(tile_threads, columns == few_columns ? tile_blocks : 2)
    key_gradient_kernel(attention_task t) {
    __shared__ tile_memory memory;
    const tile_place at;
    const attention_sizes& n = t.n;
    for (std::size_t i = blockIdx.x; i < t.tiles.count; i += gridDim.x) {
        const tile_of_head tile = t.tiles.first_first(i, columns);
        const std::size_t length = n.length(tile.sample);
        const std::size_t column = tile.head * n.width;
        const auto queries = t.queries.rows(tile.sample, column, n.queries);
        const auto keys = t.keys.rows(tile.sample, column, length);
        const auto values = t.values.rows(tile.sample, column, length);
        const auto gradient = t.output_gradient.rows(tile.sample, column, n.queries);
        const float* const log_sums = t.log_sums + n.first_query(tile.sample, tile.head);
        const float* const means = t.means + n.first_query(tile.sample, tile.head);
        tile_sums<columns> to_keys, to_values;
        clear_sums<columns>(to_keys);
        clear_sums<columns>(to_values);
        const std::size_t end = tile.first_row < length ? n.queries : 0;
        for (std::size_t query = n.causal ? tile.first_row : 0; query < end; query += tile_rows) {
            const tile_view view{n, query, tile.first_row, length};
            tile_scores scores;
            multiply_rows(keys, tile.first_row, queries, query, n.width, memory, scores);
#pragma unroll
            for (unsigned j = 0; j < others_of_thread; ++j) {
                const std::size_t other = query + at.other(j);
                const float log_sum = other < n.queries ? log_sums[other] : 0;
#pragma unroll
                for (unsigned r = 0; r < rows_of_thread; ++r)
                    scores[r][j] = view.is_seen(at.other(j), at.row(r))
                                       ? expf(scores[r][j] * n.scale - log_sum)
                                       : 0;
            }
            store_scores(scores, memory);
            add_product<columns, counted::from_i>(gradient, query, view.is_diagonal(),
                                                  tile.first_column, n.width, memory, to_values);
            multiply_rows(values, tile.first_row, gradient, query, n.width, memory, scores);
#pragma unroll
            for (unsigned j = 0; j < others_of_thread; ++j) {
                const std::size_t other = query + at.other(j);
                const float mean = other < n.queries ? means[other] : 0;
#pragma unroll
                for (unsigned r = 0; r < rows_of_thread; ++r)
                    scores[r][j] = memory.scores[at.score(r, j)] * (scores[r][j] - mean) * n.scale;
            }
            store_scores(scores, memory);
            add_product<columns, counted::from_i>(queries, query, view.is_diagonal(),
                                                  tile.first_column, n.width, memory, to_keys);
        }
        store_sums<columns>(to_keys, t.key_gradient.rows(tile.sample, column, n.keys),
                            tile.first_row, tile.first_column, n.width);
        store_sums<columns>(to_values, t.value_gradient.rows(tile.sample, column, n.keys),
                            tile.first_row, tile.first_column, n.width);
    }
}

// The mean term of the output and its gradient, whose rows of `columns` are those of the queries' heads.
struct mean_term {
    const float* output;
    const float* output_gradient;
    std::size_t columns;
    precision products;
    __device__ float operator()(std::size_t row, std::size_t c) const {
        const float gradient = output_gradient[row * columns + c];
        return output[row * columns + c] * factor(gradient, products);
    }
};

struct kept_mean {
    attention_sizes n;
    float* means;
    __device__ void operator()(std::size_t row, float mean) const {
        const std::size_t head = row % n.heads, of_samples = row / n.heads;
        means[n.first_query(of_samples / n.queries, head) + of_samples % n.queries] = mean;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const attention_backward& op) {
    const auto n = sizes_of(op, run_);
    if (!n)
        return n.failure();
    if (op.products == precision::bfloat16)
        if (const auto taken = attend_back_by_cudnn(op, *n, run_); !taken || *taken)
            return taken ? result<void>{} : taken.failure();
    const std::size_t rows = n->samples * n->queries * n->heads;
    auto means = run_.scratch(rows * sizeof(float));
    if (!means)
        return means.failure();
    if (auto done = reduce_rows(
            run_, {rows, n->width, n->width}, 0.f,
            mean_term{floats(op.output), floats(op.output_gradient), n->width, op.products}, plus{},
            kept_mean{*n, floats(*means)}, {&op.output});
        !done)
        return done;
    if (goes_by_cores(op, *n))
        return attend_back_by_cores(op, *n, floats(*means), run_);
    const bool is_narrow = n->width <= few_columns;
    const unsigned columns = is_narrow ? few_columns : many_columns;
    attention_factors factors{run_, op.products, op.output.shape()[2]};
    const auto queries = factors.of(op.queries), keys = factors.of(op.keys),
               values = factors.of(op.values), output_gradient = factors.of({op.output_gradient});
    for (const auto* made : {&queries, &keys, &values, &output_gradient})
        if (!*made)
            return made->failure();
    attention_task task{.n = *n,
                        .queries = *queries,
                        .keys = *keys,
                        .values = *values,
                        .output_gradient = *output_gradient,
                        .log_sums = floats(op.log_sums),
                        .means = floats(*means),
                        .query_gradient = columns_of(op.query_gradient),
                        .key_gradient = columns_of(op.key_gradient),
                        .value_gradient = columns_of(op.value_gradient),
                        .tiles = {*n, n->queries, columns}};
    if (auto done = checked(launch(run_.stream(), {blocks_for(task.tiles.count, 1), tile_threads},
                                   is_narrow ? query_gradient_kernel<few_columns>
                                             : query_gradient_kernel<many_columns>,
                                   task),
                            {&op.queries.of, &op.keys.of});
        !done)
        return done;
    task.tiles = {*n, n->keys, columns};
    return checked(
        launch(run_.stream(), {blocks_for(task.tiles.count, 1), tile_threads},
               is_narrow ? key_gradient_kernel<few_columns> : key_gradient_kernel<many_columns>,
               task),
        {&op.queries.of, &op.keys.of});
}

} // namespace troupe
