// Transports ("ways") of the links between nodes: those available, the choice between them, and UCX's settings for its two.
// Pure decisions.
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
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe {

enum class ucx_route : std::uint8_t { shared_memory, rdma, tcp };

// The transports that a node has and may use.
struct ucx_routes {
    bool shared_memory = false;
    bool rdma = false;
    bool tcp = false;

    friend bool operator==(const ucx_routes&, const ucx_routes&) noexcept = default;
};

// The conditions in which a node looks for its transports.
struct ucx_surroundings {
    // It listens on the loopback address: all peers are on its machine.
    bool loopback_only = false;
    bool has_memory_mark = false;  // others can detect shared memory with it
    bool has_rdma_devices = false; // UCX can use RDMA devices
};

// The available transports that `asked` allows. None if only shared memory or only RDMA is allowed and it is not available.
ucx_routes routes_of(ucx_transports asked, const ucx_surroundings& there);

// True if a node that is asked for this looks for RDMA devices. They are no better for peers on the same machine.
bool looks_for_rdma(ucx_transports asked, bool loopback_only);

// The transport that a node's first link is likely to use. `here` must have at least one.
ucx_route likely_route(const ucx_routes& here, bool loopback_only);

// The transport of a link between two nodes; both come to the same result. `memory_is_shared`: each has seen the other's
// mark. errc::refused; the sentence refers to the other node as "it".
result<ucx_route> route_between(const ucx_routes& here, const ucx_routes& there,
                                bool memory_is_shared);

// The error for users who ask for RDMA without usable devices; `devices`: those that the system names.
error no_rdma_error(const std::vector<std::string>& devices);

// A setting of UCX.
struct ucx_setting {
    std::string name;
    std::string value;
    std::string later_name{}; // used if UCX does not know `name`

    friend bool operator==(const ucx_setting&, const ucx_setting&) = default;
};

// The settings of a UCX context that has this transport only, which is not TCP.
std::vector<ucx_setting> settings_for(ucx_route route);

// For people: "shared memory", "rdma (rc_mlx5, mlx5_0:1)", from ucp_ep_print_info's text on a connection; "unknown"
// if that names none.
std::string described_link(std::string_view printed);

} // namespace troupe
