// What frames from a node to its peers go over, in messages: Link of schemas/cluster.capnp.
//
// Threads: functions of their arguments. Errors: errc::protocol for more links than a node has peers, and for text that is
// none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schemas/cluster.capnp.h"
#include "transport/endpoint.hpp"

namespace troupe {

// Those of a node's peers whose links others may want to know: no observers, and none whose endpoint does not say.
std::vector<peer_info> told_links(std::vector<peer_info> peers);

void write_links(capnp::List<proto::Link>::Builder to, const std::vector<peer_info>& peers);

// By peer.
result<std::map<node_id, std::string>> read_links(capnp::List<proto::Link>::Reader from);

} // namespace troupe
