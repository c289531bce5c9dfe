#include "transport/tcp/record_cipher.hpp"

#include <openssl/evp.h>
#include <sodium.h>

#include <cstring>
#include <string>
#include <string_view>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t new_key_bit = 1u << 31;
constexpr std::size_t nonce_bytes = 12;

unsigned char* bytes_of(void* p) {
    return static_cast<unsigned char*>(p);
}
const unsigned char* bytes_of(const void* p) {
    return static_cast<const unsigned char*>(p);
}

std::uint32_t read_head(std::span<const std::byte, record_head_bytes> head) {
    std::uint32_t value;
    std::memcpy(&value, head.data(), sizeof value);
    return value;
}

void check(int outcome) {
    TROUPE_CHECK(outcome == 1, "OpenSSL does what it is asked for where its input is whole");
}

} // namespace

void record_cipher::context_deleter::operator()(evp_cipher_ctx_st* c) const {
    EVP_CIPHER_CTX_free(c);
}

record_cipher::record_cipher(cipher_direction direction, const secret_key& key)
    : direction_{direction}, key_{key}, context_{EVP_CIPHER_CTX_new()} {
    TROUPE_CHECK(context_ != nullptr, "there is memory for a cipher");
    begin_key();
}

record_cipher::~record_cipher() {
    sodium_memzero(key_.data(), key_.size());
}

void record_cipher::begin_key() {
    key_began_ = number_;
    check(EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key_.data()),
                            nullptr, direction_ == cipher_direction::sealing ? 1 : 0));
}

void record_cipher::next_key() {
    constexpr std::string_view label = "troupe next key";
    secret_key next;
    crypto_generichash(bytes_of(next.data()), next.size(), bytes_of(label.data()), label.size(),
                       bytes_of(key_.data()), key_.size());
    key_ = next;
    sodium_memzero(next.data(), next.size());
    begin_key();
}

void record_cipher::begin_record(std::span<const std::byte> head) {
    unsigned char nonce[nonce_bytes]{};
    std::memcpy(nonce + nonce_bytes - sizeof number_, &number_, sizeof number_);
    ++number_;
    check(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce, -1));
    int length = 0;
    check(EVP_CipherUpdate(context_.get(), nullptr, &length, bytes_of(head.data()),
                           static_cast<int>(head.size())));
}

std::size_t record_cipher::seal(std::span<const iovec> text, bool begins_key, std::byte* out) {
    if (begins_key)
        next_key();
    std::uint32_t bytes = 0;
    for (const iovec& piece : text)
        bytes += static_cast<std::uint32_t>(piece.iov_len);
    TROUPE_CHECK(bytes > 0 && bytes <= record_text_max, "a record has a text within its bound");
    const std::uint32_t head = bytes | (begins_key ? new_key_bit : 0);
    std::memcpy(out, &head, sizeof head);
    begin_record({out, record_head_bytes});
    std::byte* to = out + record_head_bytes;
    int length = 0;
    for (const iovec& piece : text) {
        check(EVP_CipherUpdate(context_.get(), bytes_of(to), &length, bytes_of(piece.iov_base),
                               static_cast<int>(piece.iov_len)));
        to += length;
    }
    check(EVP_CipherFinal_ex(context_.get(), bytes_of(to), &length));
    check(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, record_tag_bytes, to));
    return record_head_bytes + bytes + record_tag_bytes;
}

result<std::size_t> record_cipher::text_bytes(std::span<const std::byte, record_head_bytes> head) {
    const std::size_t bytes = read_head(head) & ~new_key_bit;
    if (bytes == 0 || bytes > record_text_max)
        return error{errc::protocol, "a record of " + std::to_string(bytes) + " bytes"};
    return bytes;
}

result<void> record_cipher::open(std::span<const std::byte> record, std::span<const iovec> places) {
    const auto head = record.first<record_head_bytes>();
    if ((read_head(head) & new_key_bit) != 0)
        next_key();
    begin_record(head);
    const std::byte* from = record.data() + record_head_bytes;
    int length = 0;
    for (const iovec& place : places) {
        check(EVP_CipherUpdate(context_.get(), bytes_of(place.iov_base), &length, bytes_of(from),
                               static_cast<int>(place.iov_len)));
        from += length;
    }
    const auto tag = record.last<record_tag_bytes>();
    TROUPE_CHECK(from == tag.data(), "the places are as long as the text");
    check(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, record_tag_bytes,
                              const_cast<std::byte*>(tag.data())));
    unsigned char none[16];
    if (EVP_CipherFinal_ex(context_.get(), none, &length) != 1)
        return error{errc::protocol, "a record that its sender has not made"};
    return {};
}

} // namespace troupe
