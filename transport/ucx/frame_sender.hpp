// The sending half of a UCX endpoint: queued frames of a peer become active messages.
//
// Threads: every method under the endpoint's worker lock.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transport/ucx/ucx_peer.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace troupe {

class frame_sender {
  public:
    frame_sender();
    ~frame_sender();
    frame_sender(const frame_sender&) = delete;
    frame_sender& operator=(const frame_sender&) = delete;

    // Hands all queued frames of the peer to UCX. True if some are not yet on their way, so that the worker needs
    // progress.
    bool flush(const std::shared_ptr<ucx_peer>& peer);

    // Lets go of what is under way to the peer. After its worker is gone, which reads it.
    void abandon(const ucx_peer& peer);

    std::size_t in_flight() const noexcept { return in_flight_; }
    // By peer; only peers to whom something is.
    std::unordered_map<const ucx_peer*, frames_under_way> under_way() const;

    // Whether a completion has set a peer's is_writable since the last call.
    bool take_writable() noexcept { return std::exchange(writable_, false); }

  private:
    struct operation;

    void post(const std::shared_ptr<ucx_peer>& peer, ucx_peer::outgoing next);
    operation& take_operation();
    void complete(operation& op);
    static void completed(void* request, ucs_status_t status, void* op);

    std::vector<std::unique_ptr<operation>> operations_; // all that were ever needed at once
    std::vector<operation*> free_;
    std::size_t in_flight_ = 0;
    bool writable_ = false;
};

} // namespace troupe
