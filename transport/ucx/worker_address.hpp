// The address of a UCX worker over shared memory, as far as a node looks into a peer's before UCX does: UCX 1.13 takes every
// byte of it for granted, and ends the process over some (README.md). Pure functions.
//
// Errors: errc::refused, with what is wrong in a part of a sentence: "it ends within a device".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

// The checksums of names by which addresses name UCX's transports within a machine.
enum class memory_transport : std::uint16_t {
    self = 0x7563,
    sysv = 0x538d,
    posix = 0xd3a7,
    cma = 0x8b47,
};

// Spans of the bytes that it was read from.
struct worker_address {
    struct transport {
        memory_transport name;
        std::byte domain;      // the number of its domain of memory, and what UCX can do with that
        std::byte device_form; // which optional parts the device has, and the length of its address
        std::span<const std::byte> device;
        std::span<const std::byte> traits;  // what the transport can do, at which cost
        std::span<const std::byte> segment; // where the worker's memory is, or its process
    };

    std::span<const std::byte> worker; // its random id
    std::vector<transport> transports;
};

// Takes the format "v1" without optional parts, to the last byte.
result<worker_address> read_worker_address(std::span<const std::byte> bytes);

// Refuses a worker that is ours, has other transports, or says anything else of them but where its own memory is: with
// others, or with costs that differ from those in the peer's messages later, UCX 1.13 aborts.
result<void> check_alike(const worker_address& theirs, const worker_address& ours);

} // namespace troupe
