// The request that a cache has sent to all shards of its server, and their answers so far; one request at a time.
//
// Errors: errc::protocol for an answer that does not match the request or the shard's tensors.
// Threads: its actor's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/codec/number_form.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/base/ids.hpp"
#include "transport/frame/frame.hpp"

namespace troupe {

// Range of a stage's parameters that a shard keeps: from `first` up to, not including, `first + count`.
struct shard_range {
    std::size_t first = 0;
    std::size_t count = 0;
};

struct shard_question {
    std::uint64_t answer = 0; // message type of the answers
    std::uint64_t echo = 0;   // clock or epoch that they repeat
    std::size_t kinds = 0;    // tensors per parameter: itself and its optimizer state
    std::uint64_t minibatch = none;
};

// Layout of a server's weights by shard, and their form in answers.
struct answer_layout {
    std::vector<tensor_shape> shapes; // one per parameter of the stage
    std::vector<shard_range> ranges;
    std::size_t state_per_parameter = 0;
    number_form_ptr pulls; // number form of Pulled; null: float32
};

class shard_answers {
  public:
    explicit shard_answers(answer_layout layout);

    void ask(const shard_question& question);
    void end(); // forgets the request and its answers
    const std::optional<shard_question>& asked() const noexcept { return asked_; }

    result<void> take(std::size_t shard, std::uint64_t echo, frame_ptr answer);
    bool are_complete() const noexcept { return missing_ == 0; }
    // If this shard's Pulled of this clock is here while others are still awaited, drops it and returns true.
    bool drop(std::size_t shard, std::uint64_t clock);

    // ---- when they are complete ----
    const std::vector<frame_ptr>& by_shard() const noexcept { return answers_; }
    std::vector<tensor> parameters() const; // in order, in the form sent
    std::vector<tensor> state() const;      // optimizer state, in the parameters' order

  private:
    result<void> check(std::size_t shard, std::uint64_t echo, const frame& f) const;

    answer_layout layout_;
    std::optional<shard_question> asked_;
    std::vector<frame_ptr> answers_; // by shard
    std::size_t missing_ = 0;
};

} // namespace troupe
