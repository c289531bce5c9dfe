// How a command gets to a cluster: the key and the transport that it was given, understood.
#pragma once

#include <string>

#include "schemas/base/error.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe::cli {

// As --key and --transport say it.
struct access_choice {
    std::string key_file;           // empty: no key, which only nodes on loopback addresses accept
    std::string transport = "auto"; // auto, shm, tcp, rdma
};

struct cluster_access {
    std::string key;
    ucx_transports transports;
};

// errc::usage for another transport or one that this machine has not, what read_key_file() says of the file.
result<cluster_access> open_access(const access_choice& choice);

} // namespace troupe::cli
