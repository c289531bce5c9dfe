// Inputs for readers, made of sound ones without knowing what these are.
#pragma once

#include <span>
#include <string>

#include "schemas/base/random.hpp"

namespace troupe::fuzz {

// One of them after none to eight edits: bits, bytes, numbers and lengths at their bounds, pieces cut, repeated, and taken
// from another. The same random numbers, the same bytes.
std::string mutated(std::span<const std::string> sound, random_stream& random);

} // namespace troupe::fuzz
