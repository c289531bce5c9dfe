// The formulas and the two kernels of ops/attention_backward.cu. For queries p and to_score are computed in the places of
// the fragments that the products left them in; for keys p is needed by itself, so that both go through the strip.
#include "kernels/cuda/attention_cores.hpp"

namespace troupe::cuda {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

struct cores_task {
    attention_sizes n;
    packed_heads queries, keys, values, output_gradient;
    const float* log_sums; // (samples, heads, queries), as means
    const float* means;    // m
    sequence_columns<float> query_gradient, key_gradient, value_gradient;
    tile_list tiles;
};

// Numbers of some queries; 0 for those that are not there.
template <unsigned others>
struct query_numbers {
    float log_sums[others]; // exponents of 2
    float means[others];

    __device__ void load(const cores_task& t, std::size_t first_of_head, std::size_t query) {
        static_assert(2 * others <= core_threads);
        const unsigned i = threadIdx.x % others;
        const bool is_there = query + i < t.n.queries;
        if (threadIdx.x < others)
            log_sums[i] = is_there ? t.log_sums[first_of_head + query + i] * log2_e : 0;
        else if (threadIdx.x < 2 * others)
            means[i] = is_there ? t.means[first_of_head + query + i] : 0;
    }
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <unsigned columns>
__global__ void __launch_bounds__(core_threads, columns == few_columns ? 3 : 2)
    cores_query_gradient_kernel(cores_task t) {
    using shape = core_shape<columns>;
    __shared__ core_memory<columns> memory;
    const strip_lane at;
    const attention_sizes& n = t.n;
    const unsigned width = t.queries.width;
    for (std::size_t i = blockIdx.x; i < t.tiles.count; i += gridDim.x) {
        const tile_of_head tile = t.tiles.last_first(i, columns);
        const std::size_t length = n.length(tile.sample);
        const std::size_t end = n.keys_end(tile.first_row, length);
        const std::size_t first_query = tile.first_row + strip_row(), query = first_query + at.row;
        const packed_rows keys = t.keys.rows(n, tile.sample, tile.head, 0);
        const packed_rows values = t.values.rows(n, tile.sample, tile.head, 0);
        strip_factors<columns> queries, gradient;
        load_strip<columns>(t.queries.rows(n, tile.sample, tile.head, tile.first_row), queries);
        load_strip<columns>(t.output_gradient.rows(n, tile.sample, tile.head, tile.first_row),
                            gradient);
        const bool is_there = query < n.queries;
        const std::size_t number = n.first_query(tile.sample, tile.head) + query;
        const core_sums log_sums =
            over_columns<columns>(is_there ? t.log_sums[number] * log2_e : 0, memory.strip());
        const core_sums means =
            over_columns<columns>(is_there ? t.means[number] : 0, memory.strip());
        strip_sums<columns> sums;
        clear<columns>(sums);
        for (std::size_t key = 0; key < end; key += shape::others) {
            __syncthreads(); // who still reads what was there
            load_others<columns>(keys.from(key), memory.factors[0]);
            load_others<columns>(values.from(key), memory.factors[1]);
            __syncthreads();
#pragma unroll 1
            for (unsigned j = 0; j < shape::other_steps; ++j) {
                core_sums scores = product_with<columns>(queries, memory.factors[0], j, width);
                const core_sums to_shares =
                    product_with<columns>(gradient, memory.factors[1], j, width);
#pragma unroll
                for (int e = 0; e < core_sums::num_elements; ++e)
                    scores.x[e] = exp2f(scores.x[e] * (n.scale * log2_e) - log_sums.x[e]) *
                                  (to_shares.x[e] - means.x[e]) * n.scale;
                store_scores<columns>(scores, j, memory.strip());
            }
            __syncwarp();
            lane_scores<columns> to_scores;
            read_scores<columns>(memory.strip(), to_scores);
            const unsigned seen = n.seen(query, key, length, shape::others);
#pragma unroll
            for (unsigned e = 0; e < shape::lane_scores; ++e)
                to_scores[e] = at.column(e) < seen ? to_scores[e] : 0;
            write_shares<columns>(to_scores, memory.strip_shares());
            __syncwarp();
            add_shares<columns>(memory.strip_shares(), memory.factors[0], width, sums);
        }
        const auto gradients = t.query_gradient.rows(tile.sample, tile.head * n.width, n.queries);
        store_strip<columns>(sums, 1, strip_of(gradients, first_query, n.width), memory.strip());
    }
}

// The rows of its strips are keys, the others queries.
template <unsigned columns>
__global__ void __launch_bounds__(core_threads, columns == few_columns ? 3 : 2)
    cores_key_gradient_kernel(cores_task t) {
    using shape = core_shape<columns>;
    __shared__ core_memory<columns> memory;
    __shared__ query_numbers<shape::others> numbers;
    const strip_lane at;
    const attention_sizes& n = t.n;
    const unsigned width = t.queries.width;
    for (std::size_t i = blockIdx.x; i < t.tiles.count; i += gridDim.x) {
        const tile_of_head tile = t.tiles.first_first(i, columns);
        const std::size_t length = n.length(tile.sample);
        const std::size_t first_key = tile.first_row + strip_row(), key = first_key + at.row;
        const packed_rows queries = t.queries.rows(n, tile.sample, tile.head, 0);
        const packed_rows gradient = t.output_gradient.rows(n, tile.sample, tile.head, 0);
        const packed_rows keys = t.keys.rows(n, tile.sample, tile.head, tile.first_row);
        const packed_rows values = t.values.rows(n, tile.sample, tile.head, tile.first_row);
        // Factors of the keys or the values: there are no registers for both beside the sums.
        strip_factors<columns> factors;
        strip_sums<columns> to_keys, to_values;
        clear<columns>(to_keys);
        clear<columns>(to_values);
        const std::size_t end = tile.first_row < length ? n.queries : 0;
        for (std::size_t query = n.causal ? tile.first_row : 0; query < end;
             query += shape::others) {
            __syncthreads(); // who still reads what was there
            load_others<columns>(queries.from(query), memory.factors[0]);
            load_others<columns>(gradient.from(query), memory.factors[1]);
            numbers.load(t, n.first_query(tile.sample, tile.head), query);
            __syncthreads();
            load_strip<columns>(keys, factors);
#pragma unroll 1
            for (unsigned j = 0; j < shape::other_steps; ++j)
                store_scores<columns>(product_with<columns>(factors, memory.factors[0], j, width),
                                      j, memory.strip());
            __syncwarp();
            const unsigned first_seeing = n.causal ? there(key, query, shape::others) : 0;
            const unsigned end_seeing = key < length ? there(n.queries, query, shape::others) : 0;
            const auto is_seen = [&](unsigned column) {
                return first_seeing <= column && column < end_seeing;
            };
            lane_scores<columns> shares, to_scores;
            read_scores<columns>(memory.strip(), shares);
#pragma unroll
            for (unsigned e = 0; e < shape::lane_scores; ++e)
                shares[e] =
                    is_seen(at.column(e))
                        ? exp2f(shares[e] * (n.scale * log2_e) - numbers.log_sums[at.column(e)])
                        : 0;
            write_shares<columns>(shares, memory.strip_shares());
            __syncwarp();
            add_shares<columns>(memory.strip_shares(), memory.factors[1], width, to_values);
            load_strip<columns>(values, factors);
#pragma unroll 1
            for (unsigned j = 0; j < shape::other_steps; ++j)
                store_scores<columns>(product_with<columns>(factors, memory.factors[1], j, width),
                                      j, memory.strip());
            __syncwarp();
            read_scores<columns>(memory.strip(), to_scores);
#pragma unroll
            for (unsigned e = 0; e < shape::lane_scores; ++e)
                to_scores[e] =
                    is_seen(at.column(e))
                        ? shares[e] * (to_scores[e] - numbers.means[at.column(e)]) * n.scale
                        : 0;
            write_shares<columns>(to_scores, memory.strip_shares());
            __syncwarp();
            add_shares<columns>(memory.strip_shares(), memory.factors[0], width, to_keys);
        }
        const auto of_keys = t.key_gradient.rows(tile.sample, tile.head * n.width, n.keys);
        const auto of_values = t.value_gradient.rows(tile.sample, tile.head * n.width, n.keys);
        store_strip<columns>(to_keys, 1, strip_of(of_keys, first_key, n.width), memory.strip());
        store_strip<columns>(to_values, 1, strip_of(of_values, first_key, n.width), memory.strip());
    }
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> attend_back_by_cores(const attention_backward& op, const attention_sizes& n,
                                  const float* means, execution& run) {
    const auto queries = pack_heads(run, n, op.queries, head_rows::queries);
    if (!queries)
        return queries.failure();
    const auto keys = pack_heads(run, n, op.keys, head_rows::keys);
    if (!keys)
        return keys.failure();
    const auto values = pack_heads(run, n, op.values, head_rows::keys);
    if (!values)
        return values.failure();
    const auto gradient = pack_heads(run, n, {op.output_gradient}, head_rows::queries);
    if (!gradient)
        return gradient.failure();
    const bool is_narrow = n.width <= few_columns;
    const unsigned columns = is_narrow ? few_columns : many_columns;
    cores_task task{.n = n,
                    .queries = queries->heads,
                    .keys = keys->heads,
                    .values = values->heads,
                    .output_gradient = gradient->heads,
                    .log_sums = floats(op.log_sums),
                    .means = means,
                    .query_gradient = columns_of(op.query_gradient),
                    .key_gradient = columns_of(op.key_gradient),
                    .value_gradient = columns_of(op.value_gradient),
                    .tiles = {n, n.queries, columns}};
    if (auto done = checked(launch(run.stream(), {blocks_for(task.tiles.count, 1), core_threads},
                                   is_narrow ? cores_query_gradient_kernel<few_columns>
                                             : cores_query_gradient_kernel<many_columns>,
                                   task),
                            {&op.queries.of, &op.keys.of});
        !done)
        return done;
    task.tiles = {n, n.keys, columns};
    return checked(launch(run.stream(), {blocks_for(task.tiles.count, 1), core_threads},
                          is_narrow ? cores_key_gradient_kernel<few_columns>
                                    : cores_key_gradient_kernel<many_columns>,
                          task),
                   {&op.queries.of, &op.keys.of});
}

} // namespace troupe::cuda
