#include "transport/tcp/frame_stream.hpp"

#include "transport/tcp/socket.hpp"

namespace troupe {

frame_stream::frame_stream(send_queue& queue, named_places& places,
                           const wire::connection_token& send_token,
                           const stream_receiver::settings& receiving, poll_set& poll,
                           std::uint64_t id)
    : sender_{queue, send_token}, receiver_{receiving, places}, poll_{poll}, id_{id} {}

void frame_stream::open(std::unique_ptr<byte_stream> connection) {
    TROUPE_CHECK(!is_open(), "a link has one connection");
    connection_ = std::move(connection);
    {
        std::lock_guard guard{interest_lock_};
        may_await_ = true;
        await(true, false);
    }
    sender_.open(*connection_);
}

void frame_stream::close() {
    if (!is_open())
        return;
    connection_->shut_down(); // a thread that writes to it comes back at once
    sender_.close();
    {
        std::lock_guard guard{interest_lock_};
        await(false, false);
        may_await_ = false;
    }
    connection_.reset();
}

stream_sender::outcome frame_stream::flush() {
    const auto done = sender_.flush();
    std::lock_guard guard{interest_lock_};
    await(awaits_reading_ && !done.has_failed, sender_.is_blocked());
    may_await_ = may_await_ && !done.has_failed;
    return done;
}

result<std::size_t> frame_stream::receive(std::vector<frame_ptr>& arrived) {
    if (!is_open())
        return std::size_t{0};
    const auto got = receiver_.receive(*connection_, arrived);
    bytes_received_ += got ? *got : 0;
    std::lock_guard guard{interest_lock_};
    if (got)
        await(!receiver_.is_waiting_for_memory(), awaits_writing_);
    else
        await(false, false);
    may_await_ = may_await_ && got.ok();
    return got;
}

// The system takes megabytes before the first has left, which a slow link carries for minutes.
std::uint64_t frame_stream::bytes_moved() const {
    std::lock_guard guard{interest_lock_}; // the connection stays
    const std::uint64_t waiting = may_await_ ? unacknowledged_bytes(connection_->descriptor()) : 0;
    const std::uint64_t written = sender_.bytes_written();
    return bytes_received_ + (written > waiting ? written - waiting : 0);
}

// A descriptor for which nothing is awaited is not watched: the end of its connection would be reported again and again.
void frame_stream::await(bool reading, bool writing) {
    if (!may_await_ || (reading == awaits_reading_ && writing == awaits_writing_))
        return;
    const int descriptor = connection_->descriptor();
    const bool was_watched = awaits_reading_ || awaits_writing_;
    awaits_reading_ = reading;
    awaits_writing_ = writing;
    const auto what = reading ? (writing ? readiness::reading_or_writing : readiness::reading)
                              : readiness::writing;
    if (!reading && !writing)
        poll_.forget(descriptor);
    else if (was_watched)
        poll_.change(descriptor, id_, what);
    else
        poll_.watch(descriptor, id_, what);
}

} // namespace troupe
