// A thin layer over UCP for the rest of ucx/: a context for each transport of an endpoint's links, and a worker for each of
// its peers.
//
// Why a worker per peer: all senders to a worker through shared memory share one queue in it. A process that is killed
// after taking a slot there and before filling it (UCX 1.13) blocks the queue for all of them.
//
// Threads: all methods under the endpoint's worker lock. Errors: errc::io with UCX's own message.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "transport/handshake/control.hpp"
#include "transport/ucx/ucx_settings.hpp"

namespace troupe {

// The version of the UCX library that this process uses.
ucx_version ucx_here();

inline constexpr unsigned frame_message = 0; // the id of our active messages

class ucx_context {
  public:
    // errc::io if this machine has nothing of this transport.
    static result<std::unique_ptr<ucx_context>> create(ucx_transport over);
    ~ucx_context();
    ucx_context(const ucx_context&) = delete;
    ucx_context& operator=(const ucx_context&) = delete;

    ucp_context_h get() const noexcept { return context_; }
    ucx_transport transport() const noexcept { return over_; }

    // Leaves the context to UCX until the process ends.
    void leave_to_the_end() noexcept { is_left_ = true; }

  private:
    explicit ucx_context(ucx_transport over) : over_{over} {}

    const ucx_transport over_;
    ucp_context_h context_ = nullptr;
    bool is_left_ = false;
};

class ucx_worker {
  public:
    // The context must outlive the worker.
    static result<std::unique_ptr<ucx_worker>> create(ucx_context& context);
    ~ucx_worker();
    ucx_worker(const ucx_worker&) = delete;
    ucx_worker& operator=(const ucx_worker&) = delete;

    ucp_worker_h get() const noexcept { return worker_; }
    const std::vector<std::byte>& address() const noexcept { return address_; }
    worker_kind kind() const noexcept { return kind_; } // zero but over shared memory
    std::size_t header_bytes_max() const noexcept { return header_bytes_max_; }
    int event_descriptor() const noexcept { return event_descriptor_; }

    void receive_with(ucp_am_recv_callback_t callback, void* argument);

    // Connects an endpoint to the worker at `address`, of this process of the machine where memory is shared; `failed` is
    // called during progress when the peer is lost. errc::refused for an address over shared memory that UCX may not survive
    // (README.md).
    result<ucp_ep_h> connect(const std::vector<std::byte>& address, std::uint32_t process,
                             ucp_err_handler_cb_t failed, void* argument);
    // UCX's description of an endpoint, available from connect() on.
    std::string printed(ucp_ep_h ep) const;
    // Sets *is_wired, which must outlive the endpoint, once the connection is set up in both directions.
    void watch_wiring(ucp_ep_h ep, bool* is_wired);
    // Gives up sends under way to the peer; never waits. Only for an endpoint that is wired or has failed: UCX 1.13 may
    // abort the process if one is closed while its connection is being set up.
    void disconnect(ucp_ep_h ep);

    // Returns the amount of work done.
    unsigned progress() { return ucp_worker_progress(worker_); }
    // UCS_OK: the event descriptor will signal anything new; UCS_ERR_BUSY: there is more to do first.
    ucs_status_t arm() { return ucp_worker_arm(worker_); }

    // Leaves worker and context to UCX until the process ends; no other method may be called afterwards.
    void leave_to_the_end() noexcept {
        worker_ = nullptr;
        context_.leave_to_the_end();
    }

    std::size_t disconnects_pending() const noexcept { return disconnects_pending_; }

  private:
    explicit ucx_worker(ucx_context& context) : context_{context} {}
    result<void> open();
    result<void> check_peer(const std::vector<std::byte>& address, std::uint32_t process) const;

    ucx_context& context_;
    ucp_worker_h worker_ = nullptr;
    std::vector<std::byte> address_;
    worker_kind kind_{};
    std::size_t header_bytes_max_ = 0;
    int event_descriptor_ = -1;
    std::size_t disconnects_pending_ = 0;
};

// "UCX: MESSAGE"
error ucx_error(errc code, ucs_status_t status);

} // namespace troupe
