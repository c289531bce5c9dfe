#include "tools/inspector/observer_network.hpp"

#include "actors/runtime/node_runtime.hpp"
#include "tools/inspector/printable.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe::inspector {

result<std::unique_ptr<observer_network>>
make_observer_network(const observer_network_options& options) {
    const auto address = looked_up(options.address);
    if (!address)
        return address.failure();
    const auto own = address_towards(*address);
    if (!own)
        return own.failure();
    auto made = std::make_unique<observer_network>();
    made->address = *address;
    endpoint_options ucx;
    made->self = ucx.identity.node();
    ucx.self = {.name = options.program + "-" + hex_text(made->self.value()),
                .address = !options.access.keys.has_key() ? "127.0.0.1:0" : *own,
                .role = peer_role::observer};
    ucx.keys = std::make_shared<key_ring>(options.access.keys);
    ucx.transports = options.access.transports;
    ucx.seals = options.access.seals;
    ucx.links.pool = &made->pool;
    ucx.links.time = &made->time;
    ucx.connect_timeout = options.connect_timeout;
    auto network = make_node_endpoint(std::move(ucx));
    if (!network)
        return network.failure();
    made->network = std::move(network).value();
    return made;
}

} // namespace troupe::inspector
