// The kind of text that a model makes, by its data and its shapes.
#pragma once

#include "actors/training/plan/training_app.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe::cli {

inline constexpr std::size_t byte_values = 256; // number of tokens of a model that continues text

enum class text_use {
    writes_on, // continues text, byte by byte
    translates // translates sentences of data.translation
};

// The use of the app's model, all of which is in `program`. errc::usage with the place in the app file for a model that
// makes no text, or that was trained with the text that it would have to make as its input.
result<text_use> text_use_of(const training_app& app, const stage_program& program);

} // namespace troupe::cli
