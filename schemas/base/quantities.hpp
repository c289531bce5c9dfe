// Numbers in sentences for people. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

// With a decimal prefix from 10000 on: "9999 B", "12.3 kB", "45.6 GFLOP".
std::string quantity(double value, std::string_view unit);
std::string bytes_text(std::uint64_t bytes);

// With two digits: "0.012", "3.4e-06".
std::string two_digits(double value);

// "1 stage", "2 stages"; "2 passes" where `many` is given.
std::string counted(std::uint64_t n, std::string_view one, std::string_view many = {});

} // namespace troupe
