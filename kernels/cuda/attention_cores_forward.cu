// A block takes a tile of queries over all keys that they see. The sums of a query are relative to a reference, which is
// raised where a score exceeds it by much only: to scale the sums costs a way through shared memory.
#include <cfloat>

#include "kernels/cuda/attention_cores.hpp"

namespace troupe::cuda {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// By how much scores, as exponents of 2, may exceed the reference. Sums are far from the end of float32 then.
constexpr float excess_max = 12;

struct cores_task {
    attention_sizes n;
    packed_heads queries, keys, values;
    sequence_columns<float> output;
    float* log_sums;
    tile_list tiles;
};

// The state of the row of a lane.
struct row_state {
    float reference = -FLT_MAX;
    float total = 0; // of 2^(score - reference), of this lane's scores
};

// The strip's scores become shares relative to the reference; the first `seen` of a row count.
template <unsigned columns>
__device__ void weigh(unsigned seen, float scale, core_memory<columns>& memory, row_state& state,
                      strip_sums<columns>& sums) {
    using shape = core_shape<columns>;
    const strip_lane at;
    lane_scores<columns> scores;
    read_scores<columns>(memory.strip(), scores);
    float largest = -INFINITY;
#pragma unroll
    for (unsigned i = 0; i < shape::lane_scores; ++i) {
        scores[i] = at.column(i) < seen ? scores[i] * scale : -INFINITY;
        largest = fmaxf(largest, scores[i]);
    }
    largest = over_strip_row(largest, [](float a, float b) { return fmaxf(a, b); });
    // No row's depends on another's, so that a position's bits do not depend on later ones.
    const bool exceeds = largest > state.reference + excess_max;
    if (__ballot_sync(0xffffffffu, exceeds) != 0) {
        const float reference = exceeds ? largest : state.reference;
        const float factor = exp2f(state.reference - reference);
        state = {reference, state.total * factor};
        const core_sums factors = over_columns<columns>(factor, memory.strip());
#pragma unroll
        for (core_sums& some : sums)
#pragma unroll
            for (int i = 0; i < core_sums::num_elements; ++i)
                some.x[i] *= factors.x[i];
    }
#pragma unroll
    for (unsigned i = 0; i < shape::lane_scores; ++i) {
        scores[i] = exp2f(scores[i] - state.reference);
        state.total += scores[i];
    }
    write_shares<columns>(scores, memory.strip_shares());
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <unsigned columns>
__global__ void __launch_bounds__(core_threads, columns == few_columns ? 4 : 3)
    cores_forward_kernel(cores_task t) {
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
        strip_factors<columns> queries;
        load_strip<columns>(t.queries.rows(n, tile.sample, tile.head, tile.first_row), queries);
        row_state state;
        strip_sums<columns> sums;
        clear<columns>(sums);
        for (std::size_t key = 0; key < end; key += shape::others) {
            __syncthreads(); // who still reads what was there
            load_others<columns>(keys.from(key), memory.factors[0]);
            load_others<columns>(values.from(key), memory.factors[1]);
            __syncthreads();
#pragma unroll 1
            for (unsigned j = 0; j < shape::other_steps; ++j)
                store_scores<columns>(product_with<columns>(queries, memory.factors[0], j, width),
                                      j, memory.strip());
            __syncwarp();
            weigh<columns>(n.seen(query, key, length, shape::others), n.scale * log2_e, memory,
                           state, sums);
            __syncwarp();
            add_shares<columns>(memory.strip_shares(), memory.factors[1], width, sums);
        }
        const float total = over_strip_row(state.total, [](float a, float b) { return a + b; });
        if (at.half == 0 && query < n.queries)
            t.log_sums[n.first_query(tile.sample, tile.head) + query] =
                state.reference * ln_2 + logf(total);
        const auto output = t.output.rows(tile.sample, tile.head * n.width, n.queries);
        store_strip<columns>(sums, 1 / total, strip_of(output, first_query, n.width),
                             memory.strip());
    }
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> attend_by_cores(const attention_forward& op, const attention_sizes& n,
                             execution& run) {
    const auto queries = pack_heads(run, n, op.queries, head_rows::queries);
    if (!queries)
        return queries.failure();
    const auto keys = pack_heads(run, n, op.keys, head_rows::keys);
    if (!keys)
        return keys.failure();
    const auto values = pack_heads(run, n, op.values, head_rows::keys);
    if (!values)
        return values.failure();
    const bool is_narrow = n.width <= few_columns;
    const cores_task task{.n = n,
                          .queries = queries->heads,
                          .keys = keys->heads,
                          .values = values->heads,
                          .output = columns_of(mutable_columns{op.output}),
                          .log_sums = floats(op.log_sums),
                          .tiles = {n, n.queries, is_narrow ? few_columns : many_columns}};
    return checked(
        launch(run.stream(), {blocks_for(task.tiles.count, 1), core_threads},
               is_narrow ? cores_forward_kernel<few_columns> : cores_forward_kernel<many_columns>,
               task),
        {&op.queries.of, &op.keys.of});
}

} // namespace troupe::cuda
