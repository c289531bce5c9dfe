// Seals and opens the records of one direction of a connection by AES-256-GCM (NIST SP 800-38D; the implementation is
// OpenSSL's). A record is its head, the sealed text and the tag; the head is not sealed, but proven with the text:
//
//     length 4, little-endian: of the text, 1 to record_text_max; the highest bit says that a new key begins here
//     text, sealed
//     tag 16
//
// The number of a record, 0, 1, 2, ..., is its nonce, and goes on from key to key, so that a record that is changed,
// repeated, left out or moved is not opened. The next key is BLAKE2b-256 of "troupe next key", keyed by the one before,
// which is wiped.
//
// Threads: one at a time per object. Errors: errc::protocol for bytes that are not the other side's next record.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "schemas/base/error.hpp"
#include "transport/handshake/noise.hpp"

struct evp_cipher_ctx_st; // OpenSSL's

namespace troupe {

inline constexpr std::size_t record_head_bytes = 4;
inline constexpr std::size_t record_tag_bytes = 16;
inline constexpr std::size_t record_text_max = 64u << 10;
inline constexpr std::size_t record_bytes_max =
    record_head_bytes + record_text_max + record_tag_bytes;

enum class cipher_direction : std::uint8_t { sealing, opening };

class record_cipher {
  public:
    record_cipher(cipher_direction direction, const secret_key& key);
    ~record_cipher();
    record_cipher(const record_cipher&) = delete;
    record_cipher& operator=(const record_cipher&) = delete;

    // Records under the present key.
    std::uint64_t records() const noexcept { return number_ - key_began_; }

    // Writes the next record, whose text are these pieces, 1 to record_text_max bytes; returns its bytes. `begins_key`: it
    // is the first under the next key.
    std::size_t seal(std::span<const iovec> text, bool begins_key, std::byte* out);

    // The number of bytes of the text of the record with this head.
    static result<std::size_t> text_bytes(std::span<const std::byte, record_head_bytes> head);
    // Opens the next record, a whole one, into these places, which have exactly as many bytes as its text. After an error
    // what lies there is of no meaning.
    result<void> open(std::span<const std::byte> record, std::span<const iovec> places);

  private:
    struct context_deleter {
        void operator()(evp_cipher_ctx_st* c) const;
    };

    void begin_key(); // key_ is set
    void next_key();
    void begin_record(std::span<const std::byte> head);

    cipher_direction direction_;
    secret_key key_;
    std::uint64_t number_ = 0;    // of the next record
    std::uint64_t key_began_ = 0; // number of its first record
    std::unique_ptr<evp_cipher_ctx_st, context_deleter> context_;
};

} // namespace troupe
