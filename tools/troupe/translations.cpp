#include "tools/troupe/translations.hpp"

#include <algorithm>

#include "kernels/graph/model_graph.hpp"
#include "tools/troupe/signals.hpp"

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

// The part of a model's weights that these layers have, behind those of the layers before.
weights weights_of(const stage_program& program, const weights& w, const stage_program* before) {
    const auto taken = [](const std::vector<tensor>& from, std::size_t first, std::size_t count) {
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector<tensor>{begin, begin + static_cast<std::ptrdiff_t>(count)};
    };
    weights own{.version = w.version};
    own.parameters =
        taken(w.parameters, before ? before->parameters().size() : 0, program.parameters().size());
    own.averages =
        taken(w.averages, before ? before->averages().size() : 0, program.averages().size());
    return own;
}

} // namespace

result<translator> translator::open(const training_app& app, const saved_weights& saved) {
    auto codec = sentence_codec::open(app.app().getData().getTranslation());
    if (!codec)
        return app.at_its_place(codec.failure());
    if (auto same = check_vocabulary(app, codec->vocabulary_sha256(), saved); !same)
        return same.failure();
    const auto model = app.app().getModel();
    // The layers that are computed once: the one that cuts the source out of the row, and the encoder.
    const std::size_t read_once =
        1 + count_nodes(model.getLayers()[0].getEncoderDecoder().getEncoder());
    const layer_range parts[] = {{0, read_once}, {read_once, count_layers(model) - read_once}};
    auto programs = stage_program::create(model, parts).value();
    weights encoder = weights_of(programs[0], *saved.weights, nullptr);
    weights decoder = weights_of(programs[1], *saved.weights, &programs[0]);
    return translator{std::move(*codec),
                      {std::move(programs[0]), std::move(encoder)},
                      {std::move(programs[1]), std::move(decoder)}};
}

result<tensor> translator::translate(compute_context& context, tensor rows) const {
    auto targets =
        tensor::allocate(context.memory, data_type::int32, {rows.shape()[0], target_length()});
    if (!targets)
        return targets;
    growing_targets growing{codec_, rows, *targets};
    const auto encoded = encoder_.program.forward(context, encoder_.w, {}, {rows});
    if (!encoded)
        return encoded.failure();
    for (std::size_t position = 0;; ++position) {
        if (stop_signals() > 0)
            return error{errc::cancelled, "stopped after " + std::to_string(position) + " of " +
                                              std::to_string(target_length()) +
                                              " positions of a translation"};
        std::vector<tensor> read = encoded->outputs;
        read[0] = rows;
        auto forward = decoder_.program.forward(context, decoder_.w, {}, std::move(read));
        if (!forward)
            return forward.failure();
        if (!growing.grow(position, forward->outputs[0]))
            return targets;
    }
}

} // namespace troupe::cli
