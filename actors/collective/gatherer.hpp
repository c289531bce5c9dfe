// One rank of an all-reduce of compressed gradients: each rank's payloads go to all others, and everyone decodes and sums
// them in the order of the ranks, so that all end with the same bits. For codecs whose payloads cannot be summed on their
// way, and where that is the fastest (compressed_exchange.hpp).
//
// What a rank sends, to each of the others, is the codec's payload of each gradient, and its running averages as they are.
#pragma once

#include <map>

#include "actors/collective/compressed_reducer.hpp"

namespace troupe {

class gatherer final : public compressed_reducer {
  public:
    gatherer(actor_context& context, compressed_options options);

  private:
    using part_key = std::pair<std::uint64_t, std::uint32_t>; // reduction, rank

    void joined() override;
    void begin(std::vector<tensor> own) override;
    result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                        const frame& f) override;

    void send_parts(std::vector<tensor> own);
    void sum_when_all_are_here();
    result<void> check_parts(std::span<const tensor> parts) const;

    std::shared_ptr<gradient_encoder> encoder_;     // used by the device
    std::map<part_key, std::vector<tensor>> parts_; // none: that rank has zeros to add
    bool is_summing_ = false;                       // all parts of the reduction under way
};

} // namespace troupe
