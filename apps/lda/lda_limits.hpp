// Limits of the program "lda".
#pragma once

#include <cstdint>

namespace troupe::lda::limits {

// A topic is kept in 16 bits, and the last number stands for none yet.
inline constexpr std::uint32_t topics_max = 65535;
// Up to which sampler: auto is exact. In the time of 100 sweeps of metropolis, exact comes further with 3,000 topics (5 M
// tokens, 150 a document), and less far with 10,000.
inline constexpr std::uint32_t exact_topics_max = 5000;
// Up to which exact sampling keeps a count of each topic in each document.
inline constexpr std::uint32_t dense_topics_max = 256;
// Counts of a word and a topic in word_topics.npy: 8 GiB.
inline constexpr std::uint64_t counts_max = 1ull << 31;
// Numbers in the rows of one block: 1 GiB, as it is sent from worker to worker. A saved state carries all blocks that a
// worker holds, so that it may be as many times larger.
inline constexpr std::uint64_t block_numbers_max = 1ull << 28;
// Tokens of one document.
inline constexpr std::uint64_t document_tokens_max = (1ull << 31) - 1;

} // namespace troupe::lda::limits
