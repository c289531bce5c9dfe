// Payloads as another build, or somebody else, might send them: what a program is given in a run, broken in many ways. The
// contract is actors/scheduled/program.hpp: errc::protocol, and never a crash.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"

namespace troupe::test {

struct attacks {
    std::uint64_t seed = 1;
    std::vector<std::string> ignored = {}; // as program_case has it
    std::uint64_t tried = 0;
    std::uint64_t refused = 0;
    std::vector<std::string> wrongs = {}; // sentences: what was refused as something else
    // What was broken, and how often it was refused: 0 if never, though whoever looks at it sees it.
    std::map<std::string, std::uint64_t> seen = {};
};

// The same program, whose parts, before each of many calls, hand copies of themselves the same call with broken payloads.
// `on` must outlive all that comes of it.
scheduled::program under_attack(const scheduled::program& what, attacks& on);

} // namespace troupe::test
