#include "apps/lda/topic_model.hpp"

#include <algorithm>
#include <cmath>

#include "schemas/base/random.hpp"

namespace troupe::lda {

namespace {

struct token {
    std::uint64_t word = 0;
    std::uint32_t topic = 0;
};

std::vector<std::uint64_t> tokens_of(const topic_model& model, const document_counts& document) {
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = 0; i < document.words.size(); ++i) {
        const std::int32_t word = document.words[i];
        if (word >= 0 && static_cast<std::uint64_t>(word) < model.words)
            tokens.insert(tokens.end(), static_cast<std::size_t>(std::max(document.counts[i], 0)),
                          static_cast<std::uint64_t>(word));
    }
    return tokens;
}

// The place in `sums`, which rise, at which they pass a random share of the last one.
std::uint32_t draw(std::span<const double> sums, random_stream& random) {
    const double u = random.uniform() * sums.back();
    const auto at = std::ranges::upper_bound(sums, u) - sums.begin();
    return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(at, std::ssize(sums) - 1));
}

std::vector<double> shares_of(const topic_model& model, std::span<const std::uint64_t> words,
                              std::uint32_t iterations, random_stream& random) {
    const std::uint32_t topics = model.topics;
    std::vector<double> counts(topics), sums(topics), shares(topics);
    std::vector<token> tokens;
    const double alpha = model.priors.alpha;
    for (const std::uint64_t word : words) {
        double sum = 0;
        for (std::uint32_t k = 0; k < topics; ++k)
            sums[k] = sum += (counts[k] + alpha) * model.probability(word, k);
        tokens.push_back({word, draw(sums, random)});
        ++counts[tokens.back().topic];
    }
    const double denominator = static_cast<double>(words.size()) + alpha * topics;
    const std::uint32_t first = iterations / 2;
    for (std::uint32_t i = 0; i < iterations; ++i) {
        for (token& t : tokens) {
            --counts[t.topic];
            double sum = 0;
            for (std::uint32_t k = 0; k < topics; ++k)
                sums[k] = sum += (counts[k] + alpha) * model.probability(t.word, k);
            t.topic = draw(sums, random);
            ++counts[t.topic];
        }
        if (i >= first)
            for (std::uint32_t k = 0; k < topics; ++k)
                shares[k] += (counts[k] + alpha) / denominator / (iterations - first);
    }
    if (iterations == 0)
        for (std::uint32_t k = 0; k < topics; ++k)
            shares[k] = (counts[k] + alpha) / denominator;
    return shares;
}

} // namespace

std::vector<double> infer(const topic_model& model, const document_counts& document,
                          const inference& how) {
    random_stream random{how.seed};
    return shares_of(model, tokens_of(model, document), how.iterations, random);
}

double perplexity(const topic_model& model, std::span<const document_counts> documents,
                  const inference& how) {
    double sum = 0;
    std::uint64_t scored = 0;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        std::vector<std::uint64_t> tokens = tokens_of(model, documents[d]);
        if (tokens.size() < 2)
            continue;
        random_stream random{how.seed, d};
        for (std::size_t i = tokens.size() - 1; i > 0; --i)
            std::swap(tokens[i], tokens[random.below(i + 1)]);
        const std::size_t half = tokens.size() / 2;
        const std::span<const std::uint64_t> all = tokens;
        const std::vector<double> shares =
            shares_of(model, all.first(half), how.iterations, random);
        for (const std::uint64_t word : all.subspan(half)) {
            double p = 0;
            for (std::uint32_t k = 0; k < model.topics; ++k)
                p += shares[k] * model.probability(word, k);
            sum += std::log(p);
        }
        scored += tokens.size() - half;
    }
    return scored == 0 ? 0.0 : std::exp(-sum / static_cast<double>(scored));
}

} // namespace troupe::lda
