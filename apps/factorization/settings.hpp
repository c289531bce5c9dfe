// Settings of the program "factorization", as plain values.
#pragma once

#include <cstdint>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::factorization {

enum class method : std::uint8_t { sgd, coordinates };

struct factorization_settings {
    std::uint32_t rank = 40;
    method by = method::sgd;
    bool has_biases = true;
    double penalty = 0.05;
    double rate = 0.05;
    double decay = 0.1;
    std::uint32_t rankings = 0; // items per user; 0: none are written
};

// errc::protocol if it is not a FactorizationSettings.
result<factorization_settings> read_settings(capnp::AnyPointer::Reader settings);

// Checks what the schema cannot, before memory is taken.
result<void> check(const scheduled::program_site& site);

// Keys of the app file that have no effect, or are hardly intended.
std::vector<scheduled::doubtful_key> doubts(const scheduled::program_site& site);

} // namespace troupe::factorization
