#include <cstring>

#include "kernels/tensor/memory.hpp"
#include "tools/inspector/inspect.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/views.hpp"
#include "transport/handshake/handshake.hpp"
#include "transport/ucx/socket.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe::inspector {

namespace {

constexpr std::uint64_t pool_bytes = 1u << 20; // the protocols of an observer carry no tensors

node_id draw_id() {
    const handshake_nonce random = random_nonce();
    std::uint64_t id = 0;
    std::memcpy(&id, random.data(), sizeof id);
    return node_id{id | 1};
}

} // namespace

int inspect(const inspect_options& given, std::ostream& out, std::ostream& talk) {
    const auto address = looked_up(given.address);
    if (!address)
        return report(address.failure(), talk);
    inspect_options options = given;
    options.address = *address;
    const auto own = address_towards(options.address);
    if (!own)
        return report(own.failure(), talk);
    const monotonic_clock time;
    memory_pool pool{pool_bytes};
    const node_id self = draw_id();
    ucx_options ucx;
    ucx.self.node = self;
    ucx.self.name = "inspector-" + hex_text(self.value());
    ucx.self.address = options.key.empty() ? "127.0.0.1:0" : *own;
    ucx.self.role = peer_role::observer;
    ucx.key = options.key;
    ucx.transports = options.transports;
    ucx.pool = &pool;
    ucx.time = &time;
    ucx.connect_timeout = options.patience;
    auto network = make_ucx_endpoint(std::move(ucx));
    if (!network)
        return report(network.failure(), talk);
    return inspect_over(**network, self, time, options, out, talk);
}

} // namespace troupe::inspector
