#include "transport/peer_state.hpp"

#include "transport/tcp/frame_stream.hpp"
#include "transport/ucx/ucx_link.hpp"

namespace troupe {

peer_state::peer_state(const send_bounds& bounds) : queue{bounds} {}

peer_state::~peer_state() = default;

std::uint64_t peer_state::bytes_moved() const {
    return stream != nullptr ? stream->bytes_moved() : queue.bytes_sent() + bytes_received;
}

std::uint64_t peer_state::frames_sent() const noexcept {
    return stream != nullptr ? stream->sender().frames() : ucx->next_sequence;
}

std::uint64_t peer_state::frames_received() const noexcept {
    return stream != nullptr ? stream->receiver().frames() : ucx->arrived.frames_reported();
}

bool peer_state::is_drained() {
    return stream != nullptr ? stream->is_drained() : queue.empty() && ucx->in_flight == 0;
}

} // namespace troupe
