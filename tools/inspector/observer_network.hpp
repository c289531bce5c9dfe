// The endpoint of an observer of a cluster, with the time source and the memory that it works with.
#pragma once

#include <memory>
#include <string>

#include "kernels/tensor/memory.hpp"
#include "schemas/base/time_source.hpp"
#include "transport/node/node_endpoint.hpp"

namespace troupe::inspector {

struct observer_network_options {
    std::string program; // first part of the name under which nodes know the observer
    std::string address; // HOST:PORT of the node to connect to first
    link_access access;
    duration connect_timeout = std::chrono::seconds{5};
};

struct observer_network {
    node_id self;
    std::string address; // the address of the options, with a number for HOST
    monotonic_time time;
    memory_pool pool{1u << 20}; // the protocols of an observer carry no tensors
    std::unique_ptr<endpoint> network;
};

// Makes an endpoint without starting it. Blocks while HOST is looked up. Errors: those of an address that is invalid or
// unreachable, and those of make_node_endpoint.
result<std::unique_ptr<observer_network>>
make_observer_network(const observer_network_options& options);

} // namespace troupe::inspector
