// A check of what the address of a worker names on this machine: segments of shared memory, and the process that they are
// of. UCX maps what is named, and writes there as far as its own settings let a segment reach.
#pragma once

#include "transport/handshake/control.hpp"
#include "transport/ucx/worker_address.hpp"

namespace troupe {

// Refuses what is not there, not of this process and of this user, or not of the kind and size of what `ours` names, an
// address that is alike (check_alike). `process` is the peer's, by its memory mark. Nothing is opened. Errors:
// errc::refused, with what is wrong in a part of a sentence.
result<void> check_memory(const worker_address& theirs, const worker_address& ours,
                          std::uint32_t process);

// The kind of a worker of this process, by its address: two workers whose kinds differ refuse each other (check_alike,
// check_memory).
worker_kind kind_of(const worker_address& own);

} // namespace troupe
