// The messages of schemas/handshake.capnp as values, with writer and checking reader.
//
// Threads: pure functions. Errors: errc::protocol, errc::refused for another version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "transport/endpoint.hpp"
#include "transport/handshake/handshake.hpp"
#include "transport/handshake/identity.hpp"

namespace troupe {

// The part of UCX's version that must be equal on both sides.
struct ucx_version {
    std::uint16_t major = 0, minor = 0;

    friend bool operator==(const ucx_version&, const ucx_version&) noexcept = default;
};

// The mark by which another process checks that it shares memory with the sender (transport/node/memory_mark.hpp).
struct memory_mark {
    std::uint32_t process = 0;
    std::uint32_t descriptor = 0;
    random_token token{};

    friend bool operator==(const memory_mark&, const memory_mark&) noexcept = default;
};

struct hello_message {
    peer_info self; // without the node's id, which its identity gives (admission.hpp)
    identity_proof identity;
    std::optional<memory_mark> memory; // none: it uses no shared memory
    bool rdma = false;
    bool tcp = false;
    ucx_version ucx;
    bool seals = false; // frames over TCP
    bool plain = false; // never
};
// A hash of all that the addresses of two UCX workers over shared memory have in common if UCX connects them; zero: not
// known.
using worker_kind = std::array<std::byte, 32>;

struct sight_message {
    bool memory = false;
    worker_kind kind{}; // of the sender's worker for this pair
};
struct worker_message {
    std::vector<std::byte> address;
};
enum class verdict_message : std::uint8_t { accepted, duplicate };
struct goodbye_message {
    std::uint64_t frames = 0;
};
struct alive_message {};
struct wired_message {};
// Concerns the second connection of a pair, which carries frames.
struct frames_message {
    wire::connection_token token;
};
struct given_up_message {
    std::string why; // printable, even if the sender is hostile
};
using control_message =
    std::variant<hello_message, sight_message, worker_message, verdict_message, goodbye_message,
                 alive_message, wired_message, given_up_message, frames_message>;

std::vector<std::byte> write_control(const control_message& message);
result<control_message> read_control(std::span<const std::byte> in);

} // namespace troupe
