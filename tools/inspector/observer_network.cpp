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
    const auto listen = address_towards(*address);
    if (!listen)
        return listen.failure();
    auto made = std::make_unique<observer_network>();
    made->address = *address;
    endpoint_options own;
    made->self = own.identity.node();
    own.self = {.name = options.program + "-" + hex_text(made->self.value()),
                .address = !options.access.keys.has_key() ? "127.0.0.1:0" : *listen,
                .role = peer_role::observer};
    own.keys = std::make_shared<key_ring>(options.access.keys);
    own.transports = options.access.transports;
    own.seals = options.access.seals;
    own.links.pool = &made->pool;
    own.links.time = &made->time;
    own.connect_timeout = options.connect_timeout;
    auto network = make_node_endpoint(std::move(own));
    if (!network)
        return network.failure();
    made->network = std::move(network).value();
    return made;
}

} // namespace troupe::inspector
