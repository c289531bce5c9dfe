// The words of other programs for what app files name otherwise: a kind of job has a table of them. Words are compared in
// small letters, without spaces, "-" and "_", and from their last dot on: "torch.float16", "Mixed precision". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "actors/app_file/app_kind.hpp"

namespace troupe::app_file {

// The key that sets what this word stands for, "model.precision" for "GradScaler"; empty if none is known.
std::string_view key_for(const app_words& words, std::string_view word);

// Advice about a word that is none of the candidates: the candidate that it is another name of, a sentence, or suggestion()
// (schemas/base/nearest.hpp).
std::string hint(const app_words& words, std::string_view wrong,
                 const std::vector<std::string>& candidates);
// The same of a key, which key_for() may know.
std::string key_hint(const app_words& words, std::string_view wrong,
                     const std::vector<std::string>& candidates);

} // namespace troupe::app_file
