// Programs that users load from modules of their own (actors/scheduled/program_module.hpp). Modules are code: only the command
// line of a process names them, never an app file or a peer.
#pragma once

#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"

namespace troupe::cli {

// The number that the linker has given this program; a module names the one that it was compiled for.
std::string build_of_this_program();

// The rows of these modules, which stay loaded until the process ends. errc::usage with the file if it is no module, is one of
// another build, or has the name of a program that is in `known` or in an earlier module.
result<scheduled::program_table> open_program_modules(const std::vector<std::string>& files,
                                                      const scheduled::program_table& known);

} // namespace troupe::cli
