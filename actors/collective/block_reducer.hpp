// One rank of an all-reduce of compressed gradients by blocks (block_layout.hpp): it cuts its payloads into blocks, gives
// each owner its blocks, sums its own blocks in the order of the ranks, encodes the sums and sends them to all. Every rank,
// also the owner, decodes the encoded sums: so all end with the same bits.
//
// With a codec that has error feedback an owner adds the error of a sum's encoding to the next sum of the same block; it
// draws random numbers as one more sender. These errors are in no checkpoint, like those that its stage keeps.
//
// A block is summed as soon as its payloads of all ranks are there. Source: 1-bit stochastic gradient descent, Seide, Fu,
// Droppo, Li and Yu 2014.
#pragma once

#include <map>

#include "actors/collective/block_layout.hpp"
#include "actors/collective/payload_reducer.hpp"

namespace troupe {

class block_reducer final : public payload_reducer {
  public:
    // The codec has blocks(), and all tensors but the averages have its form.
    block_reducer(actor_context& context, compressed_options options);

  private:
    using part_key = std::pair<std::uint64_t, std::uint32_t>; // reduction, rank

    // The sums of an owner that have arrived in the reduction under way.
    struct owner_sums {
        payload_arrivals encoded;
        std::size_t decoded_from; // the owner's blocks from this number on are decoded
    };

    // An owner's encoded sum of a block, and the elements of the result that it is decoded to.
    struct arrived_sum {
        tensor payload, output;
    };

    void joined() override;
    void begin() override;
    result<void> submit_payloads(std::size_t first, std::span<const tensor> payloads) override;
    result<void> submit_zeros() override;
    // Appends to `parts` those of payloads first, first + 1, ... for blocks `due` of an owner.
    result<void> cut_for(std::uint32_t owner, index_range due, std::size_t first,
                         std::span<const tensor> payloads, std::vector<tensor>& parts);
    result<void> arrive_payloads(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                 std::size_t first, std::span<const tensor> payloads) override;
    void go_on() override;

    const std::vector<owned_block>& own() const { return layout_.owned[rank()]; }
    result<void> keep(part_key whose, std::size_t first, std::span<const tensor> payloads);
    result<void> keep_sums(std::uint32_t owner, std::size_t first,
                           std::span<const tensor> payloads);
    // The number from which on all ranks have submitted their own blocks.
    std::size_t submitted_by_all_from() const;
    void sum_from(std::size_t first);
    void send_sums(std::size_t first, std::span<const tensor> payloads);
    result<std::vector<arrived_sum>> take_arrived();
    void decode(std::vector<arrived_sum> arrived);

    block_layout layout_;
    std::shared_ptr<gradient_encoder> encoder_;  // of sums of own blocks; used by the device
    std::map<part_key, payload_arrivals> parts_; // payloads of own blocks
    std::size_t summed_from_ = 0;                // own blocks from this number on are summed
    std::vector<owner_sums> of_owners_;          // by rank
    std::vector<tensor> sums_; // of the reduction under way, by number of the payload
};

} // namespace troupe
