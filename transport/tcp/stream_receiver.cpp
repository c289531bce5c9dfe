#include "transport/tcp/stream_receiver.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "transport/handshake/handshake.hpp"

namespace troupe {

namespace {

constexpr std::size_t buffer_bytes = 128u << 10;
// So much is read beyond a large frame, so that the header of the next one comes with it; more would have to be copied.
constexpr std::size_t look_ahead_bytes = 4096;
constexpr std::size_t large_bytes = 64u << 10;
// The bound of one receive(), after which other peers have their turn.
constexpr std::size_t receive_bytes = 4u << 20;

} // namespace

std::size_t read_ahead::take(std::span<std::byte> to) {
    const std::size_t bytes = std::min(to.size(), end_ - begin_);
    if (bytes > 0)
        std::memcpy(to.data(), buffer_.data() + begin_, bytes);
    begin_ += bytes;
    return bytes;
}

std::span<std::byte> read_ahead::room() {
    if (begin_ < end_)
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    return std::span{buffer_}.subspan(end_);
}

stream_receiver::stream_receiver(const settings& s, named_places& places)
    : settings_{s}, named_{places}, ahead_{buffer_bytes} {}

result<std::size_t> stream_receiver::receive(byte_stream& from, std::vector<frame_ptr>& arrived) {
    std::size_t total = 0;
    // The rest of what has been read before comes first: it may have waited for memory.
    if (const auto taken = take(arrived); !taken)
        return taken.failure();
    while (total < receive_bytes && !is_waiting_for_memory()) {
        const auto got = from.read(places_to_read(from));
        if (!got)
            return got.failure();
        if (*got == 0)
            break;
        total += *got;
        filled(*got);
        if (const auto taken = take(arrived); !taken)
            return taken.failure();
    }
    return total;
}

std::span<const iovec> stream_receiver::places_to_read(const byte_stream& from) {
    const std::span<std::byte> direct = unfilled();
    std::span<std::byte> behind = ahead_.room();
    if (was_large_ || !direct.empty())
        behind = behind.first(
            std::min(behind.size(), std::max(look_ahead_bytes, from.read_bytes_min())));
    std::size_t count = 0;
    if (!direct.empty())
        places_[count++] = {direct.data(), direct.size()};
    places_[count++] = {behind.data(), behind.size()};
    return {places_, count};
}

void stream_receiver::filled(std::size_t bytes) {
    const std::size_t direct = std::min(bytes, unfilled().size());
    filled_ += direct;
    ahead_.added(bytes - direct);
}

std::span<std::byte> stream_receiver::unfilled() noexcept {
    switch (stage_) {
    case stage::words:
        return std::span{words_}.subspan(filled_);
    case stage::tensors:
        if (!memory_)
            break; // a frame without tensors
        return {memory_->data() + tensors_at_ + filled_, header_.tensor_bytes - filled_};
    case stage::head:
    case stage::room:
        break;
    }
    return {};
}

result<void> stream_receiver::take(std::vector<frame_ptr>& arrived) {
    for (;;) {
        switch (stage_) {
        case stage::head: {
            if (ahead_.bytes().size() < wire::header_bytes)
                return {};
            if (const auto begun = begin_frame(); !begun)
                return begun;
            break;
        }
        case stage::words:
            filled_ += ahead_.take(unfilled());
            if (filled_ < words_.size())
                return {};
            stage_ = stage::room;
            break;
        case stage::room: {
            const auto found = find_room();
            if (!found)
                return found.failure();
            if (!*found)
                return {};
            filled_ = 0;
            stage_ = stage::tensors;
            break;
        }
        case stage::tensors:
            filled_ += ahead_.take(unfilled());
            if (filled_ < header_.tensor_bytes)
                return {};
            if (const auto finished = finish(arrived); !finished)
                return finished;
            break;
        }
    }
}

result<void> stream_receiver::begin_frame() {
    const auto h = wire::read_header(ahead_.bytes());
    if (!h)
        return h.failure();
    if (!same_token(settings_.token, h->token) || h->sequence != next_sequence_)
        return error{errc::protocol, "a frame that is out of sequence, or of another connection"};
    if (!settings_.pool->can_ever_hold(h->tensor_bytes))
        return error{errc::exhausted, "a frame of " + std::to_string(h->tensor_bytes) +
                                          " bytes is larger than this node's memory bound"};
    header_ = *h;
    ahead_.skip(wire::header_bytes);
    was_large_ = header_.tensor_bytes >= large_bytes;
    words_.resize(header_.words * sizeof(capnp::word));
    filled_ = 0;
    stage_ = stage::words;
    return {};
}

result<bool> stream_receiver::find_room() {
    tensors_at_ = 0;
    memory_ = {};
    if (header_.tensors == 0)
        return true;
    if (const tensor place = named_.take(header_.place, header_.tensor_bytes)) {
        memory_ = place.storage();
        tensors_at_ = static_cast<std::size_t>(place.data() - memory_->data());
        waits_since_.reset();
        return true;
    }
    auto room = settings_.pool->allocate(header_.tensor_bytes);
    if (room) {
        memory_ = std::move(*room);
        waits_since_.reset();
        return true;
    }
    const time_point now = settings_.time->now();
    if (!waits_since_)
        waits_since_ = now;
    if (now - *waits_since_ > settings_.memory_timeout)
        return error{errc::exhausted,
                     "no memory for a frame of " + std::to_string(header_.tensor_bytes) +
                         " bytes for " +
                         std::to_string(settings_.memory_timeout.count() / 1000000) + " ms"};
    return false;
}

result<void> stream_receiver::finish(std::vector<frame_ptr>& arrived) {
    wire::parts parts;
    parts.words = words_;
    parts.buffer = std::move(memory_);
    parts.tensors_at = tensors_at_;
    auto f = wire::read_frame(header_, std::move(parts));
    if (!f)
        return f.failure();
    arrived.push_back(std::move(*f));
    ++next_sequence_;
    stage_ = stage::head;
    filled_ = 0;
    return {};
}

} // namespace troupe
