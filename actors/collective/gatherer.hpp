// One rank of an all-reduce of compressed gradients by all-gather: each rank's payloads go to all others, and every rank
// decodes and sums them in the order of the ranks, so that all end with the same bits; with factors, which each rank
// multiplies itself, only on processors of one kind. For payloads that cannot be summed on the way, and where all-gather is
// the fastest way (compressed_sum.hpp).
//
// Payloads are summed as soon as those of all ranks are there.
#pragma once

#include <map>

#include "actors/collective/payload_reducer.hpp"

namespace troupe {

class gatherer final : public payload_reducer {
  public:
    // At least one tensor has a form.
    gatherer(actor_context& context, compressed_options options);

  private:
    using part_key = std::pair<std::uint64_t, std::uint32_t>; // reduction, rank

    void begin() override;
    result<void> submit_payloads(std::size_t first, std::span<const tensor> payloads) override;
    result<void> submit_zeros() override;
    result<void> arrive_payloads(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                 std::size_t first, std::span<const tensor> payloads) override;
    void go_on() override;

    void send_to_all(std::size_t first, std::span<const tensor> payloads);
    result<void> keep(part_key whose, std::size_t first, std::span<const tensor> payloads);
    void sum_from(std::size_t first);

    std::map<part_key, payload_arrivals> parts_;
    std::vector<tensor> sums_;    // of the reduction under way, by number of the payload
    std::size_t summed_from_ = 0; // sums from this number on are there
};

} // namespace troupe
