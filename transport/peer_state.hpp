// State of one peer, shared by the parts of an endpoint: what both sides know of each other, and the link over which their
// frames travel, which is one of two kinds. The guard of each group of members is named in its comment.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/endpoint.hpp"
#include "transport/frame/wire.hpp"
#include "transport/named_places.hpp"
#include "transport/send_progress.hpp"
#include "transport/send_queue.hpp"

namespace troupe {

class frame_stream;
struct ucx_link;

struct peer_state : std::enable_shared_from_this<peer_state> {
    explicit peer_state(const send_bounds& bounds);
    ~peer_state();
    peer_state(const peer_state&) = delete;
    peer_state& operator=(const peer_state&) = delete;

    // Set before its link receives (receive_token), before control_events::peer_accepted or in it (info.over); read by all
    // threads afterwards.
    peer_info info;
    wire::connection_token send_token{};    // in frames to it
    wire::connection_token receive_token{}; // in frames from it
    // One of them is set from control_events::route_found on.
    std::unique_ptr<frame_stream> stream; // over TCP
    std::unique_ptr<ucx_link> ucx;        // over shared memory or RDMA
    bool is_sealed = false;               // the stream is

    send_queue queue; // thread-safe, likewise the next
    named_places places;
    std::atomic<bool> has_failed{false}; // UCX has given the peer up, or its stream has ended
    // Set by any thread, cleared by the progress thread.
    std::atomic<bool> is_writable{false}; // peer_writable is due
    std::atomic<bool> is_dirty{false};    // in the list of peers with queued frames
    std::atomic<std::uint64_t> bytes_received{
        0}; // of whole frames; added to by the progress thread

    // Used by the progress thread only, except `here`.
    struct {
        bool here = false;     // frames of the peer can arrive; over UCX under the worker lock
        bool is_told = false;  // the peer knows of it
        bool there = false;    // frames can arrive at the peer, as it has said
        bool declined = false; // neither side has set up a transport for frames
    } wired;
    send_progress sending;
    struct {
        // Deadline for the control connection to report a reason; after it this one holds, or that the link has failed.
        std::optional<time_point> give_up_at;
        std::optional<error> reason;
        // Number of frames that it has sent, announced by its goodbye.
        std::optional<std::uint64_t> frames_announced;
        // This node has said goodbye; the peer answers by closing.
        bool has_said_goodbye = false;
    } parting;

    // Any thread; see endpoint::bytes_moved.
    std::uint64_t bytes_moved() const;

    // -- the link; over UCX under the worker lock --
    std::uint64_t frames_sent() const noexcept;     // those that have been given to it
    std::uint64_t frames_received() const noexcept; // those that have arrived and been reported
    bool is_drained();                              // nothing that was queued is left
};

struct received_frame {
    std::shared_ptr<peer_state> from;
    frame_ptr data;
};

// The end of a link whose peer broke the protocol, or for which there was no memory.
struct link_failure {
    std::shared_ptr<peer_state> from;
    error why;
};

} // namespace troupe
