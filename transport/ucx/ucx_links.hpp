// The links of an endpoint: of each peer the worker of UCX, from when its way is found until UCX allows it to go, with the
// sender and the receiver that use it.
//
//     add ──> connect ──> end_link ──> (retire)     a link may be ended from add on
//
// Threads: all methods under the endpoint's worker lock. Ownership: a reference to each peer with a worker. Errors: errc::io
// with UCX's message.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "schemas/base/time_source.hpp"
#include "transport/tcp/poll_set.hpp"
#include "transport/ucx/frame_receiver.hpp"
#include "transport/ucx/frame_sender.hpp"

namespace troupe {

class ucx_links {
  public:
    using peer_ptr = std::shared_ptr<peer_state>;

    // Keeps references to the settings and to `poll`, which reports the links' events under ids from first_id on.
    ucx_links(const link_settings& settings, poll_set& poll);

    static constexpr std::uint64_t first_id = 1ull << 63;

    frame_sender& sender() noexcept { return sender_; }
    frame_receiver& receiver() noexcept { return receiver_; }
    const frame_receiver& receiver() const noexcept { return receiver_; }
    const std::vector<peer_ptr>& all() const noexcept { return links_; }

    // Gives the peer its worker in this context, which must outlive it: its frames may begin to arrive. A worker that it has
    // already, whose address nobody has been told, is replaced. After an error it keeps what it has.
    result<void> add(const peer_ptr& peer, ucx_context& context);
    // Connects the peer's worker, whose address is known, and says in its info what the link goes over.
    result<void> connect(peer_state& peer);

    // -- progress --
    // A burst of it, and another try to make room for what waits for memory. Returns the amount of work done.
    unsigned progress();
    void on_ready(std::uint64_t id);
    // True if every worker's descriptor will signal new events.
    bool arm();
    // True if UCX need not signal all that it could do next.
    bool is_under_way() const noexcept;
    // True if UCX has given up a peer since the last call (has_failed).
    bool take_failed() noexcept { return std::exchange(any_failed_, false); }

    // -- the end --
    void end_link(peer_state& peer);
    // Lets go of what has ended, as far as UCX allows it. To be called while has_ended().
    void retire();
    bool has_ended() const noexcept { return any_over_; }
    // Ends all that is left: by this time, if necessary by leaving workers to the end of the process.
    void abandon(time_point by);

  private:
    struct burst {
        unsigned done = 0;
        unsigned asked = 0; // workers polled
    };

    burst progress_once();
    void drop_worker(peer_state& peer);

    const link_settings& settings_;
    poll_set& poll_;
    std::vector<peer_ptr> links_; // every peer with a worker
    frame_sender sender_;
    frame_receiver receiver_;
    bool any_failed_ = false;
    bool any_over_ = false; // a link is over
    std::uint64_t progress_round_ = 0;
};

} // namespace troupe
