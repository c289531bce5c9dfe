// The counts of an endpoint. Any thread may add to them and read them; they order nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/endpoint.hpp"

namespace troupe {

class endpoint_counters {
  public:
    void add_sent(std::uint64_t bytes) noexcept {
        add(frames_sent_, 1);
        add(bytes_sent_, bytes);
    }
    void add_received(std::uint64_t bytes) noexcept {
        add(frames_received_, 1);
        add(bytes_received_, bytes);
    }
    void add_malformed(std::uint64_t frames) noexcept { add(malformed_, frames); }
    void set_refused(std::uint64_t handshakes) noexcept { refused_ = handshakes; }

    endpoint_statistics read() const noexcept {
        return {.frames_sent = frames_sent_,
                .frames_received = frames_received_,
                .bytes_sent = bytes_sent_,
                .bytes_received = bytes_received_,
                .frames_malformed = malformed_,
                .handshakes_refused = refused_};
    }

  private:
    using counter = std::atomic<std::uint64_t>;
    static void add(counter& to, std::uint64_t more) noexcept {
        to.fetch_add(more, std::memory_order_relaxed);
    }

    counter frames_sent_{0};
    counter bytes_sent_{0};
    counter frames_received_{0};
    counter bytes_received_{0};
    counter malformed_{0};
    counter refused_{0};
};

} // namespace troupe
