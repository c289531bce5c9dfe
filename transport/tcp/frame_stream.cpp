#include "transport/tcp/frame_stream.hpp"

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
        is_watched_ = true;
        poll_.watch(connection_->descriptor(), id_, readiness::none);
    }
    sender_.open(*connection_);
}

void frame_stream::start() {
    if (!is_open() || is_started_)
        return;
    is_started_ = true;
    std::lock_guard guard{interest_lock_};
    await(true, awaits_writing_);
}

void frame_stream::close() {
    if (!is_open())
        return;
    connection_->shut_down(); // a thread that writes to it comes back at once
    sender_.close();
    {
        std::lock_guard guard{interest_lock_};
        is_watched_ = false;
        poll_.forget(connection_->descriptor());
    }
    connection_.reset();
}

stream_sender::outcome frame_stream::flush() {
    const auto done = sender_.flush();
    std::lock_guard guard{interest_lock_};
    await(awaits_reading_, sender_.is_blocked());
    return done;
}

result<std::size_t> frame_stream::receive(std::vector<frame_ptr>& arrived) {
    if (!is_started_ || !is_open())
        return std::size_t{0};
    const auto got = receiver_.receive(*connection_, arrived);
    std::lock_guard guard{interest_lock_};
    await(got.ok() && !receiver_.is_waiting_for_memory(), awaits_writing_);
    return got;
}

void frame_stream::await(bool reading, bool writing) {
    if (!is_watched_ || (reading == awaits_reading_ && writing == awaits_writing_))
        return;
    awaits_reading_ = reading;
    awaits_writing_ = writing;
    poll_.change(connection_->descriptor(), id_,
                 reading ? (writing ? readiness::reading_or_writing : readiness::reading)
                         : (writing ? readiness::writing : readiness::none));
}

} // namespace troupe
