// The loops of exact sampling (exact_sampler.hpp), compiled once per instruction set as those of kernels/cpu/loops.hpp and
// under the same rule: no result depends on the instruction set, as sums have the same lanes everywhere and no a * b + c is
// contracted.
//
// Tokens of a word are drawn one after the other. Weights of topics are added up lane by lane: topics, or places of a
// document's list, that are `lanes` apart share a lane, and a lane's sums so far are kept. A random number chooses a lane,
// and then one of the lane's sums. The token that is drawn is not taken out of the counts before its weights are added:
// the sums of its topic's lane are corrected instead, as to write what is read with its neighbours at once would stall.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::lda {

// Numbers of topics are rounded up to so many.
inline constexpr std::size_t topic_group = 16;
constexpr std::size_t groups_of(std::size_t topics) noexcept {
    return topics / topic_group +
           1; // so that topic `topics` is there, too: of the empty places of lists
}
// Groups whose sums are added up once more.
inline constexpr std::size_t stretch_groups = 16;
constexpr std::size_t stretches_of(std::size_t topics) noexcept {
    return (groups_of(topics) + stretch_groups - 1) / stretch_groups;
}

// The tokens of a word.
struct token_view {
    const std::int32_t* documents;
    std::uint16_t* topics;
    std::size_t count;
};

// A word while its tokens are drawn, and the totals.
struct word_view {
    std::uint32_t topics;
    float alpha, beta, beta_words;
    float* phi; // of whole groups; zeros from `topics` on
    std::int32_t* counts;
    std::int64_t* totals;
    float* inverses;
    std::uint32_t* touched; // where the next topic goes that has its first token
    std::int64_t nonzeros;
    float* sums; // room for the running sums of all topics, in whole groups
    // For listed topics alone: sums of phi over groups, over stretches of groups, and over all.
    double *groups, *stretches;
    double all;
};

// Documents that have a count for each topic. Rows of `stride` counts, whole groups.
template <class Count>
struct dense_view {
    Count* counts;
    std::size_t stride;
};

// Documents that have a list of their topics, in no order, in blocks whose empty places have topic `topics` and count 0.
inline constexpr std::size_t block_places = 8;
template <class Count>
struct list_block {
    std::uint16_t topics[block_places];
    Count counts[block_places];
};
struct list_place {
    std::uint64_t start = 0;  // block; with room for as many topics as the document can have
    std::uint32_t length = 0; // topics
    std::uint32_t room = 0;
};
template <class Count>
struct listed_view {
    list_place* places; // of documents
    list_block<Count>* blocks;
};

struct exact_loops {
    // phi of all topics, from the word's counts and the totals; and its sums, if there is room for them.
    void (*begin)(word_view& word);
    // Draw the topics of tokens [first, last) anew, each by a random number of 64 bits. Return the first one whose topic is
    // none, or is not counted in the word or document; `last` if there is none.
    std::size_t (*dense_16)(word_view& word, const token_view& tokens, std::size_t first,
                            std::size_t last, const std::uint64_t* random,
                            const dense_view<std::uint16_t>& documents);
    std::size_t (*dense_32)(word_view& word, const token_view& tokens, std::size_t first,
                            std::size_t last, const std::uint64_t* random,
                            const dense_view<std::int32_t>& documents);
    std::size_t (*listed_16)(word_view& word, const token_view& tokens, std::size_t first,
                             std::size_t last, const std::uint64_t* random,
                             const listed_view<std::uint16_t>& documents);
    std::size_t (*listed_32)(word_view& word, const token_view& tokens, std::size_t first,
                             std::size_t last, const std::uint64_t* random,
                             const listed_view<std::int32_t>& documents);
};

extern const exact_loops exact_loops_baseline;
extern const exact_loops exact_loops_avx2;
extern const exact_loops exact_loops_avx512;

const exact_loops& fastest_exact_loops();

} // namespace troupe::lda
