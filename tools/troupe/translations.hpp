// Translation of sentences by a trained model, token by token.
#pragma once

#include "actors/data/samples/translation.hpp"
#include "actors/training/plan/training_app.hpp"
#include "kernels/graph/stage_program.hpp"
#include "tools/troupe/saved_weights.hpp"

namespace troupe::cli {

// A model for which text_use_of says that it translates, cut behind its encoder. Threads: one at a time.
class translator {
  public:
    // errc::usage if the app's vocabulary file is not there, or is not that of the training.
    static result<translator> open(const training_app& app, const saved_weights& saved);

    const sentence_codec& codec() const noexcept { return codec_; }
    std::size_t target_length() const noexcept { return decoder_.program.labels().shape[0]; }

    // The targets (samples, target_length()) that the model gives for the sources of these rows, int32, of
    // (samples, source_length + target_length()): at every position the likeliest token after its own earlier ones, up to
    // the end of the sentence, then padding. The rows' own targets are not read but overwritten, so nobody else may hold the
    // rows. errc::cancelled after a stop signal.
    result<tensor> translate(compute_context& context, tensor rows) const;

  private:
    struct part {
        stage_program program;
        weights w;
    };

    translator(sentence_codec codec, part encoder, part decoder)
        : codec_{std::move(codec)}, encoder_{std::move(encoder)}, decoder_{std::move(decoder)} {}

    sentence_codec codec_;
    part encoder_; // its outputs include the row of tokens that it has read
    part decoder_;
};

} // namespace troupe::cli
