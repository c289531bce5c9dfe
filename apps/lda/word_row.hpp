// The counts of one word: how many of its tokens, in all documents of the run, have each topic.
//
// A row of a block (block_rows.hpp) is spread over all topics while the word is sampled, and packed again afterwards.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe::lda {

class word_row {
  public:
    explicit word_row(std::uint32_t topics) : counts_(topics) {}

    std::span<const std::int32_t> counts() const noexcept { return counts_; }
    std::uint32_t nonzeros() const noexcept { return nonzeros_; }
    // All topics whose count is not 0, some of them more than once, and some others.
    std::span<const std::uint32_t> touched() const noexcept { return touched_; }

    void add(std::uint32_t topic) {
        if (counts_[topic]++ == 0) {
            ++nonzeros_;
            touched_.push_back(topic);
        }
    }
    // False, and nothing is changed, if there are none.
    bool remove(std::uint32_t topic) noexcept {
        if (counts_[topic] <= 0)
            return false;
        if (--counts_[topic] == 0)
            --nonzeros_;
        return true;
    }

    // For loops that change the counts as add and remove do, of at most `tokens` tokens: they write to `touched` each topic
    // that has its first token, and add to `nonzeros`. end_changes takes both back, before anything else is done.
    struct changed_row {
        std::int32_t* counts;
        std::uint32_t* touched;
        std::int64_t nonzeros;
    };
    changed_row begin_changes(std::size_t tokens) {
        const std::size_t so_far = touched_.size();
        touched_.resize(so_far + tokens + 1); // the loops write one more, which does not count
        return {counts_.data(), touched_.data() + so_far, nonzeros_};
    }
    void end_changes(const std::uint32_t* touched, std::int64_t nonzeros) {
        touched_.resize(static_cast<std::size_t>(touched - touched_.data()));
        nonzeros_ = static_cast<std::uint32_t>(nonzeros);
    }

    // Takes a packed row; this one must be empty. errc::protocol for what is none, and this one is empty then.
    result<void> unpack(std::span<const std::int32_t> packed);

    // Appends the packed row to `to`, and is empty afterwards. Calls visit(topic, count) for each count that is not 0.
    template <class Visit>
    void pack(std::vector<std::int32_t>& to, Visit visit) {
        const auto topics = static_cast<std::uint32_t>(counts_.size());
        if (is_packed_dense(nonzeros_, topics)) {
            to.insert(to.end(), counts_.begin(), counts_.end());
            for (std::uint32_t k = 0; k < topics; ++k) {
                if (counts_[k] != 0)
                    visit(k, counts_[k]);
                counts_[k] = 0;
            }
        } else {
            for (const std::uint32_t k : touched_) {
                if (counts_[k] == 0)
                    continue;
                visit(k, counts_[k]);
                to.push_back(static_cast<std::int32_t>(k));
                to.push_back(counts_[k]);
                counts_[k] = 0;
            }
        }
        touched_.clear();
        nonzeros_ = 0;
    }
    static bool is_packed_dense(std::uint64_t nonzeros, std::uint32_t topics) noexcept {
        return 2 * nonzeros >= topics;
    }

  private:
    void clear();

    std::vector<std::int32_t> counts_;
    std::vector<std::uint32_t> touched_;
    std::uint32_t nonzeros_ = 0;
};

} // namespace troupe::lda
