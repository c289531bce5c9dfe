// One rank of an all-reduce of compressed gradients whose payloads are sparse: they are summed by the rounds of
// sparse_reduce.hpp. sparse_sum.hpp describes the contents of messages; this actor pairs messages with both.
//
// One piece of work on the device sums all messages that have arrived, and makes the parts that can be sent then.
#pragma once

#include <map>

#include "actors/collective/compressed_reducer.hpp"
#include "actors/collective/sparse_sum.hpp"

namespace troupe {

class sparse_reducer final : public compressed_reducer {
  public:
    sparse_reducer(actor_context& context, compressed_options options, sparse_algorithm algorithm);

  private:
    using chunk_key = std::pair<std::uint64_t, std::uint32_t>; // reduction, round

    // The state of the reduction under way that the device works on.
    struct running_sum {
        std::shared_ptr<std::vector<float>> lost;
        std::optional<sparse_sum> numbers;
        std::vector<sparse_sum::outgoing> to_send;
        std::vector<tensor> sums; // when it is done
    };

    void joined() override;
    void accept(std::size_t first, std::vector<tensor> submitted) override;
    void begin(std::vector<tensor> own);
    result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                        const frame& f) override;
    void go_on();
    void send_on();

    sparse_algorithm algorithm_;
    std::shared_ptr<const sparse_plan> plan_;
    std::shared_ptr<running_sum> sum_;         // used by the device alone while it computes
    std::shared_ptr<std::vector<float>> lost_; // rounding errors, likewise; kept from sum to sum
    std::size_t given_ = 0;                    // transfers whose parts the device has
    std::map<chunk_key, std::vector<tensor>> arrived_;
};

} // namespace troupe
