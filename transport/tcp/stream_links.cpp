#include "transport/tcp/stream_links.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::uint64_t rounds_between_writes = 8; // to a socket that has been full

} // namespace

void stream_links::add(const peer_ptr& peer) {
    peer->stream = std::make_unique<frame_stream>(
        peer->queue, peer->places, peer->send_token,
        stream_receiver::settings{settings_.pool, settings_.time, settings_.memory_timeout,
                                  peer->receive_token},
        poll_, next_id_++);
    links_.push_back({peer});
}

void stream_links::open(peer_state& peer, std::unique_ptr<byte_stream> connection) {
    peer.stream->open(std::move(connection));
    peer.wired.here = true;
    flush(peer);
}

void stream_links::end_link(const peer_ptr& peer) {
    peer->stream->close();
    std::erase_if(links_, [&](const link& l) { return l.peer == peer; });
}

bool stream_links::flush(peer_state& peer) {
    const auto done = peer.stream->flush();
    if (done.is_writable)
        peer.is_writable = true;
    if (done.has_failed)
        peer.has_failed = true;
    if (done.is_writable || done.has_failed)
        has_changes_ = true;
    return done.is_writable || done.has_failed;
}

// Polling a quiet socket takes longer than the transfer of a small frame, so each round polls one of the quiet ones in turn;
// before a sleep the poll set finds the others.
unsigned stream_links::progress() {
    ++round_;
    unsigned done = 0;
    waiting_ = 0;
    const std::size_t turn = round_ % std::max<std::size_t>(links_.size(), 1);
    for (std::size_t i = 0; i < links_.size(); ++i) {
        link& l = links_[i];
        const bool is_quiet = round_ - l.busy_at > settings_.busy_rounds;
        if (is_quiet && i != turn && !l.peer->stream->receiver().is_waiting_for_memory())
            continue;
        const unsigned now = progress(l);
        if (now > 0)
            l.busy_at = round_;
        done += now;
        waiting_ += l.peer->stream->receiver().is_waiting_for_memory() ? 1 : 0;
    }
    return done;
}

unsigned stream_links::progress(link& l) {
    unsigned done = 0;
    peer_state& peer = *l.peer;
    if (peer.stream->sender().is_blocked() && round_ % rounds_between_writes == 0)
        flush(peer);
    if (peer.has_failed || l.is_broken)
        return done;
    const auto got = peer.stream->receive(arrived_);
    for (frame_ptr& f : arrived_)
        frames.push_back({l.peer, std::move(f)});
    done += static_cast<unsigned>(arrived_.size());
    arrived_.clear();
    if (got)
        return done + (*got > 0 ? 1 : 0);
    if (got.failure().code() == errc::lost) {
        peer.has_failed = true;
        has_changes_ = true;
    } else {
        l.is_broken = true;
        failures.push_back({l.peer, got.failure()});
    }
    return done + 1;
}

void stream_links::on_ready(std::uint64_t id) {
    for (link& l : links_)
        if (l.peer->stream->id() == id) {
            l.busy_at = round_;
            if (l.peer->stream->sender().is_blocked())
                flush(*l.peer);
        }
}

bool stream_links::is_sending() const noexcept {
    return std::ranges::any_of(
        links_, [](const link& l) { return l.peer->stream->sender().under_way().has_value(); });
}

} // namespace troupe
