// A set of small numbers, one bit each. A value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::lasso {

class place_set {
  public:
    bool contains(std::size_t i) const noexcept {
        return i / bits < words_.size() && (words_[i / bits] >> (i % bits) & 1) != 0;
    }
    void insert(std::size_t i) {
        if (i / bits >= words_.size())
            words_.resize(i / bits + 1);
        words_[i / bits] |= std::uint64_t{1} << (i % bits);
    }
    void erase(std::size_t i) noexcept {
        if (i / bits < words_.size())
            words_[i / bits] &= ~(std::uint64_t{1} << (i % bits));
    }
    place_set& operator|=(const place_set& other) {
        words_.resize(std::max(words_.size(), other.words_.size()));
        for (std::size_t w = 0; w < other.words_.size(); ++w)
            words_[w] |= other.words_[w];
        return *this;
    }

    // How many of these are not in the other.
    std::size_t count_without(const place_set& other) const noexcept {
        std::size_t count = 0;
        for (std::size_t w = 0; w < words_.size(); ++w)
            count += static_cast<std::size_t>(std::popcount(word_without(other, w)));
        return count;
    }
    std::vector<std::size_t> without(const place_set& other) const {
        std::vector<std::size_t> all;
        for (std::size_t w = 0; w < words_.size(); ++w)
            for (std::uint64_t rest = word_without(other, w); rest != 0; rest &= rest - 1)
                all.push_back(w * bits + static_cast<std::size_t>(std::countr_zero(rest)));
        return all;
    }

    const std::vector<std::uint64_t>& words() const noexcept { return words_; }
    static place_set of_words(std::vector<std::uint64_t> words) {
        place_set set;
        set.words_ = std::move(words);
        return set;
    }

  private:
    static constexpr std::size_t bits = 64;

    std::uint64_t word_without(const place_set& other, std::size_t w) const noexcept {
        return words_[w] & ~(w < other.words_.size() ? other.words_[w] : 0);
    }

    std::vector<std::uint64_t> words_;
};

} // namespace troupe::lasso
