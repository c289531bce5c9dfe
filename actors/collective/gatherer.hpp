// One rank of an all-reduce of compressed gradients: each rank's payloads go to all others, and everyone decodes and sums
// them in the order of the ranks, so that all end with the same bits; of factors on like processors, as each multiplies them
// itself. For payloads that cannot be summed on their way, and where that is the fastest (compressed_exchange.hpp).
//
// Payloads go out as the stage gives them, the last tensors first, and are summed as soon as all ranks' are here: so most of
// them are on their way while the backward pass runs. Tensors without a form are summed as a reducer does, in slices of
// their own.
#pragma once

#include <map>

#include "actors/collective/compressed_reducer.hpp"
#include "actors/collective/reduction_rounds.hpp"

namespace troupe {

class gatherer final : public compressed_reducer {
  public:
    // At least one tensor has a form.
    gatherer(actor_context& context, compressed_options options);

  private:
    using part_key = std::pair<std::uint64_t, std::uint32_t>; // reduction, rank

    // What is here of a rank's payloads.
    struct rank_part {
        std::vector<tensor> payloads; // by number among gathered_; let go of when summed
        std::size_t from;             // from this number on
        bool has_zeros = false;       // it has nothing to add
    };

    void joined() override;
    void take(std::size_t first, std::vector<tensor> given) override;
    result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                        const frame& f) override;

    result<void> give(std::size_t first, std::vector<tensor> given);
    result<void> keep(part_key whose, std::size_t first, std::span<const tensor> payloads);
    void step();
    void sum_from(std::size_t first);
    void finish_all();

    std::vector<std::size_t> gathered_, dense_; // numbers of tensors, with a form and without
    std::optional<reduction_rounds> rounds_;    // of the dense ones
    std::map<part_key, rank_part> parts_;
    std::vector<tensor> sums_;    // of the reduction under way, by number among gathered_
    std::size_t summed_from_ = 0; // from this number on
};

} // namespace troupe
