#include "transport/ucx/routes.hpp"

#include <algorithm>
#include <array>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

std::string name_of(ucx_route route) {
    switch (route) {
    case ucx_route::shared_memory:
        return "shared memory";
    case ucx_route::rdma:
        return "rdma";
    case ucx_route::tcp:
        return "tcp";
    }
    return "nothing";
}

// "shared memory or tcp"
std::string text(const ucx_routes& routes) {
    std::string all;
    const auto add = [&](bool has, ucx_route route) {
        if (has)
            all += (all.empty() ? "" : " or ") + name_of(route);
    };
    add(routes.shared_memory, ucx_route::shared_memory);
    add(routes.rdma, ucx_route::rdma);
    add(routes.tcp, ucx_route::tcp);
    return all.empty() ? "nothing" : all;
}

// UCX's transports within a machine.
constexpr std::array<std::string_view, 6> within_machine{"posix", "sysv", "xpmem",
                                                         "cma",   "knem", "self"};

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names)
        all += (all.empty() ? "" : ", ") + name;
    return all;
}

void add_once(std::vector<std::string>& to, std::string_view what) {
    if (std::ranges::find(to, what) == to.end())
        to.emplace_back(what);
}

} // namespace

bool looks_for_rdma(ucx_transports asked, bool loopback_only) {
    return asked == ucx_transports::rdma || (asked == ucx_transports::automatic && !loopback_only);
}

ucx_routes routes_of(ucx_transports asked, const ucx_surroundings& there) {
    const bool any = asked == ucx_transports::automatic;
    return {
        .shared_memory = (any || asked == ucx_transports::shm) && there.has_memory_mark,
        .rdma = looks_for_rdma(asked, there.loopback_only) && there.has_rdma_devices,
        .tcp = any || asked == ucx_transports::tcp,
    };
}

ucx_route likely_route(const ucx_routes& here, bool loopback_only) {
    if (here.shared_memory && (loopback_only || !here.tcp))
        return ucx_route::shared_memory;
    return here.rdma ? ucx_route::rdma : ucx_route::tcp;
}

result<ucx_route> route_between(const ucx_routes& here, const ucx_routes& there,
                                bool memory_is_shared) {
    if (here.shared_memory && there.shared_memory && memory_is_shared)
        return ucx_route::shared_memory;
    if (here.rdma && there.rdma)
        return ucx_route::rdma;
    if (here.tcp && there.tcp)
        return ucx_route::tcp;
    if (here.shared_memory && there.shared_memory)
        return error{errc::refused,
                     "it shares no memory with this node, being on another machine, in another "
                     "container or of another user; give --transport auto to both"};
    return error{errc::refused, "it sends over " + text(there) + ", this node over " + text(here) +
                                    "; give --transport auto to both"};
}

error no_rdma_error(const std::vector<std::string>& devices) {
    if (devices.empty())
        return {
            errc::usage,
            "--transport rdma: this machine has no RDMA device (/sys/class/infiniband names "
            "none); load the driver of one, or give --transport auto, which takes what there is"};
    return {errc::usage, "--transport rdma: UCX can use none of this machine's RDMA devices (" +
                             joined(devices) +
                             "); see that a port is up and that UCX has its module libuct_ib.so, "
                             "or give --transport auto, which takes what there is"};
}

std::vector<ucx_setting> settings_for(ucx_route route) {
    const ucx_setting never_written_by_peers{"RNDV_SCHEME", "get_zcopy"};
    switch (route) {
    case ucx_route::shared_memory:
        return {
            {"TLS", "shm,self"},
            // Without it shared memory does not report the failure of a peer and is refused. The name is that of the
            // settings that posix and sysv share: by their own names, which the environment knows, it would be ignored.
            {"MM_ERROR_HANDLING", "y"},
            // Without it UCX 1.13 does not let a receiver read from the sender's memory (README.md).
            {"MEMORY_INVALIDATE", "y", "CMA_MEMORY_INVALIDATE"}, // from 1.20.1 on
            never_written_by_peers,
        };
    case ucx_route::rdma:
        return {{"TLS", "rc,dc,ud"}, never_written_by_peers};
    case ucx_route::tcp:
        break;
    }
    TROUPE_CHECK(false, "frames over TCP are not UCX's");
}

std::string described_link(std::string_view printed) {
    std::vector<std::string> over_rdma, devices;
    bool over_memory = false;
    for (std::size_t at = 0; (at = printed.find("lane[", at)) != printed.npos; ++at) {
        // "lane[0]:  3:rc_mlx5/mlx5_0:1.0 md[1] -> ...": number, transport, device and path.
        const std::string_view line = printed.substr(at, printed.find('\n', at) - at);
        const std::size_t slash = line.find('/');
        const std::size_t end = std::min(line.find(' ', slash), line.size());
        const std::size_t path = line.rfind('.', end);
        const std::size_t colon = line.rfind(':', slash);
        if (slash == line.npos || path == line.npos || path < slash || colon == line.npos)
            continue;
        const std::string_view transport = line.substr(colon + 1, slash - colon - 1);
        if (std::ranges::find(within_machine, transport) != within_machine.end()) {
            over_memory = true;
        } else {
            add_once(over_rdma, transport);
            add_once(devices, line.substr(slash + 1, path - slash - 1));
        }
    }
    if (!over_rdma.empty())
        return "rdma (" + joined(over_rdma) + ", " + joined(devices) + ")";
    return over_memory ? "shared memory" : "unknown";
}

} // namespace troupe
