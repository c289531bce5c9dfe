// A program for tests of the actors that run programs, whose variables rotate: every number of blocks, workers and scheduler
// depends on the order of everything before it, and a block knows how often it has been computed with. It takes the data and
// the settings of chain.hpp, and writes all of its numbers into "ring.bin".
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::test {

scheduled::program ring_program();

// The bytes that it writes.
std::string ring_bytes(const scheduled::ended_run& run);

} // namespace troupe::test
