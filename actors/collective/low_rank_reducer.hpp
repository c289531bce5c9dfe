// One rank of an all-reduce of gradients that a codec sends as products P' Q of thin matrices: all P are summed, and made
// orthonormal by every rank; then all Q are summed. Running averages and gradients that are not compressed are in the first
// sum. Both sums are one dense all-reduce, whose last slices wait for the others (reduction.hpp). Its messages are those of
// a reducer. Source: PowerSGD, Vogels, Karimireddy and Jaggi 2019.
//
// A rank without gradients adds zeros, and keeps the errors of its encoding for the next sum.
#pragma once

#include "actors/collective/compressed_reducer.hpp"
#include "actors/collective/compressed_sum.hpp"
#include "actors/collective/reduction_rounds.hpp"

namespace troupe {

class low_rank_reducer final : public compressed_reducer {
  public:
    // The codec has low_rank().
    low_rank_reducer(actor_context& context, compressed_options options);

  private:
    void joined() override;
    void accept(std::size_t first, std::vector<tensor> submitted) override;
    void begin(std::vector<tensor> own);
    result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                        const frame& f) override;
    void go_on();
    void step();
    void make_rights();
    void multiply();

    low_rank_layout layout_;
    std::optional<reduction_rounds> rounds_; // with the other ranks
    bool has_own_ = false;                   // gradients in the reduction under way; else zeros
    bool are_rights_submitted_ = false;
    // The codec's state, by tensor; and the bases of the sums, by number of Q. Both are used by the device.
    std::shared_ptr<std::vector<std::vector<tensor>>> state_ =
        std::make_shared<std::vector<std::vector<tensor>>>();
    std::shared_ptr<std::vector<tensor>> bases_;
};

} // namespace troupe
