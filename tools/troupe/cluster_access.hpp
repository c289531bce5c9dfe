// A command's access to a cluster: its keys, its transport and whether frames are sealed, parsed.
#pragma once

#include <string>

#include "schemas/base/error.hpp"
#include "transport/node/node_endpoint.hpp"

namespace troupe::cli {

// The values of --key, --transport and --plain.
struct access_choice {
    std::string key_file; // empty: on loopback addresses the user's own key, elsewhere none
    std::string transport = "auto"; // auto, shm, tcp, rdma
    bool plain = false;
};

// The keys of --key with one for this role, or those without it. `at`: HOST:PORT at which the node listens, or to which the
// command connects. errc::usage if there is none for the role; the errors of read_key_file() and own_key().
result<cluster_keys> open_keys(const access_choice& choice, peer_role role, const std::string& at);

// errc::usage for an unknown transport or one that this machine lacks; the errors of open_keys().
result<link_access> open_access(const access_choice& choice, peer_role role, const std::string& at);

// For people: what --plain means for who has given it; empty for others.
std::string note_of_plain(const access_choice& choice);

} // namespace troupe::cli
