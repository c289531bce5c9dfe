#include "tools/troupe/translations.hpp"

#include <algorithm>

namespace troupe::cli {

namespace {

// Targets that grow by a token at a time, in the rows that the model reads and beside them.
class growing_targets {
  public:
    growing_targets(const sentence_codec& codec, tensor& rows, tensor& targets)
        : codec_{codec}, rows_{rows.mutable_values<std::int32_t>()},
          targets_{targets.mutable_values<std::int32_t>()}, width_{rows.shape()[1]},
          length_{targets.shape()[1]}, ended_(rows.shape()[0]) {
        std::ranges::fill(targets_, subwords::padding);
        for (std::size_t s = 0; s < ended_.size(); ++s) {
            const auto target = rows_.subspan(s * width_ + width_ - length_, length_);
            std::ranges::fill(target, subwords::padding);
            target[0] = codec_.begin();
        }
    }

    // logits: (samples, length of a target, tokens). Whether a sentence goes on behind this position.
    bool grow(std::size_t position, const tensor& logits) {
        const std::size_t tokens = logits.shape()[2];
        for (std::size_t s = 0; s < ended_.size(); ++s) {
            if (ended_[s])
                continue;
            const auto scores =
                logits.values<float>().subspan((s * length_ + position) * tokens, tokens);
            const auto token =
                static_cast<std::int32_t>(std::ranges::max_element(scores) - scores.begin());
            targets_[s * length_ + position] = token;
            ended_[s] = token == codec_.end() || position + 1 == length_;
            if (!ended_[s])
                rows_[(s + 1) * width_ - length_ + position + 1] = token;
        }
        return std::ranges::count(ended_, false) > 0;
    }

  private:
    const sentence_codec& codec_;
    std::span<std::int32_t> rows_;
    std::span<std::int32_t> targets_;
    std::size_t width_;
    std::size_t length_;
    std::vector<bool> ended_;
};

} // namespace

result<tensor> translate(compute_context& context, const stage_program& program, const weights& w,
                         const sentence_codec& codec, tensor rows) {
    auto targets = tensor::allocate(context.memory, data_type::int32,
                                    {rows.shape()[0], rows.shape()[1] - codec.source_length()});
    if (!targets)
        return targets;
    growing_targets growing{codec, rows, *targets};
    for (std::size_t position = 0;; ++position) {
        auto forward = program.forward(context, w, {}, {rows});
        if (!forward)
            return forward.failure();
        if (!growing.grow(position, forward->outputs[0]))
            return targets;
    }
}

} // namespace troupe::cli
