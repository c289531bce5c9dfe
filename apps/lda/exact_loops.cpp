// Compiled several times, with TROUPE_EXACT_LOOPS naming the table; see kernels/cpu/loops.cpp for what it must not include.
#include "apps/lda/exact_loops.hpp"

#include "apps/lda/eight_lanes.hpp"

#ifndef TROUPE_EXACT_LOOPS
#define TROUPE_EXACT_LOOPS exact_loops_baseline
#endif

namespace troupe::lda {

namespace {

inline double uniform(std::uint64_t random) {
    return static_cast<double>(random >> 11) * 0x1.0p-53;
}

// Counts of a token's topic without the token.
struct without_token {
    float inverse, phi;
};
inline without_token without(const word_view& w, std::uint32_t topic) {
    const std::int64_t left = w.totals[topic] - 1;
    const float inverse = 1 / (static_cast<float>(left < 0 ? 0 : left) + w.beta_words);
    return {inverse, (static_cast<float>(w.counts[topic] - 1) + w.beta) * inverse};
}

// A token has another topic. All but its document.
inline void move(word_view& w, std::uint32_t from, std::uint32_t to, const without_token& left) {
    w.nonzeros -= --w.counts[from] == 0;
    w.totals[from] -= 1;
    w.inverses[from] = left.inverse;
    w.phi[from] = left.phi;
    const bool is_first = w.counts[to]++ == 0;
    *w.touched = to;
    w.touched += is_first;
    w.nonzeros += is_first;
    const std::int64_t total = w.totals[to] += 1;
    w.inverses[to] = 1 / (static_cast<float>(total < 0 ? 0 : total) + w.beta_words);
    w.phi[to] = (static_cast<float>(w.counts[to]) + w.beta) * w.inverses[to];
}

void begin(word_view& w) {
    for (std::size_t k = 0; k < w.topics; ++k)
        w.phi[k] = (static_cast<float>(w.counts[k]) + w.beta) * w.inverses[k];
    if (w.groups == nullptr)
        return;
    w.all = 0;
    for (std::size_t s = 0; s < stretches_of(w.topics); ++s)
        w.stretches[s] = 0;
    for (std::size_t g = 0; g < groups_of(w.topics); ++g) {
        const float* const phi = w.phi + g * topic_group;
        const auto sum = static_cast<double>(sum_of(get(phi) + get(phi + lanes)));
        w.groups[g] = sum;
        w.stretches[g / stretch_groups] += sum;
        w.all += sum;
    }
}

// How many of sums[lane], sums[lane + stride], ... are at most `rest`, or from `from` on at most `rest_there`: `count` of
// them, which do not fall.
inline std::size_t passed(const float* sums, std::size_t stride, std::size_t count,
                          std::size_t from, float rest, float rest_there) {
    std::size_t n = 0;
    if (count <= 12) {
        for (std::size_t j = 0; j < count; ++j)
            n += sums[j * stride] <= (j < from ? rest : rest_there);
        return n;
    }
    for (std::size_t left = count; left > 0;) {
        const std::size_t half = (left + 1) / 2, j = n + half - 1;
        const bool is_passed = sums[j * stride] <= (j < from ? rest : rest_there);
        n = is_passed ? n + half : n;
        left = is_passed ? left - half : half - 1;
    }
    return n;
}

// ---- documents with a count for each topic ----

template <class Count>
std::size_t draw_dense(word_view& w, const token_view& tokens, std::size_t first, std::size_t last,
                       const std::uint64_t* random, const dense_view<Count>& documents) {
    const auto own_of = [&](std::size_t i) {
        return documents.counts + static_cast<std::size_t>(tokens.documents[i]) * documents.stride;
    };
    const eight alpha = all_of(w.alpha);
    const std::size_t groups = documents.stride / topic_group;
    for (std::size_t i = first; i < last; ++i) {
        if (i + 4 < tokens.count)
            for (std::size_t k = 0; k < documents.stride; k += 64 / sizeof(Count))
                __builtin_prefetch(own_of(i + 4) + k, 1);
        Count* const own = own_of(i);
        const std::uint32_t old = tokens.topics[i];
        if (old >= w.topics || w.counts[old] <= 0 || own[old] <= 0)
            return i;
        const without_token left = without(w, old);
        const auto of_old = static_cast<float>(own[old]);
        const float change = (of_old - 1 + w.alpha) * left.phi - (of_old + w.alpha) * w.phi[old];
        eight low = all_of(0), high = all_of(0);
        for (std::size_t k = 0; k < documents.stride; k += topic_group) {
            low += (floats_of(own + k) + alpha) * get(w.phi + k);
            high += (floats_of(own + k + lanes) + alpha) * get(w.phi + k + lanes);
            put(w.sums + k, low);
            put(w.sums + k + lanes, high);
        }
        const std::uint32_t lane_of_old = old % topic_group;
        low = running_sums(with_added(low, lane_of_old, change));
        high =
            running_sums(with_added(high, lane_of_old - static_cast<std::uint32_t>(lanes), change));
        float below[topic_group + 1]; // sums of the lanes before each
        below[0] = 0;
        put(below + 1, low);
        high += all_of(below[lanes]);
        put(below + 1 + lanes, high);
        const auto u = static_cast<float>(uniform(random[i - first]) *
                                          static_cast<double>(below[topic_group]));
        const unsigned bits = (at_most(low, u) | at_most(high, u) << lanes) & 0x7fff;
        const auto lane = static_cast<std::size_t>(__builtin_popcount(bits));
        const float rest = u - below[lane];
        const std::size_t group = passed(w.sums + lane, topic_group, groups - 1, old / topic_group,
                                         rest, rest - (lane == lane_of_old ? change : 0.0F));
        const auto chosen = static_cast<std::uint32_t>(group * topic_group + lane);
        // Beyond the last topic there is nothing but what is rounded.
        if (chosen == old || chosen >= w.topics)
            continue;
        own[old] = static_cast<Count>(own[old] - 1);
        own[chosen] = static_cast<Count>(own[chosen] + 1);
        tokens.topics[i] = static_cast<std::uint16_t>(chosen);
        move(w, old, chosen, left);
    }
    return last;
}

// ---- documents with a list of their topics ----

// The topic at which the sum of phi over it and those below passes `rest`.
inline std::uint32_t find(const word_view& w, double rest) {
    std::size_t s = 0;
    for (; s + 1 < stretches_of(w.topics) && rest >= w.stretches[s]; ++s)
        rest -= w.stretches[s];
    std::size_t g = s * stretch_groups;
    const std::size_t groups = groups_of(w.topics),
                      groups_end = g + stretch_groups < groups ? g + stretch_groups : groups;
    for (; g + 1 < groups_end && rest >= w.groups[g]; ++g)
        rest -= w.groups[g];
    std::size_t k = g * topic_group;
    const std::size_t end = k + topic_group < w.topics ? k + topic_group : w.topics;
    for (; k + 1 < end && rest >= static_cast<double>(w.phi[k]); ++k)
        rest -= static_cast<double>(w.phi[k]);
    return static_cast<std::uint32_t>(k);
}

inline void add_to_sums(word_view& w, std::uint32_t topic, double change) {
    w.groups[topic / topic_group] += change;
    w.stretches[topic / (topic_group * stretch_groups)] += change;
    w.all += change;
}

inline std::size_t blocks_of(const list_place& where) {
    return (where.length + block_places - 1) / block_places;
}
template <class Count>
inline std::uint16_t& topic_at(list_block<Count>* list, std::size_t place) {
    return list[place / block_places].topics[place % block_places];
}
template <class Count>
inline Count& count_at(list_block<Count>* list, std::size_t place) {
    return list[place / block_places].counts[place % block_places];
}

// One token of a list has another topic, which is at `place` if it is below the list's length.
template <class Count>
inline void move(list_place& where, list_block<Count>* list, std::size_t from, std::size_t place,
                 std::uint32_t to, std::uint32_t none) {
    const bool was_there = place < where.length;
    if (was_there)
        count_at(list, place) = static_cast<Count>(count_at(list, place) + 1);
    if ((count_at(list, from) = static_cast<Count>(count_at(list, from) - 1)) == 0) {
        const std::size_t end = --where.length;
        topic_at(list, from) = topic_at(list, end);
        count_at(list, from) = count_at(list, end);
        topic_at(list, end) = static_cast<std::uint16_t>(none);
        count_at(list, end) = 0;
    }
    if (was_there)
        return;
    for (list_block<Count>* block = list; block < list + blocks_of(where); ++block)
        if (const unsigned bits = equal(block->topics, static_cast<std::uint16_t>(to)); bits != 0) {
            Count& count = block->counts[__builtin_ctz(bits)];
            count = static_cast<Count>(count + 1);
            return;
        }
    topic_at(list, where.length) = static_cast<std::uint16_t>(to);
    count_at(list, where.length++) = 1;
}

template <class Count>
std::size_t draw_listed(word_view& w, const token_view& tokens, std::size_t first, std::size_t last,
                        const std::uint64_t* random, const listed_view<Count>& documents) {
    static_assert(block_places == lanes);
    const auto where_is = [&](std::size_t i) -> list_place& {
        return documents.places[tokens.documents[i]];
    };
    const auto prefetch = [&](const list_place& where) {
        const auto* at = reinterpret_cast<const char*>(documents.blocks + where.start);
        const auto* const end = at + blocks_of(where) * sizeof(list_block<Count>);
        for (; at < end; at += 64)
            __builtin_prefetch(at, 1);
    };
    for (std::size_t i = first; i < last; ++i) {
        if (i + 8 < tokens.count)
            __builtin_prefetch(&where_is(i + 8));
        if (i + 4 < tokens.count)
            prefetch(where_is(i + 4));
        list_place& where = where_is(i);
        list_block<Count>* const list = documents.blocks + where.start;
        const std::uint32_t old = tokens.topics[i];
        if (old >= w.topics || w.counts[old] <= 0)
            return i;
        const without_token left = without(w, old);
        const std::size_t blocks = blocks_of(where), none = ~std::size_t{0};
        std::size_t place_of_old = none;
        eight sum = all_of(0);
        for (std::size_t j = 0; j < blocks; ++j) {
            const unsigned bits = equal(list[j].topics, static_cast<std::uint16_t>(old));
            place_of_old = bits != 0 ? j * lanes + static_cast<std::size_t>(__builtin_ctz(bits))
                                     : place_of_old;
            sum += floats_of(list[j].counts) * gather(w.phi, list[j].topics);
            put(w.sums + j * lanes, sum);
        }
        if (place_of_old == none)
            return i;
        const auto of_old = static_cast<float>(count_at(list, place_of_old));
        const float change = (of_old - 1) * left.phi - of_old * w.phi[old];
        const double change_of_phi =
            static_cast<double>(left.phi) - static_cast<double>(w.phi[old]);
        const auto lane_of_old = static_cast<std::uint32_t>(place_of_old % lanes);
        sum = running_sums(with_added(sum, lane_of_old, change));
        float below[lanes + 1]; // sums of the lanes before each
        below[0] = 0;
        put(below + 1, sum);
        const auto own = static_cast<double>(below[lanes]), alpha = static_cast<double>(w.alpha);
        const double u = uniform(random[i - first]) * (own + alpha * (w.all + change_of_phi));
        std::uint32_t chosen = old;
        std::size_t place = none;
        if (u < own) {
            const auto from_lanes = static_cast<float>(u);
            const auto lane =
                static_cast<std::size_t>(__builtin_popcount(at_most(sum, from_lanes) & 0x7f));
            const float rest = from_lanes - below[lane];
            place = lanes * passed(w.sums + lane, lanes, blocks - 1, place_of_old / lanes, rest,
                                   rest - (lane == lane_of_old ? change : 0.0F)) +
                    lane;
            // Beyond the last place there is nothing but what is rounded.
            if (place < where.length)
                chosen = topic_at(list, place);
        } else {
            const float before = w.phi[old];
            w.phi[old] = left.phi;
            add_to_sums(w, old, change_of_phi);
            chosen = find(w, (u - own) / alpha);
            add_to_sums(w, old, -change_of_phi);
            w.phi[old] = before;
        }
        if (chosen == old)
            continue;
        move(where, list, place_of_old, place, chosen, w.topics);
        tokens.topics[i] = static_cast<std::uint16_t>(chosen);
        add_to_sums(w, old, change_of_phi);
        const float before = w.phi[chosen];
        move(w, old, chosen, left);
        add_to_sums(w, chosen, static_cast<double>(w.phi[chosen]) - static_cast<double>(before));
    }
    return last;
}

} // namespace

// It has external linkage, whatever its declaration says of constants.
extern const exact_loops TROUPE_EXACT_LOOPS;
const exact_loops TROUPE_EXACT_LOOPS{begin, draw_dense<std::uint16_t>, draw_dense<std::int32_t>,
                                     draw_listed<std::uint16_t>, draw_listed<std::int32_t>};

} // namespace troupe::lda
