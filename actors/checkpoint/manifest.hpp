// The JSON manifest next to a checkpoint's files. Internal to checkpoints.
#pragma once

#include <string>
#include <string_view>

#include "actors/checkpoint/checkpoint_store.hpp"

namespace troupe {

inline constexpr const char* manifest_name = "manifest.json";

std::string stage_file_name(std::size_t stage, std::size_t stages); // "stage-0-of-2.safetensors"

std::string manifest_json(const checkpoint_progress& progress,
                          std::span<const checkpoint_stage> stages);

// Checks everything that a manifest states by itself: format, names, layers without gaps, digits of hashes. The error's
// message does not have the file's name yet.
result<checkpoint_info> parse_manifest(std::string_view json);

// True if the stages cover the layers from 0 on without gaps.
bool stages_are_contiguous(std::span<const checkpoint_stage> stages);

} // namespace troupe
