// Which members of a cluster reach each other, as they say themselves.
//
// Threads: the owner's, which must not be an actor's. Errors: errc::cancelled if a signal comes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "actors/cluster/missing_links.hpp"
#include "actors/runtime/node_runtime.hpp"

namespace troupe::cli {

std::set<node_id> peers_of(const std::map<node_id, std::string>& links);

// Asks the members, to which this node is connected, for the peers that they have links to. Where a link is missing it asks
// again for a second, as members that have just joined are about to connect. A member that does not answer is left out.
result<told_peers> ask_links(node_runtime& runtime, const std::vector<member_info>& members);

} // namespace troupe::cli
