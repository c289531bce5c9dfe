// The sending half of a UCX endpoint: turns a peer's queued frames into active messages.
//
// Threads: all methods under the endpoint's worker lock.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transport/peer_state.hpp"
#include "transport/ucx/ucx_link.hpp"

namespace troupe {

class frame_sender {
  public:
    frame_sender();
    ~frame_sender();
    frame_sender(const frame_sender&) = delete;
    frame_sender& operator=(const frame_sender&) = delete;

    // Passes all queued frames of the peer to UCX. True if some are not sent yet, so that the worker needs progress.
    bool flush(const std::shared_ptr<peer_state>& peer);

    // Releases the sends under way to the peer. To be called after its worker, which reads them, is gone.
    void abandon(const peer_state& peer);

    std::size_t in_flight() const noexcept { return in_flight_; }
    // By peer; only peers with sends under way.
    std::unordered_map<const peer_state*, frames_under_way> under_way() const;

    // True if a completion has set a peer's is_writable since the last call.
    bool take_writable() noexcept { return std::exchange(writable_, false); }

  private:
    struct operation;

    void post(const std::shared_ptr<peer_state>& peer, send_queue::entry next);
    operation& take_operation();
    void complete(operation& op);
    static void completed(void* request, ucs_status_t status, void* op);

    std::vector<std::unique_ptr<operation>> operations_; // as many as were ever needed at once
    std::vector<operation*> free_;
    std::size_t in_flight_ = 0;
    bool writable_ = false;
};

} // namespace troupe
