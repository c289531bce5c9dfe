#include "transport/node/node_endpoint.hpp"

#include <sys/resource.h>

#include <string>

#include "transport/node/linked_endpoint.hpp"

namespace troupe {

namespace {

constexpr rlim_t descriptors_min = 64; // 17, and 8 for a link, with some to spare

} // namespace

result<std::unique_ptr<endpoint>> make_node_endpoint(endpoint_options options) {
    TROUPE_CHECK(options.links.pool != nullptr && options.links.time != nullptr,
                 "an endpoint has a pool and a time source");
    TROUPE_CHECK(!options.self.name.empty(), "a node has a name");
    const cluster_keys keys = options.keys->now();
    TROUPE_CHECK(keys.offered_by(options.self.role) != nullptr, "a node has a key for its role");
    options.self.node = options.identity.node();
    const auto listen = resolve(options.self.address);
    if (!listen)
        return error{errc::usage, "cannot listen on " + options.self.address + ": " +
                                      listen.failure().message()};
    if (!keys.has_key() && !listen->is_loopback())
        return error{
            errc::usage,
            "listening on " + options.self.address +
                " needs the cluster's key, because other machines can reach it; give it by "
                "--key FILE, or listen on 127.0.0.1"};
    // With too few UCX ends the process.
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < descriptors_min)
        return error{errc::io, "this process may have " + std::to_string(files.rlim_cur) +
                                   " files and sockets open, but a node needs " +
                                   std::to_string(descriptors_min) +
                                   " and 8 for each link; raise the limit with ulimit -n"};
    if (options.self.role == peer_role::observer)
        options.transports = link_transports::tcp; // as its peers do
    auto means =
        link_means::find(options.identity.node(), options.transports, listen->is_loopback());
    if (!means)
        return means.failure();
    return std::unique_ptr<endpoint>{
        std::make_unique<linked_endpoint>(std::move(options), *listen, std::move(*means))};
}

} // namespace troupe
