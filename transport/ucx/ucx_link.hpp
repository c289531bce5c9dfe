// The link to one peer over UCX: its worker, and the frames under way to and from it. Under the endpoint's worker lock.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "schemas/base/time_source.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace troupe {

struct arrival;
class frame_receiver;

// State of the frames that a peer sends:
//
//     early ──release──> up ──fail──> broken ──remove──> over        by frame_receiver
//
// An early link may fail, and any may be removed. Independent of this are UCX's reports on the connection
// (peer_state::wired, has_failed), the nodes' messages on the control connection, and whether the queue of frames to the
// peer is open.
enum class link_state : std::uint8_t {
    early,  // the peer is not reported yet; frames wait in `arrived`
    up,     // frames are delivered
    broken, // dropped because of an invalid frame; the node ends the link soon
    over,   // dropped; the worker goes when UCX allows it, or at worker_goes_by
};

// Frames that have arrived and are not reported yet, in order.
struct frame_arrivals {
    std::deque<std::shared_ptr<arrival>> waiting;
    std::uint64_t next = 0; // the sequence number that is expected
    std::size_t placed = 0; // those at the front that have their memory
    // Since when the first without memory waits for room in the pool.
    std::optional<time_point> waits_since;
    std::size_t transfers = 0; // under way
    std::uint64_t transfer_bytes = 0;
    std::uint64_t backlog_bytes = 0; // outside the pool

    std::uint64_t frames_reported() const noexcept { return next - waiting.size(); }
};

struct ucx_link {
    std::unique_ptr<ucx_worker> worker;  // null once UCX has let it go
    std::vector<std::byte> peers_worker; // the address of the peer's worker
    std::uint32_t peers_process = 0;     // that has its memory mark, where memory is shared
    ucp_ep_h ep = nullptr;               // set from connect() until it is disconnected
    link_state state = link_state::early;
    time_point worker_goes_by;
    frame_receiver* receiver = nullptr; // receives the worker's messages
    bool* any_failed =
        nullptr; // set with peer_state::has_failed: the progress thread looks for failed peers
    std::uint64_t busy_at = 0; // the last round of progress in which the worker had news
    std::uint64_t next_sequence = 0;
    std::size_t in_flight = 0; // sends not yet completed
    frame_arrivals arrived;

    bool is_heard() const noexcept { return state <= link_state::up; }
};

} // namespace troupe
