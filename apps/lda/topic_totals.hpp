// How many tokens each topic has in the whole run, as far as a worker knows: what the scheduler has told, and what this
// worker has changed and the scheduler has not told yet.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::lda {

class topic_totals {
  public:
    // `beta_words`: beta times the words of the vocabulary.
    topic_totals(std::uint32_t topics, double beta_words)
        : beta_words_{static_cast<float>(beta_words)}, counts_(topics),
          inverses_(topics, 1 / beta_words_) {}

    // May be below 0 while the changes of others are under way.
    std::span<const std::int64_t> counts() const noexcept { return counts_; }
    // 1 / (count + beta V), where a count below 0 is taken as 0.
    std::span<const float> inverses() const noexcept { return inverses_; }

    float inverse_with(std::uint32_t topic, std::int64_t change) const noexcept {
        const std::int64_t count = counts_[topic] + change;
        return 1 / (static_cast<float>(count < 0 ? 0 : count) + beta_words_);
    }
    void change(std::uint32_t topic, std::int64_t by) noexcept {
        inverses_[topic] = inverse_with(topic, by);
        counts_[topic] += by;
    }
    // For loops that change them as `change` does.
    struct raw_totals {
        std::int64_t* counts;
        float* inverses;
        float beta_words;
    };
    raw_totals raw() noexcept { return {counts_.data(), inverses_.data(), beta_words_}; }
    void assign(std::span<const std::int64_t> counts) {
        for (std::uint32_t k = 0; k < counts_.size(); ++k)
            change(k, counts[k] - counts_[k]);
    }

  private:
    float beta_words_;
    std::vector<std::int64_t> counts_;
    std::vector<float> inverses_;
};

} // namespace troupe::lda
