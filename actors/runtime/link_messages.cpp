#include "actors/runtime/link_messages.hpp"

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

std::vector<peer_info> told_links(std::vector<peer_info> peers) {
    std::erase_if(
        peers, [](const peer_info& p) { return p.role == peer_role::observer || p.over.empty(); });
    return peers;
}

void write_links(capnp::List<proto::Link>::Builder to, const std::vector<peer_info>& peers) {
    for (unsigned i = 0; i < to.size(); ++i) {
        to[i].setNode(peers[i].node.value());
        // Leaves room for "...".
        to[i].setOver(printable(peers[i].over, limits::name_bytes_max - 3));
    }
}

result<std::map<node_id, std::string>> read_links(capnp::List<proto::Link>::Reader from) {
    if (from.size() > limits::nodes_max)
        return error{errc::protocol, std::to_string(from.size()) +
                                         " links are more than a node of a cluster may have"};
    std::map<node_id, std::string> links;
    for (const auto link : from) {
        const std::string over = link.getOver();
        if (!is_printable_name(over, limits::name_bytes_max))
            return error{errc::protocol, "what a link goes over must be 1 to " +
                                             std::to_string(limits::name_bytes_max) +
                                             " bytes of printable text"};
        links[node_id{link.getNode()}] = over;
    }
    return links;
}

} // namespace troupe
