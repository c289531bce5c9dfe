// Numbers of a plan for people.
#pragma once

#include <cstdint>
#include <string>

namespace troupe {

std::string quantity(double value, const char* unit); // "9999 B", "12.3 kB", "45.6 GFLOP"
std::string bytes_text(std::uint64_t bytes);
std::string milliseconds(double ns);
std::string counted(std::uint64_t n, const std::string& noun); // "1 stage", "2 stages"

} // namespace troupe
