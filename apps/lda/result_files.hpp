// The result of the program "lda":
//
//     topics.csv         topic,rank,word,count: the words of which each topic has most tokens, by name or number
//     word_topics.npy    int32, words x topics: tokens of each word that have each topic
//     topic_totals.npy   int64: tokens that have each topic, the sums of the rows
//     words.txt          the words' names, one a line, if the data has them
//     summary.json       topics, words, documents, tokens, priors, sweeps, and the likelihood of the last sweep
//
// Counts are of a sample, the one at the end of the run. topic_model.hpp reads these files.
//
// The words' probabilities in topic k are (word_topics[:, k] + beta) / (topic_totals[k] + beta * words).
#pragma once

#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

// errc::io where a file cannot be written.
result<std::vector<std::string>> write_result(const scheduled::result_site& site,
                                              const scheduled::ended_run& run);

} // namespace troupe::lda
