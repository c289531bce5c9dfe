#include "transport/node/routes.hpp"

#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

std::string name_of(link_route route) {
    switch (route) {
    case link_route::shared_memory:
        return "shared memory";
    case link_route::rdma:
        return "rdma";
    case link_route::tcp:
        return "tcp";
    }
    return "nothing";
}

// "shared memory or tcp"
std::string text(const link_routes& routes) {
    std::string all;
    const auto add = [&](bool has, link_route route) {
        if (has)
            all += (all.empty() ? "" : " or ") + name_of(route);
    };
    add(routes.shared_memory, link_route::shared_memory);
    add(routes.rdma, link_route::rdma);
    add(routes.tcp, link_route::tcp);
    return all.empty() ? "nothing" : all;
}

} // namespace

bool looks_for_rdma(link_transports asked, bool loopback_only) {
    return asked == link_transports::rdma ||
           (asked == link_transports::automatic && !loopback_only);
}

link_routes routes_of(link_transports asked, const route_surroundings& there) {
    const bool any = asked == link_transports::automatic;
    return {
        .shared_memory = (any || asked == link_transports::shm) && there.has_memory_mark,
        .rdma = looks_for_rdma(asked, there.loopback_only) && there.has_rdma_devices,
        .tcp = any || asked == link_transports::tcp,
    };
}

link_route likely_route(const link_routes& here, bool loopback_only) {
    if (here.shared_memory && (loopback_only || !here.tcp))
        return link_route::shared_memory;
    return here.rdma ? link_route::rdma : link_route::tcp;
}

result<link_route> route_between(const link_routes& here, const link_routes& there,
                                 bool memory_is_shared) {
    if (here.shared_memory && there.shared_memory && memory_is_shared)
        return link_route::shared_memory;
    if (here.rdma && there.rdma)
        return link_route::rdma;
    if (here.tcp && there.tcp)
        return link_route::tcp;
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
                             join(devices) +
                             "); see that a port is up and that UCX has its module libuct_ib.so, "
                             "or give --transport auto, which takes what there is"};
}

} // namespace troupe
