// Identities that all processes of a test or a benchmark know by their numbers.
#pragma once

#include <cstring>

#include "transport/handshake/identity.hpp"

namespace troupe::test {

inline node_identity numbered_identity(std::uint64_t number) {
    random_token seed{};
    std::memcpy(seed.data(), &number, sizeof number);
    return node_identity{seed};
}

} // namespace troupe::test
