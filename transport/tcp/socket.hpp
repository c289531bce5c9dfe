// TCP sockets: addresses, and bytes sent and received without waiting. Non-blocking.
//
// Threads: one per object. Errors: errc::usage for text that is no address, errc::unreachable, errc::io.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <span>
#include <string>

#include "schemas/base/error.hpp"
#include "schemas/base/file_descriptor.hpp"

namespace troupe {

struct socket_address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    bool is_loopback() const noexcept;
    bool is_any() const noexcept; // means all addresses of the machine
    std::string text() const;     // HOST:PORT, the host as a number; [HOST]:PORT for IPv6
    std::string host() const;     // the same without the port
};

// HOST:PORT or [HOST]:PORT. Resolves names, which takes as long as the system's resolver.
result<socket_address> resolve(const std::string& host_and_port);
// As resolve(), but the host must be a number: does not block.
result<socket_address> parse_address(const std::string& host_and_port);
// Converts a user's address for endpoint::connect: the host becomes a number, resolved if it is a name.
result<std::string> looked_up(const std::string& host_and_port);

// errc::io with the address if the port is in use.
result<file_descriptor> listen_on(const socket_address& address);

// The address of a listening socket, with the port that the system chose.
socket_address local_address(const file_descriptor& socket);
// The address at the other end of a connection.
socket_address remote_address(int socket);
// The network that shares are counted by: an IPv4 address, or the first half of an IPv6 one, the rest of which its holder
// chooses freely.
std::string network_of(const socket_address& address);
// `listening` with the host of `seen` if it names no host: a node that listens on all addresses is reached at the address
// it was seen from.
std::string reachable_address(const std::string& listening, const socket_address& seen);

// An address to listen at so that a node at HOST:PORT can reach this process: the local address of the route to it, port 0.
result<std::string> address_towards(const std::string& node);

// Begins to connect; the socket becomes writable when the outcome is known, see connect_outcome().
result<file_descriptor> begin_connect(const socket_address& address);
result<void> connect_outcome(const file_descriptor& socket);

// An empty descriptor if no connection waits.
file_descriptor accept_from(const file_descriptor& listening);

// Sends from the pieces, and receives into the places, what is possible without waiting; returns the number of bytes, 0 if
// there is nothing to be done now. errc::lost if the connection has ended.
result<std::size_t> send_some(int socket, std::span<const iovec> pieces);
result<std::size_t> receive_some(int socket, std::span<const iovec> places);
// Bytes that the system has taken to send, and the other end has not acknowledged.
std::uint64_t unacknowledged_bytes(int socket) noexcept;
// Ends both directions of a connection: who sends or receives on it gets errc::lost.
void shut_down_socket(int socket) noexcept;

} // namespace troupe
