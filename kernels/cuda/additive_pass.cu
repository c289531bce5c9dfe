#include "kernels/cuda/additive_pass.hpp"

#include <cfloat>

#include "kernels/cuda/rows.hpp"

namespace troupe::cuda {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// Threads of blocks that each take a sample and as many columns of its context or its query: few, so that many run.
constexpr unsigned column_threads = 128;

__device__ std::size_t length_of(const additive_memory& m, std::size_t sample) {
    const std::size_t length =
        m.lengths == nullptr ? m.source : static_cast<std::size_t>(m.lengths[sample]);
    return length >= 1 && length <= m.source ? length : m.source;
}

struct length_check {
    const std::int32_t* lengths;
    std::size_t source;
    bad_element_slot bad;
    __device__ void operator()(std::size_t sample) const {
        if (lengths[sample] < 1 || static_cast<std::size_t>(lengths[sample]) > source)
            report_bad(bad, sample, lengths[sample]);
    }
};

// The columns of one sample that a block takes.
struct sample_columns {
    std::size_t chunks; // of a sample's columns

    explicit sample_columns(std::size_t columns)
        : chunks{(columns + column_threads - 1) / column_threads} {}
    launch_shape of(std::size_t samples) const {
        return {blocks_for(samples * chunks, 1), column_threads};
    }
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

// scores[j] = v . tanh(W s + U h[j]), by a warp each.
__global__ void scores_kernel(additive_memory m, sample_rows<const float> queries, float* scores) {
    for (std::size_t row = warp_of_row::first_row(); row < m.samples * m.source;
         row += warp_of_row::row_step()) {
        const std::size_t s = row / m.source;
        if (row - s * m.source >= length_of(m, s))
            continue;
        const float* const query = queries.of(s);
        const float* const projected = m.projected + row * m.attention_width;
        float sum = 0;
        for (std::size_t a = warp_of_row::index(); a < m.attention_width; a += warp_threads)
            sum += m.score_weight[a] * tanhf(query[a] + projected[a]);
        sum = over_warp(sum);
        if (warp_of_row::index() == 0)
            scores[row] = sum;
    }
}

// All blocks of a sample make its shares, the first keeps them.
__global__ void context_kernel(additive_memory m, sample_columns columns, additive_forward_step t) {
    __shared__ float shares[column_threads];
    for (std::size_t block = blockIdx.x; block < m.samples * columns.chunks; block += gridDim.x) {
        const std::size_t s = block / columns.chunks, chunk = block - s * columns.chunks;
        const std::size_t c = chunk * column_threads + threadIdx.x, length = length_of(m, s);
        const float* const scores = t.scores + s * m.source;
        float largest = -FLT_MAX;
        for (std::size_t j = threadIdx.x; j < length; j += column_threads)
            largest = larger{}(scores[j], largest);
        largest = over_block(largest, -FLT_MAX, larger{});
        float total = 0;
        for (std::size_t j = threadIdx.x; j < length; j += column_threads)
            total += expf(scores[j] - largest);
        const float share = 1 / over_block(total);
        float* const kept = t.shares.of(s);
        float context = 0;
        for (std::size_t first = 0; first < m.source; first += column_threads) {
            const std::size_t j = first + threadIdx.x;
            const float of_thread = j < length ? expf(scores[j] - largest) * share : 0;
            __syncthreads(); // whoever still reads what was there
            shares[threadIdx.x] = of_thread;
            __syncthreads();
            if (chunk == 0 && j < m.source)
                kept[j] = of_thread;
            if (c >= m.width)
                continue;
            const float* memory = m.values + (s * m.source + first) * m.width + c;
            for (unsigned k = 0; k < column_threads && first + k < length; ++k, memory += m.width)
                context += shares[k] * *memory;
        }
        if (c >= m.width)
            continue;
        t.context.of(s)[c] = context;
        if (t.context_together != nullptr)
            t.context_together[s * m.width + c] = context;
    }
}

// The gradient of a share, by a warp each.
__global__ void to_shares_kernel(additive_memory m, sample_rows<const float> to_contexts,
                                 float* to_shares) {
    for (std::size_t row = warp_of_row::first_row(); row < m.samples * m.source;
         row += warp_of_row::row_step()) {
        const std::size_t s = row / m.source;
        if (row - s * m.source >= length_of(m, s))
            continue;
        const float* const to_context = to_contexts.of(s);
        const float* const memory = m.values + row * m.width;
        float sum = 0;
        for (std::size_t i = warp_of_row::index(); i < m.width; i += warp_threads)
            sum += to_context[i] * memory[i];
        sum = over_warp(sum);
        if (warp_of_row::index() == 0)
            to_shares[row] = sum;
    }
}

__global__ void to_query_kernel(additive_memory m, sample_columns columns,
                                additive_backward_step t) {
    __shared__ float to_scores[column_threads];
    for (std::size_t block = blockIdx.x; block < m.samples * columns.chunks; block += gridDim.x) {
        const std::size_t s = block / columns.chunks, chunk = block - s * columns.chunks;
        const std::size_t a = chunk * column_threads + threadIdx.x, length = length_of(m, s);
        const float* const shares = t.shares.of(s);
        const float* const to_shares = t.to_shares + s * m.source;
        float sum = 0;
        for (std::size_t j = threadIdx.x; j < length; j += column_threads)
            sum += shares[j] * to_shares[j];
        const float mean = over_block(sum);
        const bool is_there = a < m.attention_width;
        const float query = is_there ? t.query.of(s)[a] : 0;
        const float weight = is_there ? m.score_weight[a] : 0;
        float to_query = 0, to_weight = 0;
        for (std::size_t first = 0; first < length; first += column_threads) {
            const std::size_t j = first + threadIdx.x;
            const float of_thread = j < length ? shares[j] * (to_shares[j] - mean) : 0;
            __syncthreads(); // whoever still reads what was there
            to_scores[threadIdx.x] = of_thread;
            __syncthreads();
            if (!is_there)
                continue;
            std::size_t at = (s * m.source + first) * m.attention_width + a;
            for (unsigned k = 0; k < column_threads && first + k < length;
                 ++k, at += m.attention_width) {
                const float hidden = tanhf(query + m.projected[at]);
                const float to_sum = to_scores[k] * weight * ((1 - hidden) * (1 + hidden));
                to_weight += to_scores[k] * hidden;
                to_query += to_sum;
                t.to_projected[at] += to_sum;
            }
        }
        if (!is_there)
            continue;
        t.to_query.of(s)[a] = to_query;
        if (t.to_query_together != nullptr)
            t.to_query_together[s * m.attention_width + a] = to_query;
        t.to_score_weight[s * m.attention_width + a] += to_weight;
    }
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> look_at_lengths(execution& run, const additive_memory& m) {
    if (m.lengths == nullptr)
        return {};
    auto bad = run.look_out([source = m.source](auto sample, auto length) {
        return bad_memory_length(sample, length, source);
    });
    if (!bad)
        return bad.failure();
    return checked(
        launch_elements(run.stream(), m.samples, length_check{m.lengths, m.source, *bad}));
}

result<void> step(execution& run, const additive_memory& m, const additive_forward_step& s) {
    if (auto done = checked(launch(run.stream(), {blocks_for(m.scores(), warps_of_block)},
                                   scores_kernel, m, s.query, s.scores));
        !done)
        return done;
    const sample_columns columns{m.width};
    return checked(launch(run.stream(), columns.of(m.samples), context_kernel, m, columns, s));
}

result<void> step(execution& run, const additive_memory& m, const additive_backward_step& s) {
    if (auto done = checked(launch(run.stream(), {blocks_for(m.scores(), warps_of_block)},
                                   to_shares_kernel, m, s.to_context, s.to_shares));
        !done)
        return done;
    const sample_columns columns{m.attention_width};
    return checked(launch(run.stream(), columns.of(m.samples), to_query_kernel, m, columns, s));
}

result<void> query_products::of_states(const float* states, std::size_t rows,
                                       float* queries) const {
    const std::size_t width = weight_.shape()[0], state_width = weight_.shape()[1];
    return run_.multiply()({.m = rows,
                            .n = width,
                            .k = state_width,
                            .a = {states, state_width},
                            .b = {floats(weight_), state_width, true},
                            .c = queries,
                            .c_stride = width,
                            .numbers = numbers_},
                           run_.stream());
}

result<void> query_products::back(const float* to_queries, std::size_t rows, float beta,
                                  float* to_states) const {
    const std::size_t width = weight_.shape()[0], state_width = weight_.shape()[1];
    return run_.multiply()({.m = rows,
                            .n = state_width,
                            .k = width,
                            .a = {to_queries, width},
                            .b = {floats(weight_), state_width},
                            .beta = beta,
                            .c = to_states,
                            .c_stride = state_width,
                            .numbers = numbers_},
                           run_.stream());
}

result<void> query_products::weight_gradient(const float* to_queries, const float* states,
                                             std::size_t rows, tensor& gradient) const {
    const std::size_t width = weight_.shape()[0], state_width = weight_.shape()[1];
    return run_.multiply()({.m = width,
                            .n = state_width,
                            .k = rows,
                            .a = {to_queries, width, true},
                            .b = {states, state_width},
                            .c = floats(gradient),
                            .c_stride = state_width,
                            .numbers = numbers_},
                           run_.stream());
}

result<void> memory_gradient(execution& run, const additive_memory& m, std::size_t positions,
                             const float* shares, const float* to_contexts, tensor& gradient) {
    return run.multiply()({.m = m.source,
                           .n = m.width,
                           .k = positions,
                           .a = {shares, m.source, true, positions * m.source},
                           .b = {to_contexts, m.width, false, positions * m.width},
                           .c = floats(gradient),
                           .c_stride = m.width,
                           .c_batch_stride = m.source * m.width,
                           .batch = m.samples},
                          run.stream());
}

} // namespace troupe::cuda
