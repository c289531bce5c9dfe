#include "tools/troupe/cluster_access.hpp"

#include "transport/handshake/key_file.hpp"

namespace troupe::cli {

namespace {

result<ucx_transports> parse_transport(const std::string& text) {
    if (text == "auto")
        return ucx_transports::automatic;
    if (text == "shm")
        return ucx_transports::shm;
    if (text == "tcp")
        return ucx_transports::tcp;
    if (text == "rdma")
        return ucx_transports::rdma;
    return error{errc::usage, "--transport: '" + text + "' is none of auto, shm, tcp, rdma"};
}

} // namespace

result<cluster_access> open_access(const access_choice& choice) {
    cluster_access access;
    if (!choice.key_file.empty()) {
        auto key = read_key_file(choice.key_file);
        if (!key)
            return key.failure();
        access.key = std::move(*key);
    }
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
