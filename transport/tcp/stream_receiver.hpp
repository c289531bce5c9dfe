// The receiving half of a link over TCP: turns the bytes of a connection into frames. The tensors of a large frame are read
// straight into memory of the pool, or where the node expects them; small frames are copied out of a buffer that is read in
// one piece. While the pool has no room nothing is read, so that the sender is held up by the connection itself.
//
// A frame's form in a stream stands in transport/frame/wire.md. Nothing of a frame is believed before it is checked.
//
// Threads: the progress thread. Errors: errc::protocol for bytes that are no frame, errc::exhausted for a frame that the
// node's memory cannot hold, errc::lost if the connection has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schemas/base/time_source.hpp"
#include "transport/frame/wire.hpp"
#include "transport/named_places.hpp"
#include "transport/tcp/byte_stream.hpp"

namespace troupe {

// Bytes that have been read beyond what was wanted, and not been taken.
class read_ahead {
  public:
    explicit read_ahead(std::size_t room) : buffer_(room) {}

    std::span<const std::byte> bytes() const noexcept {
        return std::span{buffer_}.subspan(begin_, end_ - begin_);
    }
    void skip(std::size_t bytes) noexcept { begin_ += bytes; }
    // Moves what there is to `to`, as far as it goes; returns the number of bytes.
    std::size_t take(std::span<std::byte> to);

    // The free room, behind what there is; added() says how much of it has been filled.
    std::span<std::byte> room();
    void added(std::size_t bytes) noexcept { end_ += bytes; }

  private:
    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

class stream_receiver {
  public:
    struct settings {
        memory_pool* pool; // outlives the receiver, as the time does
        const time_source* time;
        duration memory_timeout; // for which a frame may wait for room
        wire::connection_token token;
    };

    // Keeps references.
    stream_receiver(const settings& s, named_places& places);

    // Reads what has arrived, at most a few megabytes at a time, and appends the frames that are whole. Returns the number
    // of bytes read: 0 if none have arrived, or while it waits for memory. After an error it is of no further use.
    result<std::size_t> receive(byte_stream& from, std::vector<frame_ptr>& arrived);

    // Call receive() again in a while, whether there is something to read or not.
    bool is_waiting_for_memory() const noexcept { return waits_since_.has_value(); }
    // Frames that have arrived whole.
    std::uint64_t frames() const noexcept { return next_sequence_; }

  private:
    enum class stage : std::uint8_t {
        head,    // the header, and the words if the buffer holds both, are awaited in the buffer
        words,   // a long message is read into memory of its own
        room,    // memory for the tensors is awaited
        tensors, // they are read into it
    };

    result<void> take(std::vector<frame_ptr>& arrived); // from the buffer, as far as it goes
    result<void> begin_frame();
    result<bool> find_room(); // false if there is none now
    result<void> finish(std::vector<frame_ptr>& arrived);
    std::span<const iovec> places_to_read(const byte_stream& from);
    void filled(std::size_t bytes);
    std::span<std::byte> unfilled() noexcept; // of the words or the tensors

    const settings settings_;
    named_places& named_;
    stage stage_ = stage::head;
    read_ahead ahead_;
    wire::header header_;
    std::vector<std::byte> words_;
    buffer_ref memory_;
    std::size_t tensors_at_ = 0; // in the memory
    std::size_t filled_ = 0;     // of the words or the tensors
    bool was_large_ = false;     // the last frame was
    std::uint64_t next_sequence_ = 0;
    std::optional<time_point> waits_since_;
    iovec places_[2];
};

} // namespace troupe
