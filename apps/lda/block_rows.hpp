// The block of words that passes from worker to worker, as two tensors:
//
//     0  starts   int64, words of the block + 1: where the row of each begins in 1
//     1  rows     int32: counts of topics, in the order of the words
//
// A row that is as long as there are topics has a count for each of them; a shorter one has pairs of a topic and its count,
// which are not 0, in no order. A row has the shorter of the two forms.
//
// Threads: values. Errors: errc::protocol for what is no such block.
#pragma once

#include "actors/scheduled/program.hpp"
#include "apps/lda/word_row.hpp"

namespace troupe::lda {

class block_reader {
  public:
    static result<block_reader> open(const scheduled::payload& block, std::uint64_t words);

    std::size_t words() const noexcept { return starts_.size() - 1; }
    std::span<const std::int32_t> row(std::size_t word) const noexcept {
        return rows_.subspan(static_cast<std::size_t>(starts_[word]),
                             static_cast<std::size_t>(starts_[word + 1] - starts_[word]));
    }

  private:
    std::span<const std::int64_t> starts_;
    std::span<const std::int32_t> rows_;
};

class block_writer {
  public:
    // Appends a row, which is empty afterwards; visit(topic, count) is called for the counts that are not 0.
    template <class Visit>
    void append(word_row& row, Visit visit) {
        row.pack(rows_, visit);
        starts_.push_back(static_cast<std::int64_t>(rows_.size()));
    }
    std::size_t numbers() const noexcept { return rows_.size(); }
    // errc::usage for a block that is too large to be sent.
    result<scheduled::payload> finish(memory_pool& memory) const;

  private:
    std::vector<std::int64_t> starts_{0};
    std::vector<std::int32_t> rows_;
};

// A block without tokens.
result<scheduled::payload> empty_block(memory_pool& memory, std::uint64_t words);

} // namespace troupe::lda
