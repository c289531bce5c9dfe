#include "transport/tcp/sealed_stream.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

namespace {

// Sealed before they are sent, and read before they are opened: what the processor's second cache holds.
constexpr std::size_t sealed_at_once = 2 * record_bytes_max;
constexpr std::size_t received_at_once = 3 * record_bytes_max;
// A piece from this size on begins a record, so that it is opened to where it belongs, not into the receiver's buffer.
constexpr std::size_t large_piece = 16u << 10;

iovec part_of(const iovec& whole, std::size_t at, std::size_t bytes) {
    return {static_cast<std::byte*>(whole.iov_base) + at, bytes};
}

} // namespace

sealed_stream::keys::~keys() {
    sodium_memzero(sending.data(), sending.size());
    sodium_memzero(receiving.data(), receiving.size());
}

sealed_stream::sealed_stream(file_descriptor socket, const keys& k, const time_source& time,
                             const key_lifetime& lifetime)
    : socket_{std::move(socket)}, time_{time}, lifetime_{lifetime},
      sealing_{cipher_direction::sealing, k.sending}, key_began_{time.now()},
      sealed_{std::make_unique_for_overwrite<std::byte[]>(sealed_at_once + record_bytes_max)},
      opening_{cipher_direction::opening, k.receiving}, received_(received_at_once) {}

result<std::size_t> sealed_stream::write(std::span<const iovec> pieces) {
    if (const auto left = send_sealed(); !left || !*left)
        return left ? result<std::size_t>{std::size_t{0}} : left.failure();
    std::size_t taken = 0;
    std::size_t in_record = 0;
    text_.clear();
    // False if the socket does not take what is sealed: then no more is.
    const auto end_record = [&]() -> result<bool> {
        if (in_record == 0)
            return true;
        seal(text_);
        taken += std::exchange(in_record, 0);
        text_.clear();
        return sealed_end_ < sealed_at_once ? result<bool>{true} : send_sealed();
    };
    for (const iovec& piece : pieces) {
        if (piece.iov_len >= large_piece)
            if (const auto goes_on = end_record(); !goes_on || !*goes_on)
                return goes_on ? result<std::size_t>{taken} : goes_on.failure();
        for (std::size_t at = 0; at < piece.iov_len;) {
            const std::size_t bytes = std::min(piece.iov_len - at, record_text_max - in_record);
            text_.push_back(part_of(piece, at, bytes));
            in_record += bytes;
            at += bytes;
            if (in_record < record_text_max)
                continue;
            if (const auto goes_on = end_record(); !goes_on || !*goes_on)
                return goes_on ? result<std::size_t>{taken} : goes_on.failure();
        }
    }
    if (const auto goes_on = end_record(); !goes_on)
        return goes_on.failure();
    if (const auto left = send_sealed(); !left)
        return left.failure();
    return taken;
}

void sealed_stream::seal(std::span<const iovec> text) {
    const bool begins_key = key_is_due();
    sealed_end_ += sealing_.seal(text, begins_key, sealed_.get() + sealed_end_);
    if (begins_key)
        key_began_ = time_.now();
}

// The clock is asked now and then: a key may live for some records longer.
bool sealed_stream::key_is_due() {
    constexpr std::uint64_t clock_every = 256;
    return sealing_.records() >= lifetime_.records ||
           (sealing_.records() % clock_every == clock_every - 1 &&
            time_.now() - key_began_ >= lifetime_.time);
}

result<bool> sealed_stream::send_sealed() {
    while (holds_bytes()) {
        const iovec rest{sealed_.get() + sealed_begin_, sealed_end_ - sealed_begin_};
        const auto sent = send_some(socket_.get(), {&rest, 1});
        if (!sent)
            return sent.failure();
        if (*sent == 0)
            return false;
        sealed_begin_ += *sent;
    }
    sealed_begin_ = sealed_end_ = 0;
    return true;
}

result<std::span<const std::byte>> sealed_stream::next_record() const {
    const auto there =
        std::span{received_}.subspan(received_begin_, received_end_ - received_begin_);
    if (there.size() < record_head_bytes)
        return std::span<const std::byte>{};
    const auto text = record_cipher::text_bytes(there.first<record_head_bytes>());
    if (!text)
        return text.failure();
    const std::size_t bytes = record_head_bytes + *text + record_tag_bytes;
    return there.size() < bytes ? std::span<const std::byte>{} : there.first(bytes);
}

result<std::size_t> sealed_stream::read(std::span<const iovec> places) {
    std::size_t room = 0;
    for (const iovec& place : places)
        room += place.iov_len;
    std::size_t filled = 0;
    std::size_t index = 0; // of the next place, and where in it
    std::size_t at = 0;
    bool has_asked = false;
    for (;;) {
        const auto record = next_record();
        if (!record)
            return record.failure();
        if (record->empty()) {
            if (has_asked)
                return filled; // once is enough: there is other work
            has_asked = true;
            if (const auto got = receive_record(); !got)
                return filled > 0 ? result<std::size_t>{filled} : got.failure();
            continue;
        }
        std::size_t text = record->size() - record_head_bytes - record_tag_bytes;
        if (text > room - filled)
            return filled;
        filled += text;
        opened_.clear();
        while (text > 0) {
            const std::size_t bytes = std::min(places[index].iov_len - at, text);
            opened_.push_back(part_of(places[index], at, bytes));
            text -= bytes;
            at += bytes;
            if (at == places[index].iov_len) {
                ++index;
                at = 0;
            }
        }
        if (const auto opened = opening_.open(*record, opened_); !opened)
            return opened.failure();
        received_begin_ += record->size();
    }
}

result<bool> sealed_stream::receive_record() {
    const std::size_t left = received_end_ - received_begin_;
    if (left > 0 && received_begin_ > 0)
        std::memmove(received_.data(), received_.data() + received_begin_, left);
    received_begin_ = 0;
    received_end_ = left;
    const iovec room{received_.data() + received_end_, received_.size() - received_end_};
    const auto got = receive_some(socket_.get(), {&room, 1});
    if (!got)
        return got.failure();
    received_end_ += *got;
    return *got > 0;
}

} // namespace troupe
