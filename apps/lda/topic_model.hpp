// A topic model as a run leaves it behind, and what it says of documents.
//
//     auto model = load_model("result");
//     const auto shares = infer(*model, {words, counts}, {});    // of the topics in a document
//     const double p = perplexity(*model, documents, {});        // of documents that were not in the data
//
// Threads: values and pure functions. Errors of load_model: errc::io and errc::data, "FILE: SENTENCE".
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "apps/lda/prior.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

struct topic_model {
    prior priors;
    std::uint32_t topics = 0;
    std::uint64_t words = 0;          // of the vocabulary
    std::vector<std::int32_t> counts; // words x topics
    std::vector<std::int64_t> totals; // of topics
    std::vector<std::string> names;   // of words; empty: they have none

    // The probability of a word in a topic.
    double probability(std::uint64_t word, std::uint32_t topic) const noexcept {
        return (static_cast<double>(counts[word * topics + topic]) + priors.beta) /
               (static_cast<double>(totals[topic]) + priors.beta * static_cast<double>(words));
    }
};

// Reads what result_files.hpp describes. Blocks on files.
result<topic_model> load_model(const std::filesystem::path& directory);

struct document_words {
    std::span<const std::int32_t> words;  // below the model's words; others are passed over
    std::span<const std::int32_t> counts; // as many; those that are not above 0 are passed over
};

struct inference {
    std::uint32_t iterations =
        50; // over the document's tokens; shares are means over the second half
    std::uint64_t seed = 1;
};

// The shares of the topics in a document, which sum to 1: by Gibbs sampling with the model as it is. A document without
// words has the prior's shares.
std::vector<double> infer(const topic_model& model, const document_words& document,
                          const inference& how);

// How well a model predicts words of documents: exp of minus the mean log probability of half of the tokens of each
// document, drawn at random, given the topics' shares that the other half has. The vocabulary's size is that of a model
// that knows nothing. Documents with fewer than two tokens say nothing; 0 if there are no others.
class perplexity_sum {
  public:
    void add(const topic_model& model, const document_words& document, const inference& how);
    double value() const noexcept;
    std::uint64_t scored() const noexcept { return scored_; } // tokens

  private:
    double sum_ = 0; // of log probabilities
    std::uint64_t scored_ = 0, documents_ = 0;
};
double perplexity(const topic_model& model, std::span<const document_words> documents,
                  const inference& how);

} // namespace troupe::lda
