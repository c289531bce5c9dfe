#include "apps/lda/sampled_documents.hpp"

#include "apps/lda/document_order.hpp"
#include "apps/lda/exact_sampler.hpp"
#include "apps/lda/lda_limits.hpp"
#include "apps/lda/metropolis_sampler.hpp"

namespace troupe::lda {

namespace {

error of_others() {
    return {errc::protocol, "the saved topics of lda are of other documents"};
}

// Exact draws; documents with lists of their topics, or with counts of all topics.
template <class Documents>
class exact_documents final : public sampled_documents {
  public:
    exact_documents(const lda_settings& settings, Documents counts,
                    std::span<const std::uint32_t> sizes)
        : topics_{settings.topics}, counts_{std::move(counts)}, sizes_{sizes.begin(), sizes.end()},
          sampler_{settings.topics, settings.priors} {}

    bool start(std::uint64_t, std::size_t document, std::uint32_t topic) override {
        return counts_.add(document, topic);
    }
    result<void> sample(const tokens_of_word& tokens, word_row& row, topic_totals& totals,
                        random_stream& random) override {
        return sampler_.sample(tokens, row, counts_, totals, random);
    }
    std::int32_t count(std::size_t document, std::uint32_t topic) const override {
        return counts_.count(document, topic);
    }
    double likelihood(const log_gamma_ratio& alpha,
                      const log_gamma_ratio& alpha_topics) const override {
        return likelihood_of_documents(counts_, sizes_, alpha, alpha_topics);
    }
    void save(scheduled::state_writer& write) const override {
        if constexpr (has_order)
            write("topics of documents", counts_.lengths())("order of topics",
                                                            bytes_of(counts_.order()));
    }
    result<void> load(const scheduled::saved_part& saved, const word_tokens& tokens) override {
        if constexpr (has_order) {
            const auto lengths = scheduled::read_state<std::int32_t>(saved, "topics of documents");
            const auto order = read_topics(saved, "order of topics");
            if (const error* failure = scheduled::first_failure(lengths, order))
                return *failure;
            if (auto loaded = counts_.load(*lengths, *order, topics_); !loaded)
                return loaded;
        } else {
            counts_.clear();
        }
        for (std::size_t i = 0; i < tokens.tokens(); ++i) {
            const std::uint16_t topic = tokens.topics()[i];
            const auto document = static_cast<std::size_t>(tokens.documents()[i]);
            if (topic != no_topic && !count_again(document, topic))
                return of_others();
        }
        if constexpr (has_order)
            return counts_.is_complete() ? result<void>{} : of_others();
        return {};
    }

  private:
    static constexpr bool has_order = std::is_same_v<Documents, document_topics>;

    bool count_again(std::size_t document, std::uint32_t topic) {
        if constexpr (has_order)
            return counts_.count_again(document, topic);
        else
            return counts_.add(document, topic);
    }

    std::uint32_t topics_;
    Documents counts_;
    std::vector<std::uint32_t> sizes_;
    exact_sampler sampler_;
};

template <class Documents>
result<std::unique_ptr<sampled_documents>>
exact_documents_of(memory_pool& memory, const lda_settings& settings, const word_tokens& tokens) {
    auto counts = Documents::make(memory, tokens.sizes(), settings.topics);
    if (!counts)
        return counts.failure();
    return std::unique_ptr<sampled_documents>{
        std::make_unique<exact_documents<Documents>>(settings, std::move(*counts), tokens.sizes())};
}

class metropolis_documents final : public sampled_documents {
  public:
    metropolis_documents(const lda_settings& settings, document_order order)
        : topics_{settings.topics}, order_{std::move(order)}, sampler_{settings.topics,
                                                                       settings.priors,
                                                                       settings.proposals} {}

    bool start(std::uint64_t token, std::size_t document, std::uint32_t topic) override {
        order_.set(document, order_.place(token), topic);
        return true;
    }
    result<void> sample(const tokens_of_word& tokens, word_row& row, topic_totals& totals,
                        random_stream& random) override {
        return sampler_.sample(tokens, row, order_, totals, random);
    }
    std::int32_t count(std::size_t document, std::uint32_t topic) const override {
        return static_cast<std::int32_t>(order_.count(document, topic, topic).first);
    }
    double likelihood(const log_gamma_ratio& alpha,
                      const log_gamma_ratio& alpha_topics) const override {
        return order_.likelihood(topics_, alpha, alpha_topics);
    }
    void save(scheduled::state_writer&) const override {} // all of it follows
    result<void> load(const scheduled::saved_part&, const word_tokens& tokens) override {
        for (std::uint64_t i = 0; i < tokens.tokens(); ++i)
            order_.set(static_cast<std::size_t>(tokens.documents()[i]), order_.place(i),
                       tokens.topics()[i]);
        return {};
    }

  private:
    std::uint32_t topics_;
    document_order order_;
    metropolis_sampler sampler_;
};

} // namespace

result<std::unique_ptr<sampled_documents>>
sampled_documents_of(memory_pool& memory, const lda_settings& settings, const word_tokens& tokens) {
    if (settings.sampler == sampler_kind::metropolis) {
        auto order = document_order::make(memory, tokens, settings.topics);
        if (!order)
            return order.failure();
        return std::unique_ptr<sampled_documents>{
            std::make_unique<metropolis_documents>(settings, std::move(*order))};
    }
    return settings.topics <= limits::dense_topics_max
               ? exact_documents_of<document_counts>(memory, settings, tokens)
               : exact_documents_of<document_topics>(memory, settings, tokens);
}

} // namespace troupe::lda
