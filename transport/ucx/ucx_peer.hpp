// What the parts of a UCX endpoint share about one peer. Each group of members has its own guard, named beside it.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "schemas/base/clock.hpp"
#include "transport/endpoint.hpp"
#include "transport/frame/wire.hpp"
#include "transport/send_window.hpp"
#include "transport/ucx/send_progress.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace troupe {

struct arrival;
class frame_receiver;

// What becomes of the frames that a peer sends:
//
//     early ──release──> up ──fail──> broken ──remove──> over        by frame_receiver
//
// An early one may fail, and any be removed. Apart from this are what UCX says of the connection (is_wired, has_failed),
// what the nodes have told each other on the control connection, and is_open, which is about frames to the peer.
enum class link_state : std::uint8_t {
    early,  // the peer is not yet reported: they wait in `arrivals`
    up,     // delivered
    broken, // dropped, for what one of them was; the node ends the link soon
    over,   // dropped; the worker goes when UCX allows it, or at worker_goes_by
};

struct ucx_peer : std::enable_shared_from_this<ucx_peer> {
    explicit ucx_peer(const send_bounds& bounds) : window{bounds} {}

    // Set before its worker receives (receive_token), before control_events::peer_accepted or in it (info.over); read by all
    // threads from then on.
    peer_info info;
    wire::connection_token send_token{};    // of frames to it
    wire::connection_token receive_token{}; // of frames from it
    std::vector<std::byte> worker_address;

    // Guarded by queue_lock, which is taken inside the worker lock.
    std::mutex queue_lock;
    struct outgoing {
        frame_ptr data;
        wire::header measured;
    };
    std::deque<outgoing> queue;
    send_window window;
    bool is_open = false; // frames are taken

    // Set by any thread, cleared by the progress thread.
    std::atomic<bool> is_writable{false}; // peer_writable is due
    std::atomic<bool> is_dirty{false};    // in the list of peers with queued frames

    // Guarded by the worker lock.
    std::unique_ptr<ucx_worker> worker; // from way_found on
    frame_receiver* receiver = nullptr; // of the worker's messages
    link_state state = link_state::early;
    time_point worker_goes_by;
    ucp_ep_h ep = nullptr;
    std::uint64_t next_sequence = 0;
    std::size_t in_flight = 0;  // sends not yet completed
    std::uint64_t busy_at = 0;  // the round of progress in which its worker last had news
    bool is_wired = false;      // UCX has finished setting the connection up
    bool has_failed = false;    // UCX has given the peer up
    bool* any_failed = nullptr; // tells the progress thread to look for peers that have

    // The progress thread's.
    bool has_said_wired = false;
    bool remote_is_wired = false; // by its word
    bool was_declined = false;    // neither side has set up a way for frames
    send_progress sending;
    std::optional<time_point> give_up_at;          // unless the control connection says more before
    std::optional<std::uint64_t> frames_announced; // how many it has sent, once it has said goodbye
    bool has_said_goodbye = false;                 // to the peer, which answers by closing
    std::uint64_t next_arrival = 0;
    std::deque<std::shared_ptr<arrival>> arrivals; // not yet reported, in order
    std::size_t placed = 0;                        // of them, from the front, have their memory
    std::optional<time_point> waits_since; // the first that has none: for the pool to have room
    std::size_t transfers = 0;             // of theirs, under way
    std::uint64_t transfer_bytes = 0;
    std::uint64_t backlog_bytes = 0; // of theirs, outside the pool

    bool is_heard() const noexcept { return state <= link_state::up; }
};

} // namespace troupe
