// A command's access to a cluster: its key, its transport and whether frames are sealed, parsed.
#pragma once

#include <string>

#include "schemas/base/error.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

namespace troupe::cli {

// The values of --key, --transport and --plain.
struct access_choice {
    std::string key_file;           // empty: no key, which only nodes on loopback addresses accept
    std::string transport = "auto"; // auto, shm, tcp, rdma
    bool plain = false;
};

struct cluster_access {
    std::string key;
    ucx_transports transports;
    sealing seals = sealing::between_machines;
};

// errc::usage for an unknown transport or one that this machine lacks; the errors of read_key_file() for the file.
result<cluster_access> open_access(const access_choice& choice);

// For people: what --plain means for who has given it; empty for others.
std::string note_of_plain(const access_choice& choice);

} // namespace troupe::cli
