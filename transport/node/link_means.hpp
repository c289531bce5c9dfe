// The resources of an endpoint for sending: the transports that it may use, the mark by which peers see that they share
// memory with it, and the context of each of UCX's transports, opened when a link first uses it.
//
// Threads: routes() and mark() any; the others one at a time. Errors: errc::usage if the transport asked for is not
// available, with advice; errc::io if UCX cannot start.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "transport/node/memory_mark.hpp"
#include "transport/node/routes.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace troupe {

// UCX's part of this route, which is not TCP.
ucx_transport ucx_transport_of(link_route route);

class link_means {
  public:
    // Also opens the context of the likeliest transport, so that problems of UCX show at once.
    static result<std::unique_ptr<link_means>> find(node_id self, link_transports asked,
                                                    bool loopback_only);

    const link_routes& routes() const noexcept { return routes_; }
    std::optional<memory_mark> mark() const;

    // The context of this transport; owned by this object.
    result<ucx_context*> context(ucx_transport over);

  private:
    link_means() = default;

    link_routes routes_;
    std::optional<own_memory_mark> mark_; // set if shared memory is among the transports
    std::array<std::unique_ptr<ucx_context>, 2> contexts_; // by transport
};

} // namespace troupe
