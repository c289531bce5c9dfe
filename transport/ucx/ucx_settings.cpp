#include "transport/ucx/ucx_settings.hpp"

#include <algorithm>
#include <array>

#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

// UCX's transports within a machine.
constexpr std::array<std::string_view, 6> within_machine{"posix", "sysv", "xpmem",
                                                         "cma",   "knem", "self"};

void add_once(std::vector<std::string>& to, std::string_view what) {
    if (std::ranges::find(to, what) == to.end())
        to.emplace_back(what);
}

} // namespace

std::vector<ucx_setting> settings_for(ucx_transport over) {
    const ucx_setting never_written_by_peers{"RNDV_SCHEME", "get_zcopy"};
    switch (over) {
    case ucx_transport::shared_memory:
        return {
            {"TLS",
             "posix,sysv,cma,self"}, // those whose addresses can be checked (worker_memory.hpp)
            // Without it shared memory does not report the failure of a peer and is refused. The name is that of the
            // settings that posix and sysv share: by their own names, which the environment knows, it would be ignored.
            {"MM_ERROR_HANDLING", "y"},
            // Without it UCX 1.13 does not let a receiver read from the sender's memory (README.md).
            {"MEMORY_INVALIDATE", "y", "CMA_MEMORY_INVALIDATE"}, // from 1.20.1 on
            never_written_by_peers,
        };
    case ucx_transport::rdma:
        return {{"TLS", "rc,dc,ud"}, never_written_by_peers};
    }
    return {};
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
        return "rdma (" + join(over_rdma) + ", " + join(devices) + ")";
    return over_memory ? "shared memory" : "unknown";
}

} // namespace troupe
