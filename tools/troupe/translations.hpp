// What a trained model makes of sentences, token by token.
#pragma once

#include "actors/data/translation.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe::cli {

// The targets (samples, length of a target) that the model gives for the sources of these rows, int32, of
// (samples, source_length + length of a target): at every position the likeliest token behind its own before it, up to the
// end of the sentence, and padding behind that. Of the rows' own targets it sees nothing: they are overwritten, so that
// nobody else may hold the rows.
result<tensor> translate(compute_context& context, const stage_program& program, const weights& w,
                         const sentence_codec& codec, tensor rows);

} // namespace troupe::cli
