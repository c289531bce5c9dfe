// The links of an endpoint that go over TCP: of each such peer the stream of frames, from when its way is found until the
// peer is taken down.
//
//     add ──> open ──> end_link     a link may be ended from add on
//
// Threads: the progress thread, except flush(). Ownership: a reference to each peer with a stream.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "transport/link_settings.hpp"
#include "transport/peer_state.hpp"
#include "transport/tcp/frame_stream.hpp"
#include "transport/tcp/poll_set.hpp"

namespace troupe {

class stream_links {
  public:
    using peer_ptr = std::shared_ptr<peer_state>;

    // Keeps references to the settings and to `poll`, which reports the links' events under ids from first_id on, below
    // those of ucx_links.
    stream_links(const link_settings& settings, poll_set& poll)
        : settings_{settings}, poll_{poll} {}

    static constexpr std::uint64_t first_id = 1ull << 62;

    void add(const peer_ptr& peer);
    // The connection for frames of a peer that is up is there: what is queued is sent, and what it sends is read.
    void open(peer_state& peer, std::unique_ptr<byte_stream> connection);
    void end_link(const peer_ptr& peer);

    // Any thread. True if there is something for the progress thread to see.
    bool flush(peer_state& peer);

    // Reads what has arrived and goes on with what could not be written. Returns the amount of work done.
    unsigned progress();
    void on_ready(std::uint64_t id);
    bool is_waiting_for_memory() const noexcept { return waiting_ > 0; }
    // Frames are under way to a peer.
    bool is_sending() const noexcept;
    // True if a peer has become writable, or a stream has ended, since the last call.
    bool take_changes() noexcept { return has_changes_.exchange(false); }

    // Frames in order, and peers that broke the protocol; the caller takes them out.
    std::vector<received_frame> frames;
    std::vector<link_failure> failures;

  private:
    struct link {
        peer_ptr peer;
        std::uint64_t busy_at = 0; // the last round in which it had news
        bool is_broken = false; // dropped because of an invalid frame; the node ends the link soon
    };

    unsigned progress(link& l);

    const link_settings& settings_;
    poll_set& poll_;
    std::vector<link> links_;
    std::vector<frame_ptr> arrived_;
    std::uint64_t next_id_ = first_id;
    std::uint64_t round_ = 0;
    std::size_t waiting_ = 0;
    std::atomic<bool> has_changes_{false};
};

} // namespace troupe
