// State of one peer, shared by the parts of an endpoint. The guard of each group of members is named in its comment.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "schemas/base/time_source.hpp"
#include "transport/endpoint.hpp"
#include "transport/frame/wire.hpp"
#include "transport/named_places.hpp"
#include "transport/send_progress.hpp"
#include "transport/send_queue.hpp"
#include "transport/tcp/frame_stream.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace troupe {

struct arrival;
class frame_receiver;

// State of the frames that a peer sends:
//
//     early ──release──> up ──fail──> broken ──remove──> over        by frame_receiver
//
// An early link may fail, and any may be removed. Independent of this are UCX's reports on the connection (is_wired,
// has_failed), the nodes' messages on the control connection, and whether the queue of frames to the peer is open.
enum class link_state : std::uint8_t {
    early,  // the peer is not reported yet; frames wait in `arrivals`
    up,     // frames are delivered
    broken, // dropped because of an invalid frame; the node ends the link soon
    over,   // dropped; the worker goes when UCX allows it, or at worker_goes_by
};

struct ucx_peer : std::enable_shared_from_this<ucx_peer> {
    explicit ucx_peer(const send_bounds& bounds) : queue{bounds} {}

    // Set before its worker receives (receive_token), before control_events::peer_accepted or in it (info.over); read by
    // all threads afterwards.
    peer_info info;
    wire::connection_token send_token{};    // in frames to it
    wire::connection_token receive_token{}; // in frames from it
    std::vector<std::byte> worker_address;

    send_queue queue; // thread-safe, likewise the next
    named_places places;
    // Set from route_found on, where frames travel over TCP; then all about UCX's worker is unused.
    std::unique_ptr<frame_stream> stream;
    bool is_sealed = false; // the stream is

    std::atomic<bool> has_failed{false}; // UCX has given the peer up, or its stream has ended
    // Set by any thread, cleared by the progress thread.
    std::atomic<bool> is_writable{false}; // peer_writable is due
    std::atomic<bool> is_dirty{false};    // in the list of peers with queued frames

    // Guarded by the worker lock.
    std::unique_ptr<ucx_worker> worker; // set from route_found on
    frame_receiver* receiver = nullptr; // receives the worker's messages
    link_state state = link_state::early;
    time_point worker_goes_by;
    ucp_ep_h ep = nullptr;
    std::uint64_t next_sequence = 0;
    std::size_t in_flight = 0; // sends not yet completed
    // The last round of progress in which its worker had news.
    std::uint64_t busy_at = 0;
    bool is_wired = false; // UCX has set up the connection
    // Set with has_failed: the progress thread looks for failed peers.
    bool* any_failed = nullptr;

    // Used by the progress thread only.
    bool has_said_wired = false;
    bool remote_is_wired = false; // as the peer has said
    bool was_declined = false;    // neither side has set up a transport for frames
    send_progress sending;
    // Deadline for the control connection to report a reason.
    std::optional<time_point> give_up_at;
    // Number of frames that it has sent, announced by its goodbye.
    std::optional<std::uint64_t> frames_announced;
    // This node has said goodbye; the peer answers by closing.
    bool has_said_goodbye = false;
    std::uint64_t next_arrival = 0;
    std::deque<std::shared_ptr<arrival>> arrivals; // not yet reported, in order
    std::size_t placed = 0;                        // those at the front that have their memory
    // Since when the first without memory waits for room in the pool.
    std::optional<time_point> waits_since;
    std::size_t transfers = 0; // transfers of arrivals under way
    std::uint64_t transfer_bytes = 0;
    std::uint64_t backlog_bytes = 0; // bytes of arrivals outside the pool

    bool is_heard() const noexcept { return state <= link_state::up; }
    // Frames that have been given to the link. Under the worker lock.
    std::uint64_t frames_sent() const noexcept {
        return stream != nullptr ? stream->sender().frames() : next_sequence;
    }
    // Frames that have arrived and been reported.
    std::uint64_t frames_received() const noexcept {
        return stream != nullptr ? stream->receiver().frames() : next_arrival - arrivals.size();
    }
    // Nothing that was queued is left. Under the worker lock.
    bool is_drained() {
        return stream != nullptr ? stream->is_drained() : queue.empty() && in_flight == 0;
    }
};

} // namespace troupe
