// One UCX context and worker, with its resources released in order. The thin layer over UCP that the rest of ucx/ speaks.
//
// Threads: every method under the endpoint's worker lock. Errors: errc::io with UCX's own words.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe {

inline constexpr unsigned frame_message = 0; // the id of our active messages

class ucx_worker {
  public:
    static result<std::unique_ptr<ucx_worker>> create(ucx_transports transports,
                                                      bool loopback_only);
    ~ucx_worker();
    ucx_worker(const ucx_worker&) = delete;
    ucx_worker& operator=(const ucx_worker&) = delete;

    ucp_worker_h get() const noexcept { return worker_; }
    const std::vector<std::byte>& address() const noexcept { return address_; }
    bool shared_memory() const noexcept { return shared_memory_; } // else TCP
    std::size_t header_bytes_max() const noexcept { return header_bytes_max_; }
    int event_descriptor() const noexcept { return event_descriptor_; }

    void receive_with(ucp_am_recv_callback_t callback, void* argument);

    // An endpoint to the worker at `address`; `failed` is called during progress when the peer is lost.
    result<ucp_ep_h> connect(const std::vector<std::byte>& address, ucp_err_handler_cb_t failed,
                             void* argument);
    // Sets *is_wired, which must live as long as the endpoint, once the connection is set up in both directions or
    // has failed.
    void watch_wiring(ucp_ep_h ep, bool* is_wired);
    // Gives up what is still under way to the peer; never waits. Only of an endpoint that is wired or has failed:
    // UCX 1.13 may abort the process when one is closed while its connection is being set up.
    void disconnect(ucp_ep_h ep);

    // Returns how much was done.
    unsigned progress() { return ucp_worker_progress(worker_); }
    // True if the event descriptor will tell of anything new; false if there is more to do first.
    bool arm() { return ucp_worker_arm(worker_) == UCS_OK; }

    // Lets UCX keep what it has until the process ends; nothing else may be called afterwards.
    void leave_to_the_end() noexcept {
        worker_ = nullptr;
        context_ = nullptr;
    }

    std::size_t disconnects_pending() const noexcept { return disconnects_pending_; }

  private:
    ucx_worker() = default;
    result<void> open(ucx_transports transports, bool loopback_only);
    result<void> open_worker();

    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    std::vector<std::byte> address_;
    bool shared_memory_ = false;
    std::size_t header_bytes_max_ = 0;
    int event_descriptor_ = -1;
    std::size_t disconnects_pending_ = 0;
};

// "UCX: WORDS"
error ucx_error(errc code, ucs_status_t status);

} // namespace troupe
