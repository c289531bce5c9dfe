// Programs that users load from modules of their own (actors/scheduled/program_module.hpp). Modules are code: only the
// command line of a process names them, never an app file or a peer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"

namespace troupe::cli {

// The number that the linker has given this program; a module names the one that it was compiled for.
std::string build_of_this_program();

// These programs, and those of modules, which stay loaded until the process ends. errc::usage with the file if it is no
// module, is one of another build, or has the name of another program.
result<std::shared_ptr<const scheduled::program_table>>
programs_with(scheduled::program_table shipped, const std::vector<std::string>& modules);

} // namespace troupe::cli
