// Compiled once per instruction set (attention_loops.hpp): no inline functions from elsewhere.
//
// The backward pass in squares of queries and keys, each score computed anew: Dao et al. 2022. With `causal` no product goes
// further than the strip of rows sees.
#include "kernels/cpu/attention_parts.hpp"

namespace troupe::cpu {

namespace {

// Keys at a time, and how far rows of scores are apart. As many as queries, so that with `causal` the first row of a square
// sees a key of it.
constexpr std::size_t key_block = query_block;
// Keys whose factors and gradients are packed at a time, so that they stay in the cache and the memory has a bound.
constexpr std::size_t key_group = 512;
static_assert(key_group % key_block == 0 && key_group % panel == 0);

struct attention_memory {
    std::size_t width; // in whole vectors
    float *across_k, *across_v, *k, *across_q, *q, *across_gradient, *gradient;
    float *scores, *to_scores, *to_q, *to_k, *to_v;
    std::size_t floats;

    attention_memory(std::size_t keys, std::size_t head_width, float* workspace)
        : width{rounded_up(head_width, lanes)} {
        workspace_parts parts{workspace};
        keys = least(keys, key_group);
        const std::size_t across_keys = rounded_up(keys, panel) * head_width;
        across_k = parts.take(across_keys);
        across_v = parts.take(across_keys);
        k = parts.take(rounded_up(keys, lanes) * width);
        to_k = parts.take(keys * width);
        to_v = parts.take(keys * width);
        across_q = parts.take(query_block * head_width);
        across_gradient = parts.take(query_block * head_width);
        q = parts.take(query_block * width);
        gradient = parts.take(query_block * width);
        to_q = parts.take(query_block * width);
        scores = parts.take(query_block * key_block);
        to_scores = parts.take(query_block * key_block);
        floats = parts.taken;
    }
};

// One block of queries and one of keys; `place` is the number of its first key in its group.
struct block_place {
    std::size_t query, queries, key, keys, place;
};

float dot(const float* x, const float* y, std::size_t count) {
    vec sums = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        sums += get(x + i) * get(y + i);
    if (i < count)
        sums += load(x + i, count - i) * load(y + i, count - i);
    return total_of(sums)[0];
}

// A query's scores for some keys, and the gradients of its shares.
struct score_row {
    float *scores, *gradients;
    std::size_t visible, end; // keys
    float log_sum, mean;      // the natural logarithm; the mean of the gradients by shares
};

// Scores become shares p = e^(s - log_sum), and the gradients of shares those of scores, p * (dp - mean); both 0 from
// `visible` to `end`.
void shares(const score_row& row) {
    std::size_t i = 0;
    for (; i < row.visible; i += lanes) {
        vec share = power(get(row.scores + i) - row.log_sum);
        vec gradient = share * (get(row.gradients + i) - row.mean);
        if (row.visible - i < lanes) {
            share = first_of(share, row.visible - i, vec{});
            gradient = first_of(gradient, row.visible - i, vec{});
        }
        put(row.scores + i, share);
        put(row.gradients + i, gradient);
    }
    for (; i < row.end; i += lanes) {
        put(row.scores + i, vec{});
        put(row.gradients + i, vec{});
    }
}

// Fetches what is read and written soon, a quarter at a time while some rows are computed.
void fetch_ahead(const attention_head_backward& t, std::size_t row, std::size_t rows, int quarter) {
    const std::size_t width = t.head.width, queries = t.head.queries, keys = t.head.keys;
    if (quarter == 3)
        fetch(t.to_q, width, queries, row, rows);
    if (keys <= fetched_rows_max && quarter == 3) {
        fetch(t.to_k, width, keys, row, rows);
        fetch(t.to_v, width, keys, row, rows);
    }
    if (t.next == nullptr || t.next->head.keys > fetched_rows_max)
        return;
    const attention_head& next = t.next->head;
    if (quarter == 0) {
        fetch(next.k, width, next.keys, row, rows);
        fetch(next.v, width, next.keys, row, rows);
    } else if (quarter == 1) {
        fetch(next.q, width, queries, row, rows);
        fetch(t.next->output, width, queries, row, rows);
    } else if (quarter == 2) {
        fetch(t.next->output_gradient, width, queries, row, rows);
    }
}

// Fills the block's shares and gradients of scores, a few rows at a time.
void back_to_scores(const attention_head_backward& t, const attention_memory& memory,
                    const block_place& at, const float* means) {
    const attention_head& head = t.head;
    const float* const log_sums = t.log_sums + at.query;
    const strips all{at.queries};
    for (std::size_t strip = 0; strip < all.count; ++strip) {
        const std::size_t row = all.first(strip), rows = all.rows_of(strip);
        const auto ahead = [&](int quarter) {
            if (at.place == 0)
                fetch_ahead(t, at.query + row, rows, quarter);
        };
        const std::size_t keys = visible_keys(head, at.query + row + rows - 1, at.key, at.keys);
        const std::size_t first_sees = visible_keys(head, at.query + row, at.key, at.keys);
        const auto multiply = [&](const float* a, const float* b, float* to) {
            packed_product<1, query_block>{.rows = rows,
                                           .columns = rounded_up(keys, lanes),
                                           .depth = head.width,
                                           .a = a + row,
                                           .b = b + at.place * head.width,
                                           .b_step = panel,
                                           .b_panel = panel * head.width,
                                           .c = to + row * key_block,
                                           .c_row = key_block,
                                           .adds = false,
                                           .first_sees = first_sees}
                .run();
        };
        ahead(0);
        multiply(memory.across_q, memory.across_k, memory.scores);
        ahead(1);
        multiply(memory.across_gradient, memory.across_v, memory.to_scores);
        ahead(2);
        for (std::size_t r = row; r < row + rows; ++r)
            shares({memory.scores + r * key_block, memory.to_scores + r * key_block,
                    visible_keys(head, at.query + r, at.key, keys), at.keys, log_sums[r],
                    means[r]});
        ahead(3);
        packed_product<key_block, 1>{.rows = rows,
                                     .columns = memory.width,
                                     .depth = keys,
                                     .a = memory.to_scores + row * key_block,
                                     .b = memory.k + at.place * memory.width,
                                     .b_step = memory.width,
                                     .b_panel = panel,
                                     .c = memory.to_q + row * memory.width,
                                     .c_row = memory.width,
                                     .adds = at.place > 0}
            .run();
    }
}

// Adds what the block gives to the gradients of its keys and values.
void back_to_keys(const attention_head& head, const attention_memory& memory,
                  const block_place& at) {
    const strips all{at.keys};
    for (std::size_t strip = 0; strip < all.count; ++strip) {
        const std::size_t key = all.first(strip);
        // The first of the block's queries that sees any of these keys.
        const std::size_t row =
            head.causal && at.key + key > at.query ? at.key + key - at.query : 0;
        if (row >= at.queries)
            return;
        const auto multiply = [&](const float* a, const float* b, float* to) {
            packed_product<1, key_block>{.rows = all.rows_of(strip),
                                         .columns = memory.width,
                                         .depth = at.queries - row,
                                         .a = a + row * key_block + key,
                                         .b = b + row * memory.width,
                                         .b_step = memory.width,
                                         .b_panel = panel,
                                         .c = to + (at.place + key) * memory.width,
                                         .c_row = memory.width,
                                         .adds = true}
                .run();
        };
        multiply(memory.scores, memory.gradient, memory.to_v);
        multiply(memory.to_scores, memory.q, memory.to_k);
    }
}

struct rows_to_unpack {
    const mutable_position_rows& rows;
    std::size_t position, count, width;
    float factor = 1;
    bool adds = false;
};

// Rows as they were before they were packed, or added to what is there.
void unpack_rows(const float* from, const rows_to_unpack& to) {
    float* row = to.rows.first + to.position * to.rows.stride;
    for (std::size_t r = 0; r < to.count; ++r, row += to.rows.stride) {
        std::size_t c = 0;
        for (; c + lanes <= to.width; c += lanes, from += lanes) {
            const vec values = to.factor * get(from);
            put(row + c, to.adds ? get(row + c) + values : values);
        }
        if (c < to.width) {
            const std::size_t some = to.width - c;
            const vec values = to.factor * get(from);
            store(row + c, to.adds ? load(row + c, some) + values : values, some);
            from += lanes;
        }
    }
}

// Packs a block of queries and the gradients of their outputs; returns in `means` those of the gradients of shares.
void pack_queries(const attention_head_backward& t, const attention_memory& memory,
                  const block_place& at, float* means) {
    const std::size_t width = t.head.width;
    const rows_to_pack q{t.head.q.first + at.query * t.head.q.stride, t.head.q.stride, at.queries,
                         width, inverse_root(width)};
    const rows_to_pack gradient{t.output_gradient.first + at.query * t.output_gradient.stride,
                                t.output_gradient.stride, at.queries, width};
    pack_across<query_block>(q, memory.across_q, memory.q);
    pack_across<query_block>(gradient, memory.across_gradient, memory.gradient);
    for (std::size_t row = 0; row < at.queries; ++row)
        means[row] = dot(t.output.first + (at.query + row) * t.output.stride,
                         gradient.first + row * gradient.stride, width);
}

// Adds the contribution of the group of keys from `first` on to all gradients; those of queries begin with the first group.
void add_group(const attention_head_backward& t, const attention_memory& memory,
               std::size_t first) {
    const attention_head& head = t.head;
    const std::size_t width = head.width, keys = least(key_group, head.keys - first);
    const rows_to_pack k{head.k.first + first * head.k.stride, head.k.stride, keys, width};
    pack_across<panel>(k, memory.across_k, memory.k);
    pack_across<panel>({head.v.first + first * head.v.stride, head.v.stride, keys, width},
                       memory.across_v);
    for (std::size_t i = 0; i < keys * memory.width; i += lanes) {
        put(memory.to_k + i, vec{});
        put(memory.to_v + i, vec{});
    }
    for (std::size_t query = head.causal ? first : 0; query < head.queries; query += query_block) {
        const std::size_t queries = least(query_block, head.queries - query);
        const std::size_t seen = visible_keys(head, query + queries - 1, first, keys);
        block_place at{.query = query, .queries = queries, .key = 0, .keys = 0, .place = 0};
        float means[query_block];
        pack_queries(t, memory, at, means);
        for (; at.place < seen; at.place += key_block) {
            at.key = first + at.place;
            at.keys = least(key_block, seen - at.place);
            back_to_scores(t, memory, at, means);
            back_to_keys(head, memory, at);
        }
        unpack_rows(memory.to_q, {t.to_q, query, queries, width, inverse_root(width), first > 0});
    }
    unpack_rows(memory.to_k, {t.to_k, first, keys, width});
    unpack_rows(memory.to_v, {t.to_v, first, keys, width});
}

void backward(const attention_head_backward& t, float* workspace) {
    const attention_memory memory{t.head.keys, t.head.width, workspace};
    for (std::size_t key = 0; key < t.head.keys; key += key_group)
        add_group(t, memory, key);
}

std::size_t floats_for(std::size_t keys, std::size_t width) {
    return attention_memory{keys, width, nullptr}.floats;
}

} // namespace

extern const attention_back_loops TROUPE_ATTENTION_BACK_LOOPS;
const attention_back_loops TROUPE_ATTENTION_BACK_LOOPS{floats_for, backward};

} // namespace troupe::cpu
