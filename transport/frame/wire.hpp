// The wire format of a frame: constants, writer and reader, in the order of its specification, wire.md.
//
// The reader trusts nothing: every count is checked against schemas/base/limits.hpp before it is used, and unreadable input
// is errc::protocol, never a crash or an exception. A receiver reads the header first, provides memory for the rest, and
// then reads the frame in place.
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/base/limits.hpp"
#include "transport/frame/frame.hpp"

namespace troupe::wire {

inline constexpr std::uint32_t magic = 0x46505254; // "TRPF"
inline constexpr std::uint16_t version = 6;
inline constexpr std::size_t header_bytes = 64;
inline constexpr std::size_t alignment = 64; // of a tensor within the tensor section
inline constexpr std::uint64_t traversal_words_max = 8 * limits::frame_words_max;
inline constexpr int nesting_max = 32;

using connection_token = std::array<std::byte, 16>;

struct header {
    std::uint16_t tensors = 0;
    std::uint64_t words = 0;
    connection_token token{};
    std::uint64_t sequence = 0;
    std::uint64_t tensor_bytes = 0;
    place_name place;
};

constexpr std::uint64_t aligned(std::uint64_t bytes) noexcept {
    return (bytes + alignment - 1) / alignment * alignment;
}

// --- writer

// Counts words and tensors of `f`; token and sequence are left 0. errc::exhausted for a frame past a limit.
result<header> measure(const frame& f);

void write_header(const header& h, std::span<std::byte, header_bytes> out);

// Writes the segment table and the segments: exactly h.words * 8 bytes, where h is measure()'s result for `f`.
void write_words(const frame& f, std::span<std::byte> out);

// The tensor section as a list of pieces (tensors and zero padding between them), without a copy. Valid as long as the
// frame. The tensors must be in host memory.
std::vector<std::span<const std::byte>> tensor_section(const frame& f);

// The frame in one piece. For tests and simulations: real transports do not copy tensors.
result<std::vector<std::byte>> serialize(const frame& f, const header& identity = {});

// --- reader

// Reads and checks the first header_bytes of `in`.
result<header> read_header(std::span<const std::byte> in);

// The memory of the parts of a received frame.
struct parts {
    std::span<const std::byte> words; // any alignment if copied, else that of a word
    // `words` is part of `buffer`, which the frame keeps; else it is copied.
    bool words_in_buffer = false;
    // Has the tensor section; may be empty if there is none.
    buffer_ref buffer;
    std::size_t tensors_at = 0; // offset of the tensor section in `buffer`
};

// errc::protocol if the frame bears the name of a place (header::place) of another actor than the one that it is for. May
// throw kj::Exception, as reading a frame does.
result<void> check_place(place_name name, const frame& f);

// The frame that `h` describes. The tensors share `buffer`.
result<frame_ptr> read_frame(const header& h, parts received);

// Reads a frame in one piece; its tensors are copied into the pool. errc::exhausted if the pool is exhausted.
result<frame_ptr> deserialize(std::span<const std::byte> in, memory_pool& pool);

} // namespace troupe::wire
