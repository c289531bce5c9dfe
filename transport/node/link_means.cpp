#include "transport/node/link_means.hpp"

#include <algorithm>
#include <filesystem>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

// Names of the system's devices, whether UCX can use them or not.
std::vector<std::string> rdma_devices() {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator{"/sys/class/infiniband", none})
        names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

// UCX searches for devices as for a link.
bool finds_rdma() {
    return ucx_context::create(ucx_transport::rdma).ok();
}

} // namespace

ucx_transport ucx_transport_of(link_route route) {
    TROUPE_CHECK(route != link_route::tcp, "frames over TCP are not UCX's");
    return route == link_route::rdma ? ucx_transport::rdma : ucx_transport::shared_memory;
}

result<void> check_transports(link_transports asked) {
    if (asked == link_transports::rdma && !finds_rdma())
        return no_rdma_error(rdma_devices());
    return {};
}

result<std::unique_ptr<link_means>> link_means::find(node_id self, link_transports asked,
                                                     bool loopback_only) {
    const bool has_rdma = looks_for_rdma(asked, loopback_only) && finds_rdma();
    if (asked == link_transports::rdma && !has_rdma)
        return no_rdma_error(rdma_devices());
    std::unique_ptr<link_means> made{new link_means};
    auto mark = own_memory_mark::create(self);
    made->routes_ = routes_of(asked, {.loopback_only = loopback_only,
                                      .has_memory_mark = mark.ok(),
                                      .has_rdma_devices = has_rdma});
    if (asked == link_transports::shm && !mark)
        return mark.failure().in("--transport shm");
    if (made->routes_.shared_memory)
        made->mark_ = std::move(*mark);
    if (const link_route first = likely_route(made->routes_, loopback_only);
        first != link_route::tcp)
        if (auto opened = made->context(ucx_transport_of(first)); !opened)
            return opened.failure();
    return made;
}

std::optional<memory_mark> link_means::mark() const {
    return mark_ ? std::optional{mark_->where()} : std::nullopt;
}

result<ucx_context*> link_means::context(ucx_transport over) {
    std::unique_ptr<ucx_context>& held = contexts_.at(static_cast<std::size_t>(over));
    if (held == nullptr) {
        auto opened = ucx_context::create(over);
        if (!opened)
            return opened.failure();
        held = std::move(*opened);
    }
    return held.get();
}

} // namespace troupe
