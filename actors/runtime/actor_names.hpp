// The names of actors as people see them: ROLE, or RUN/ROLE for an actor of a run, such as "5c6879d3/stage-0". Two runs on
// a cluster have actors of the same roles, and never of the same names.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

// The number of a run as it is shown: at least 8 hexadecimal digits. `run` is not 0.
std::string run_text(std::uint64_t run);

// Reads what run_text writes, with or without "0x" before it; none where it is no such number, or 0.
std::optional<std::uint64_t> read_run(std::string_view text);

// The name of an actor of this run.
std::string name_in_run(std::uint64_t run, std::string_view role);

// The name without its run: "stage-0".
std::string_view role_part(std::string_view name);

// Returns whether a person who says `said` means the actor of this name: by its name, or by its role alone.
bool is_called(std::string_view name, std::string_view said);

} // namespace troupe
