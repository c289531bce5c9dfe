// What a cache has asked all shards of its server, and what they have answered so far: one question at a time.
//
// Errors: errc::protocol, for an answer that is not to the question or has other tensors than the shard's.
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

// What a shard keeps of a stage's parameters: tensors first .. first + count.
struct shard_range {
    std::size_t first = 0;
    std::size_t count = 0;
};

struct shard_question {
    std::uint64_t answer = 0; // type of the answers
    std::uint64_t echo = 0;   // clock or epoch in them
    std::size_t kinds = 0;    // tensors of each parameter: itself, and what the optimizer keeps
    std::uint64_t minibatch = none;
};

// The weights of a server, by shard, and how they are sent.
struct answer_layout {
    std::vector<tensor_shape> shapes; // of all parameters
    std::vector<shard_range> ranges;
    std::size_t state_per_parameter = 0;
    number_form_ptr pulls; // of what Pulled has; null: as they are
};

class shard_answers {
  public:
    explicit shard_answers(answer_layout layout);

    void ask(const shard_question& question);
    void end(); // of the question
    const std::optional<shard_question>& asked() const noexcept { return asked_; }

    result<void> take(std::size_t shard, std::uint64_t echo, frame_ptr answer);
    bool are_complete() const noexcept { return missing_ == 0; }
    // Forgets a shard's Pulled with this clock and says true, if it is here while others are still awaited.
    bool drop(std::size_t shard, std::uint64_t clock);

    // ---- when they are complete ----
    const std::vector<frame_ptr>& by_shard() const noexcept { return answers_; }
    std::vector<tensor> parameters() const; // in their order, as they were sent
    std::vector<tensor> state() const;      // what the optimizer keeps of them

  private:
    result<void> check(std::size_t shard, std::uint64_t echo, const frame& f) const;

    answer_layout layout_;
    std::optional<shard_question> asked_;
    std::vector<frame_ptr> answers_; // by shard
    std::size_t missing_ = 0;
};

} // namespace troupe
