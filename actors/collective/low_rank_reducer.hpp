// One rank of an all-reduce of gradients that a codec sends as products P' Q of thin matrices: all P are summed, made
// orthonormal by every rank, and then all Q. Both sums, with the running averages and gradients that are sent as they are in
// the first, are one dense all-reduce, of whose slices the last wait for the others (reduction.hpp). Its messages are those
// of a reducer. Source: PowerSGD, Vogels, Karimireddy and Jaggi 2019.
//
// A rank without gradients adds zeros, and keeps what it has not sent yet.
#pragma once

#include "actors/collective/compressed_exchange.hpp"
#include "actors/collective/compressed_reducer.hpp"
#include "actors/collective/reduction_rounds.hpp"

namespace troupe {

class low_rank_reducer final : public compressed_reducer {
  public:
    // The codec has low_rank().
    low_rank_reducer(actor_context& context, compressed_options options);

  private:
    void joined() override;
    void take(std::size_t first, std::vector<tensor> given) override;
    void begin(std::vector<tensor> own);
    result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                        const frame& f) override;
    void go_on();
    void step();
    void make_rights();
    void multiply();

    low_rank_layout layout_;
    std::optional<reduction_rounds> rounds_; // with the peers
    bool has_own_ = false;                   // in the reduction under way; else zeros
    bool are_rights_given_ = false;
    // By tensor, what is kept beside it; by Q, the basis of its sum. Used by the device.
    std::shared_ptr<std::vector<std::vector<tensor>>> state_ =
        std::make_shared<std::vector<std::vector<tensor>>>();
    std::shared_ptr<std::vector<tensor>> bases_;
};

} // namespace troupe
