// The receiving half of a UCX endpoint: it turns active messages into frames, in order per peer, each checked against the
// connection that it claims to belong to. Large tensors are received straight into memory of the pool, or where the node
// expects them, a few per peer at a time; while the pool has no room they wait. Small frames that arrive behind them are
// kept outside the pool, and a peer that exceeds its backlog bound with them is given up.
//
// Threads: the progress thread, under the endpoint's worker lock.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "schemas/base/time_source.hpp"
#include "transport/link_settings.hpp"
#include "transport/peer_state.hpp"
#include "transport/ucx/ucx_link.hpp"

namespace troupe {

// Memory for the data of a frame.
struct data_room {
    buffer_ref buffer;
    std::size_t at = 0; // in the buffer

    std::byte* begin() const noexcept { return buffer->data() + at; }
};

// A frame that is incomplete, or that waits for earlier ones.
struct arrival {
    std::shared_ptr<peer_state> peer;
    wire::header header;
    std::vector<std::byte> words; // empty if they are part of the data
    std::size_t data_bytes = 0;   // (words and padding and) tensors
    data_room room;
    // Data that arrived with the message before it could be given memory.
    std::vector<std::byte> kept;
    void* rendezvous = nullptr; // data whose transfer has not begun
    bool is_complete = false;
};

class frame_receiver {
  public:
    // Keeps a reference to the settings.
    explicit frame_receiver(const link_settings& settings);
    frame_receiver(const frame_receiver&) = delete;
    frame_receiver& operator=(const frame_receiver&) = delete;

    // Receives messages at the peer's worker from now on.
    void add(peer_state& peer);
    // Forgets the peer and its arrivals; ends transfers under way.
    void remove(peer_state& peer);

    // The peer has been reported up: delivers its early frames.
    void release(peer_state& peer);

    // Releases the peer's transfers. To be called after its worker, which writes to their buffers, is gone.
    void abandon(const peer_state& peer);

    // Tries again to make room for waiting data. Call every retry_interval while anything waits.
    void retry();
    bool is_waiting_for_memory() const noexcept { return !waiting_.empty(); }
    std::size_t transfers() const noexcept { return transfers_.size(); }
    static constexpr duration retry_interval = std::chrono::milliseconds{1};

    // Frames in order, and peers that broke the protocol; the caller takes them out.
    std::vector<received_frame> frames;
    std::vector<link_failure> failures;
    std::uint64_t unattributed = 0; // messages that belong to no connection

  private:
    static ucs_status_t message(void* peer, const void* header, std::size_t header_bytes,
                                void* data, std::size_t data_bytes,
                                const ucp_am_recv_param_t* param);
    static void transferred(void* request, ucs_status_t status, std::size_t bytes, void* what);

    ucs_status_t admit(const std::shared_ptr<peer_state>& peer, std::span<const std::byte> head,
                       void* data, std::size_t data_bytes, bool is_rendezvous);
    // Where the node expects the frame's tensors, or in the pool. errc::exhausted if that has no room.
    result<data_room> room_for(peer_state& peer, const wire::header& h, std::size_t data_bytes);
    bool deliver_at_once(const std::shared_ptr<peer_state>& peer, const wire::header& h,
                         std::span<const std::byte> words, std::span<const std::byte> data);
    void deliver_ready(peer_state& peer);
    // Gives arrivals their memory, in order, as far as they are due and the pool has room.
    void place_next(const std::shared_ptr<peer_state>& peer);
    bool is_due(const peer_state& peer, const arrival& next) const;
    // Allocates memory for the data and starts or makes the transfer; false if the pool has no room.
    bool place(const std::shared_ptr<arrival>& a);
    void begin_transfer(const std::shared_ptr<arrival>& a);
    bool end_transfer(arrival& a); // false if it had ended already
    void fail(const std::shared_ptr<peer_state>& peer, error why);

    const link_settings& settings_;
    memory_pool& pool_;
    const time_source& time_;
    std::vector<std::shared_ptr<peer_state>> waiting_; // peers that wait for room
    std::unordered_map<arrival*, std::shared_ptr<arrival>> transfers_;
};

} // namespace troupe
