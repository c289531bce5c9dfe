// What other programs (PyTorch, DeepSpeed, Transformers) call what app files name otherwise. Words are compared in small
// letters, without spaces, "-" and "_", and from their last dot on: "torch.float16", "Mixed precision". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::app_file {

// The key that sets what this word stands for, "model.precision" for "GradScaler"; empty if none is known.
std::string_view key_for(std::string_view word);

// What to say about a word that is none of the candidates: the one of another name for it, what to write in its place, or
// suggestion() (schemas/base/nearest.hpp).
std::string hint(std::string_view wrong, const std::vector<std::string>& candidates);
// The same of a key, which key_for() may know.
std::string key_hint(std::string_view wrong, const std::vector<std::string>& candidates);

} // namespace troupe::app_file
