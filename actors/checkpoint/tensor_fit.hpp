// How the tensors of a file differ from those of a model. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/checkpoint/safetensors.hpp"
#include "kernels/graph/weights.hpp"

namespace troupe {

// The name without the parts that PyTorch's wrappers put into names of parameters, wherever they stand: "module."
// (DataParallel and DistributedDataParallel) and "_orig_mod." (torch.compile).
std::string without_wrappers(std::string_view name);

// Lists what is missing of the wanted tensors, what there is beside them, and what has another form, as one sentence:
// a few names of each, and how many they are; empty if there is nothing. `may_have_more`: others beside them are no fault.
std::string why_not_fitting(std::span<const weights_layout::entry> wanted,
                            std::span<const named_tensor> given, bool may_have_more);

} // namespace troupe
