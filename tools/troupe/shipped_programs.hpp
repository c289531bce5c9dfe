// The programs of scheduled parameters that are part of troupe: each is a folder of apps/.
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::cli {

scheduled::program_table shipped_programs();

} // namespace troupe::cli
