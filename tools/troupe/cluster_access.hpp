// A command's access to a cluster: its keys and transport, parsed.
#pragma once

#include <string>

#include "schemas/base/error.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe::cli {

// The values of --key and --transport.
struct access_choice {
    std::string key_file;           // empty: no key, which only nodes on loopback addresses accept
    std::string transport = "auto"; // auto, shm, tcp, rdma
};

struct cluster_access {
    cluster_keys keys;
    ucx_transports transports;
};

// The keys of --key, with one for this role. errc::usage if there is none; the errors of read_key_file().
result<cluster_keys> open_keys(const access_choice& choice, peer_role role);

// errc::usage for an unknown transport or one that this machine lacks; the errors of open_keys().
result<cluster_access> open_access(const access_choice& choice, peer_role role);

} // namespace troupe::cli
