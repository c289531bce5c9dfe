// What frames between two nodes can go over, which of it they do, and what UCX is told for it. Decisions alone.
//
//     shared_memory   between processes of one machine that see each other's memory (memory_mark.hpp)
//     rdma            between nodes that both have a device for it; UCX chooses among its transports rc, dc and ud
//     tcp             else
//
// A link has one way for all of its frames. With TCP beside shared memory UCX 1.13 sets connections up over the one for the
// other, and sends large transfers over both, which is slower and, when a peer vanishes meanwhile, aborts the process.
//
// Threads: functions of their arguments. Errors: errc::refused, errc::usage, with a sentence for the user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe {

enum class ucx_way : std::uint8_t { shared_memory, rdma, tcp };

// What a node can use and may.
struct ucx_ways {
    bool shared_memory = false;
    bool rdma = false;
    bool tcp = false;

    friend bool operator==(const ucx_ways&, const ucx_ways&) noexcept = default;
};

// Where a node is that looks for its ways.
struct ucx_surroundings {
    bool loopback_only = false; // it listens on the loopback address: all peers are on its machine
    bool has_memory_mark = false;  // others can see that they share memory with it
    bool has_rdma_devices = false; // that UCX can use
};

// What `asked` leaves of what there is. Without shared memory or RDMA where nothing else may be used, none.
ucx_ways ways_of(ucx_transports asked, const ucx_surroundings& there);

// Whether a node that is asked for this looks for RDMA devices. Peers on the same machine are not reached better by them.
bool looks_for_rdma(ucx_transports asked, bool loopback_only);

// The way that a node's first link is likely to take. Of at least one way.
ucx_way likely_way(const ucx_ways& here, bool loopback_only);

// The way of a link between two nodes; both of them come to the same. `memory_is_shared`: each has seen the other's mark.
// errc::refused; the sentence speaks of the other node as "it".
result<ucx_way> way_between(const ucx_ways& here, const ucx_ways& there, bool memory_is_shared);

// Why there are no RDMA devices to use, for who has asked for them; `devices`: what the system names.
error no_rdma_error(const std::vector<std::string>& devices);

// A setting of UCX.
struct ucx_setting {
    std::string name;
    std::string value;
    std::string later_name{}; // where UCX does not know the other

    friend bool operator==(const ucx_setting&, const ucx_setting&) = default;
};

// What a context of UCX is told so that it has this way alone.
std::vector<ucx_setting> settings_for(ucx_way way, bool loopback_only);

// For people: "shared memory", "tcp", "rdma (rc_mlx5, mlx5_0:1)", of what ucp_ep_print_info says of a connection; "unknown"
// where that names nothing.
std::string described_link(std::string_view printed);

} // namespace troupe
