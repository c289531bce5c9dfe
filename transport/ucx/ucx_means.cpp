#include "transport/ucx/ucx_means.hpp"

#include <algorithm>
#include <filesystem>

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
    return ucx_context::create(ucx_route::rdma).ok();
}

} // namespace

result<void> check_transports(ucx_transports asked) {
    if (asked == ucx_transports::rdma && !finds_rdma())
        return no_rdma_error(rdma_devices());
    return {};
}

result<std::unique_ptr<ucx_means>> ucx_means::find(ucx_transports asked, bool loopback_only) {
    const bool has_rdma = looks_for_rdma(asked, loopback_only) && finds_rdma();
    if (asked == ucx_transports::rdma && !has_rdma)
        return no_rdma_error(rdma_devices());
    std::unique_ptr<ucx_means> made{new ucx_means};
    auto mark = own_memory_mark::create();
    made->routes_ = routes_of(asked, {.loopback_only = loopback_only,
                                      .has_memory_mark = mark.ok(),
                                      .has_rdma_devices = has_rdma});
    if (asked == ucx_transports::shm && !mark)
        return mark.failure().in("--transport shm");
    if (made->routes_.shared_memory)
        made->mark_ = std::move(*mark);
    if (const ucx_route first = likely_route(made->routes_, loopback_only); first != ucx_route::tcp)
        if (auto opened = made->context(first); !opened)
            return opened.failure();
    return made;
}

std::optional<memory_mark> ucx_means::mark() const {
    return mark_ ? std::optional{mark_->where()} : std::nullopt;
}

result<ucx_context*> ucx_means::context(ucx_route route) {
    std::unique_ptr<ucx_context>& held = contexts_.at(static_cast<std::size_t>(route));
    if (held == nullptr) {
        auto opened = ucx_context::create(route);
        if (!opened)
            return opened.failure();
        held = std::move(*opened);
    }
    return held.get();
}

} // namespace troupe
