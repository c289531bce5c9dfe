#include "apps/lda/topic_model.hpp"

#include <algorithm>
#include <cmath>

#include "schemas/base/random.hpp"

namespace troupe::lda {

namespace {

std::vector<std::uint64_t> tokens_of(const topic_model& model, const document_words& document) {
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = 0; i < document.words.size(); ++i) {
        const std::int32_t word = document.words[i];
        if (word >= 0 && static_cast<std::uint64_t>(word) < model.words)
            tokens.insert(tokens.end(), static_cast<std::size_t>(std::max(document.counts[i], 0)),
                          static_cast<std::uint64_t>(word));
    }
    return tokens;
}

// Gibbs sampling of the topics of one document, with the model as it is.
class document_sampler {
  public:
    document_sampler(const topic_model& model, std::span<const std::uint64_t> words)
        : model_{model}, counts_(model.topics) {
        for (const std::int64_t total : model.totals)
            inverses_.push_back(1 / (static_cast<double>(total) +
                                     model.priors.beta * static_cast<double>(model.words)));
        for (const std::uint64_t word : words) {
            if (tokens_.empty() || tokens_.back().word != word)
                tokens_.push_back({word, 0, mass(word)});
            else
                tokens_.push_back(tokens_.back());
        }
    }

    // Each token's topic given those before it.
    void start(random_stream& random) {
        for (token& t : tokens_)
            put(t, random);
    }
    void sweep(random_stream& random) {
        for (token& t : tokens_) {
            if (--counts_[t.topic] == 0)
                present_.erase(std::ranges::find(present_, t.topic));
            put(t, random);
        }
    }
    std::span<const std::int32_t> counts() const noexcept { return counts_; }

  private:
    struct token {
        std::uint64_t word = 0;
        std::uint32_t topic = 0;
        double mass = 0; // the sum of the word's probabilities in all topics
    };

    double probability(std::uint64_t word, std::uint32_t topic) const noexcept {
        const auto count = static_cast<double>(model_.counts[word * model_.topics + topic]);
        return (count + model_.priors.beta) * inverses_[topic];
    }
    double mass(std::uint64_t word) const noexcept {
        double sum = 0;
        for (std::uint32_t k = 0; k < model_.topics; ++k)
            sum += probability(word, k);
        return sum;
    }
    void put(token& t, random_stream& random) {
        t.topic = draw(t, random);
        if (counts_[t.topic]++ == 0)
            present_.push_back(t.topic);
    }
    // First the topics that the document has, of which there are few, then all of them.
    std::uint32_t draw(const token& t, random_stream& random) const noexcept {
        double own = 0;
        for (const std::uint32_t k : present_)
            own += counts_[k] * probability(t.word, k);
        double rest = random.uniform() * (own + model_.priors.alpha * t.mass);
        for (const std::uint32_t k : present_) {
            const double p = counts_[k] * probability(t.word, k);
            if (rest < p)
                return k;
            rest -= p;
        }
        rest /= model_.priors.alpha;
        std::uint32_t k = 0;
        for (; k + 1 < model_.topics; ++k) {
            const double p = probability(t.word, k);
            if (rest < p)
                break;
            rest -= p;
        }
        return k;
    }

    const topic_model& model_;
    std::vector<double> inverses_; // of the topics' totals, with their prior
    std::vector<token> tokens_;
    std::vector<std::int32_t> counts_;
    std::vector<std::uint32_t> present_; // topics whose count is not 0
};

std::vector<double> shares_of(const topic_model& model, std::span<const std::uint64_t> words,
                              std::uint32_t iterations, random_stream& random) {
    document_sampler sampler{model, words};
    std::vector<double> shares(model.topics);
    const double alpha = model.priors.alpha,
                 denominator = static_cast<double>(words.size()) + alpha * model.topics;
    const auto add = [&](double weight) {
        for (std::uint32_t k = 0; k < model.topics; ++k)
            shares[k] += (sampler.counts()[k] + alpha) / denominator * weight;
    };
    sampler.start(random);
    const std::uint32_t first = iterations / 2;
    for (std::uint32_t i = 0; i < iterations; ++i) {
        sampler.sweep(random);
        if (i >= first)
            add(1.0 / (iterations - first));
    }
    if (iterations == 0)
        add(1);
    return shares;
}

} // namespace

std::vector<double> infer(const topic_model& model, const document_words& document,
                          const inference& how) {
    random_stream random{how.seed};
    return shares_of(model, tokens_of(model, document), how.iterations, random);
}

void perplexity_sum::add(const topic_model& model, const document_words& document,
                         const inference& how) {
    std::vector<std::uint64_t> tokens = tokens_of(model, document);
    random_stream random{how.seed, documents_++};
    if (tokens.size() < 2)
        return;
    for (std::size_t i = tokens.size() - 1; i > 0; --i)
        std::swap(tokens[i], tokens[random.below(i + 1)]);
    const std::size_t half = tokens.size() / 2;
    const std::span<std::uint64_t> all = tokens;
    std::ranges::sort(all.first(half)); // equal words share their sums
    const std::vector<double> shares = shares_of(model, all.first(half), how.iterations, random);
    for (const std::uint64_t word : all.subspan(half)) {
        double p = 0;
        for (std::uint32_t k = 0; k < model.topics; ++k)
            p += shares[k] * model.probability(word, k);
        sum_ += std::log(p);
    }
    scored_ += tokens.size() - half;
}

double perplexity_sum::value() const noexcept {
    return scored_ == 0 ? 0.0 : std::exp(-sum_ / static_cast<double>(scored_));
}

double perplexity(const topic_model& model, std::span<const document_words> documents,
                  const inference& how) {
    perplexity_sum sum;
    for (const document_words& document : documents)
        sum.add(model, document, how);
    return sum.value();
}

} // namespace troupe::lda
