// Settings of the program "lda", as plain values.
#pragma once

#include <cstdint>

#include "actors/scheduled/program.hpp"
#include "apps/lda/prior.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

enum class sampler_kind : std::uint8_t { exact, metropolis };

struct lda_settings {
    std::uint32_t topics = 2;
    prior priors;
    sampler_kind sampler = sampler_kind::exact;
    std::uint32_t proposals = 1; // of metropolis, for each token
};

// errc::protocol if it is not an LdaSettings.
result<lda_settings> read_settings(capnp::AnyPointer::Reader settings);

// Checks what the schema cannot, before memory is taken.
result<void> check(const scheduled::program_site& site);

// Keys of the app file that have no effect, or are hardly intended.
std::vector<scheduled::doubtful_key> doubts(const scheduled::program_site& site);

} // namespace troupe::lda
