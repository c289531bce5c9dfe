// Lookup of a node's devices and peers by name or id.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "actors/runtime/node_runtime.hpp"
#include "kernels/device/device.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

// The device `name` of the node `node`. errc::usage if it does not exist or is lost.
inline result<std::shared_ptr<device>>
device_named(std::span<const std::shared_ptr<device>> devices, const std::string& name,
             const std::string& node) {
    for (const auto& d : devices) {
        if (d->name() != name)
            continue;
        if (const auto why = d->lost())
            return error{errc::usage,
                         "node " + node + " has lost its device '" + name +
                             "', start it again or leave the device out: " + why->message()};
        return d;
    }
    return error{errc::usage, "node " + node + " has no device '" +
                                  printable(name, limits::name_bytes_max) + "'"};
}

// The name of this node or of a peer that is up; for any other node, this node's name.
inline std::string name_of_node(const node_runtime& here, node_id node) {
    for (const peer_info& peer : here.peers())
        if (peer.node == node)
            return peer.name;
    return here.options().name;
}

} // namespace troupe
