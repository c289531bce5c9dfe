#include "tools/troupe/cluster_access.hpp"

#include "tools/troupe/own_key.hpp"
#include "transport/handshake/key_file.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe::cli {

namespace {

result<link_transports> parse_transport(const std::string& text) {
    if (text == "auto")
        return link_transports::automatic;
    if (text == "shm")
        return link_transports::shm;
    if (text == "tcp")
        return link_transports::tcp;
    if (text == "rdma")
        return link_transports::rdma;
    return error{errc::usage, "--transport: '" + text + "' is none of auto, shm, tcp, rdma"};
}

} // namespace

result<cluster_keys> open_keys(const access_choice& choice, peer_role role, const std::string& at) {
    if (choice.key_file.empty()) {
        const auto address = resolve(at); // who listens or connects says what is wrong with it
        return address && address->is_loopback() ? own_key() : cluster_keys{};
    }
    auto keys = read_key_file(choice.key_file);
    if (keys && keys->offered_by(role) == nullptr)
        return error{errc::usage, "key file " + choice.key_file + " has no key for " +
                                      std::string{people_of(role)} + ", and " +
                                      std::string{one_of(role)} + " needs one: a line '" +
                                      std::string{word_of(role)} + " KEY'"};
    return keys;
}

result<link_access> open_access(const access_choice& choice, peer_role role,
                                const std::string& at) {
    link_access access;
    auto keys = open_keys(choice, role, at);
    if (!keys)
        return keys.failure();
    access.keys = std::move(*keys);
    const auto transports = parse_transport(choice.transport);
    if (!transports)
        return transports.failure();
    if (auto there = check_transports(*transports); !there)
        return there.failure();
    access.transports = *transports;
    access.seals = choice.plain ? sealing::never : sealing::between_machines;
    return access;
}

std::string note_of_plain(const access_choice& choice) {
    return choice.plain
               ? "--plain: frames to and from other machines travel over TCP in clear; whoever "
                 "is between them reads and changes weights and data"
               : "";
}

} // namespace troupe::cli
