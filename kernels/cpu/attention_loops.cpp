// Compiled once per instruction set (attention_loops.hpp): no inline functions from elsewhere.
//
// Softmax with a running maximum and sum, so that no matrix of scores is ever in memory whole: Milakov and Gimelshein
// 2018. As many rows of scores as a tile has are in the cache at a time; with `causal` their products end at the last key
// that the last of them sees.
#include "kernels/cpu/attention_parts.hpp"

namespace troupe::cpu {

namespace {

// Keys at a time.
constexpr std::size_t key_block = 256;
// So that with `causal` the first row of a block sees a key of it.
static_assert(key_block % query_block == 0 && key_block % panel == 0);
// More than the keys, so that the rows of scores do not compete for the same lines of the cache.
constexpr std::size_t row_stride = key_block + 16;

struct attention_memory {
    std::size_t width; // in whole vectors
    float *across_k, *v, *across_q, *scores, *sums;
    std::size_t floats;

    attention_memory(std::size_t keys, std::size_t head_width, float* workspace)
        : width{rounded_up(head_width, lanes)} {
        workspace_parts parts{workspace};
        across_k = parts.take(rounded_up(keys, panel) * head_width);
        v = parts.take(keys * width);
        across_q = parts.take(query_block * head_width);
        scores = parts.take(rows_max * row_stride);
        sums = parts.take(query_block * width);
        floats = parts.taken;
    }
};

// A query's largest score so far, and the sum of e^(score - largest).
struct running_softmax {
    float largest, total;
};

// A query's scores for some keys.
struct score_row {
    float* scores;
    std::size_t visible, end; // keys
    bool is_first;            // of the query's
};

// Scores become e^(s - m) with m the largest so far, and 0 from `visible` to `end`. Returns by what the sums of earlier
// keys are to be multiplied.
float exponentials(const score_row& row, running_softmax& softmax) {
    float* const scores = row.scores;
    const std::size_t whole = row.visible / lanes * lanes, left = row.visible - whole;
    const vec least_of_all = vec{} - __builtin_inff();
    vec best = least_of_all;
    for (std::size_t i = 0; i < whole; i += lanes)
        best = larger(get(scores + i), best);
    if (left > 0)
        best = larger(first_of(get(scores + whole), left, least_of_all), best);
    const float here = largest_of(best)[0];
    const float next = row.is_first || here > softmax.largest ? here : softmax.largest;
    vec added = {};
    std::size_t i = 0;
    for (; i < whole; i += lanes) {
        const vec e = power(get(scores + i) - next);
        put(scores + i, e);
        added += e;
    }
    if (left > 0) {
        const vec e = first_of(power(get(scores + i) - next), left, vec{});
        put(scores + i, e);
        added += e;
        i += lanes;
    }
    for (; i < row.end; i += lanes)
        put(scores + i, vec{});
    const float kept = row.is_first ? 0 : power(softmax.largest - next);
    softmax = {next, total_of(added)[0] + (row.is_first ? 0 : kept * softmax.total)};
    return kept;
}

void scale(float* x, float factor, std::size_t count) {
    for (std::size_t i = 0; i < count; i += lanes)
        put(x + i, factor * get(x + i));
}

// Some rows of the block of queries from `query` on, with the block of keys from `key` on.
struct strip_place {
    std::size_t query, row, rows, key;
};

// Fetches what is read and written soon, a quarter at a time while some rows are computed.
void fetch_ahead(const attention_head_forward& t, std::size_t row, std::size_t rows, int quarter) {
    const std::size_t width = t.head.width;
    if (quarter == 3)
        fetch(t.output, width, t.head.queries, row, rows);
    if (t.next == nullptr || t.next->head.keys > fetched_rows_max)
        return;
    const attention_head& next = t.next->head;
    if (quarter == 0)
        fetch(next.k, width, next.keys, row, rows);
    else if (quarter == 1)
        fetch(next.v, width, next.keys, row, rows);
    else if (quarter == 2)
        fetch(next.q, width, next.queries, row, rows);
}

void attend(const attention_head_forward& t, const attention_memory& memory, const strip_place& at,
            running_softmax* softmax) {
    const attention_head& head = t.head;
    const auto ahead = [&](int quarter) {
        if (at.key == 0)
            fetch_ahead(t, at.query + at.row, at.rows, quarter);
    };
    ahead(0);
    const auto visible = [&](std::size_t row, std::size_t keys) {
        return visible_keys(head, at.query + row, at.key, keys);
    };
    const std::size_t end = visible(at.row + at.rows - 1, least(key_block, head.keys - at.key));
    packed_product<1, query_block>{.rows = at.rows,
                                   .columns = rounded_up(end, lanes),
                                   .depth = head.width,
                                   .a = memory.across_q + at.row,
                                   .b = memory.across_k + at.key * head.width,
                                   .b_step = panel,
                                   .b_panel = panel * head.width,
                                   .c = memory.scores,
                                   .c_row = row_stride,
                                   .adds = false,
                                   .first_sees = visible(at.row, end)}
        .run();
    ahead(1);
    float* const sums = memory.sums + at.row * memory.width;
    for (std::size_t r = 0; r < at.rows; ++r) {
        const float kept = exponentials(
            {memory.scores + r * row_stride, visible(at.row + r, end), end, at.key == 0},
            softmax[at.row + r]);
        if (at.key > 0 && kept != 1)
            scale(sums + r * memory.width, kept, memory.width);
    }
    ahead(2);
    packed_product<row_stride, 1>{.rows = at.rows,
                                  .columns = memory.width,
                                  .depth = end,
                                  .a = memory.scores,
                                  .b = memory.v + at.key * memory.width,
                                  .b_step = memory.width,
                                  .b_panel = panel,
                                  .c = sums,
                                  .c_row = memory.width,
                                  .adds = at.key > 0}
        .run();
    ahead(3);
}

void forward(const attention_head_forward& t, float* workspace) {
    const attention_head& head = t.head;
    const attention_memory memory{head.keys, head.width, workspace};
    pack_across<panel>({head.k.first, head.k.stride, head.keys, head.width}, memory.across_k);
    pack_rows({head.v.first, head.v.stride, head.keys, head.width}, memory.v);
    running_softmax softmax[query_block];
    for (std::size_t query = 0; query < head.queries; query += query_block) {
        const std::size_t queries = least(query_block, head.queries - query);
        pack_across<query_block>({head.q.first + query * head.q.stride, head.q.stride, queries,
                                  head.width, inverse_root(head.width)},
                                 memory.across_q);
        const std::size_t seen = visible_keys(head, query + queries - 1, 0, head.keys);
        const strips all{queries};
        for (std::size_t key = 0; key < seen; key += key_block)
            for (std::size_t strip = 0; strip < all.count; ++strip) {
                const std::size_t row = all.first(strip), rows = all.rows_of(strip);
                attend(t, memory, {query, row, rows, key}, softmax);
            }
        for (std::size_t row = 0; row < queries; ++row) {
            const auto [largest, total] = softmax[row];
            const float share = 1 / total;
            float* const out = t.output.first + (query + row) * t.output.stride;
            for (std::size_t c = 0; c < head.width; c += lanes)
                store(out + c, share * get(memory.sums + row * memory.width + c),
                      least(lanes, head.width - c));
            t.log_sums[query + row] = largest + __builtin_logf(total);
        }
    }
}

std::size_t floats_for(std::size_t keys, std::size_t width) {
    return attention_memory{keys, width, nullptr}.floats;
}

} // namespace

extern const attention_loops TROUPE_ATTENTION_LOOPS;
const attention_loops TROUPE_ATTENTION_LOOPS{floats_for, forward};

} // namespace troupe::cpu
