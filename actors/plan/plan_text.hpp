// Parts of what is said of a plan.
#pragma once

#include <cstdint>
#include <string>

namespace troupe {

struct plan_device;

std::string quantity(double value, const char* unit); // "9999 B", "12.3 kB", "45.6 GFLOP"
std::string bytes_text(std::uint64_t bytes);
std::string milliseconds(double ns);
std::string counted(std::uint64_t n, const std::string& noun); // "1 stage", "2 stages"
std::string where_text(const plan_device& d);                  // "node-0/cpu:0"

} // namespace troupe
