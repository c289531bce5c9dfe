// One actor's state in a checkpoint of a run of a program: its file of tensors, and what the manifest lists of it. Internal
// to run_checkpoints.
//
//     {"file": "scheduler-0.safetensors", "sha256": ..., "names": ["b"], "lists": [{"kind": "phase", "number": 1280, ...}],
//      "milestones": 4, "end": {"number": 1278, ...}, ...}
//
// Threads: functions of files, which they block on. Errors: errc::io with the file's name; errc::data for what is not such a
// member, or damaged; errc::exhausted if memory does not suffice.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "actors/scheduled/saved_state.hpp"
#include "schemas/base/json.hpp"

namespace troupe::scheduled {

// errc::data with the checkpoint's folder.
error bad_checkpoint(const std::filesystem::path& folder, const std::string& sentence);

// "worker-0", "scheduler-1"
std::string member_name(std::size_t member, std::size_t workers);

// Writes the file into `folder`, and returns what the manifest is to say. `ended`: what a scheduler has ended with, if that
// was before; else null. What of it is as in the state is not written twice.
result<json> write_member(const std::filesystem::path& folder, const std::string& name,
                          const saved_state& state, const saved_state* ended);

struct saved_member {
    saved_state state;
    std::optional<saved_state> ended;
};
// `number`: the phase of the checkpoint.
result<saved_member> read_member(const std::filesystem::path& folder, const std::string& name,
                                 const json& map, std::uint64_t number, memory_pool& memory);

// Whether the file is as it was written. It is read, but not held.
bool is_whole_member(const std::filesystem::path& folder, const std::string& name, const json& map);

} // namespace troupe::scheduled
