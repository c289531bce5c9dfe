// Transports of the links between nodes: those available, and the choice between them.
//
//     shared_memory   between processes of one machine that see each other's memory (memory_mark.hpp)
//     rdma            between nodes that both have a device for it; UCX chooses among its transports rc, dc and ud
//     tcp             else, by connections of our own (transport/tcp/): UCX's TCP listens on every interface, and serves
//                     whoever connects
//
// A link uses one transport for all of its frames.
//
// Threads: pure functions. Errors: errc::refused, errc::usage, with a sentence for the user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "transport/node/node_endpoint.hpp"

namespace troupe {

enum class link_route : std::uint8_t { shared_memory, rdma, tcp };

// The transports that a node has and may use.
struct link_routes {
    bool shared_memory = false;
    bool rdma = false;
    bool tcp = false;

    friend bool operator==(const link_routes&, const link_routes&) noexcept = default;
};

// The conditions in which a node looks for its transports.
struct route_surroundings {
    // It listens on the loopback address: all peers are on its machine.
    bool loopback_only = false;
    bool has_memory_mark = false;  // others can detect shared memory with it
    bool has_rdma_devices = false; // UCX can use RDMA devices
};

// The available transports that `asked` allows. None if only shared memory or only RDMA is allowed and it is not available.
link_routes routes_of(link_transports asked, const route_surroundings& there);

// True if a node that is asked for this looks for RDMA devices. They are no better for peers on the same machine.
bool looks_for_rdma(link_transports asked, bool loopback_only);

// The transport that a node's first link is likely to use. `here` must have at least one.
link_route likely_route(const link_routes& here, bool loopback_only);

// The transport of a link between two nodes; both come to the same result. `memory_is_shared`: each has seen the other's
// mark. errc::refused; the sentence refers to the other node as "it".
result<link_route> route_between(const link_routes& here, const link_routes& there,
                                 bool memory_is_shared);

// The error for users who ask for RDMA without usable devices; `devices`: those that the system names.
error no_rdma_error(const std::vector<std::string>& devices);

} // namespace troupe
