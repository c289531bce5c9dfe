// Whether a model makes text, by its data and its shapes.
#pragma once

#include "actors/training/plan/training_app.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe::cli {

inline constexpr std::size_t byte_values = 256; // tokens of a model that writes on

enum class text_use {
    writes_on, // bytes, each behind those before it
    translates // sentences of data.translation
};

// Of the app's model, which `program` is the whole of. errc::usage with the place in the app file for one that makes no
// text, or that has learned with the text that it would have to make before its eyes.
result<text_use> text_use_of(const training_app& app, const stage_program& program);

} // namespace troupe::cli
