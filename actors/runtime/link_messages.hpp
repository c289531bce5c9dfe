// The links over which a node sends frames to its peers, in messages: Link of schemas/cluster.capnp.
//
// Threads: functions of their arguments. Errors: errc::protocol for more links than a node has peers, and for text that is
// not valid.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schemas/cluster.capnp.h"
#include "transport/endpoint.hpp"

namespace troupe {

// The peers whose links are reported to others: neither observers nor peers whose endpoint does not name the link.
std::vector<peer_info> told_links(std::vector<peer_info> peers);

void write_links(capnp::List<proto::Link>::Builder to, const std::vector<peer_info>& peers);

// The links by peer.
result<std::map<node_id, std::string>> read_links(capnp::List<proto::Link>::Reader from);

} // namespace troupe
