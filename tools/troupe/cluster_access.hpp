// A command's access to a cluster: its keys and transport, parsed.
#pragma once

#include <string>

#include "schemas/base/error.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe::cli {

// The values of --key and --transport.
struct access_choice {
    std::string key_file; // empty: on loopback addresses the user's own key, elsewhere none
    std::string transport = "auto"; // auto, shm, tcp, rdma
};

struct cluster_access {
    cluster_keys keys;
    ucx_transports transports;
};

// The keys of --key with one for this role, or those without it. `at`: HOST:PORT at which the node listens, or to which the
// command connects. errc::usage if there is none for the role; the errors of read_key_file() and own_key().
result<cluster_keys> open_keys(const access_choice& choice, peer_role role, const std::string& at);

// errc::usage for an unknown transport or one that this machine lacks; the errors of open_keys().
result<cluster_access> open_access(const access_choice& choice, peer_role role,
                                   const std::string& at);

} // namespace troupe::cli
