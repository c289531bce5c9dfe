#include "transport/tcp/socket.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace troupe {

namespace {

// Who comes while as many wait to be accepted is not answered, and asks again after a second: so many wait as the system
// lets (net.core.somaxconn).
constexpr int listen_backlog = 1 << 16;

std::string system_text(int code) {
    return std::strerror(code);
}

const char* advice_to_listen(int code) {
    switch (code) {
    case EADDRINUSE:
        return "; choose another port, or 0 for a free one";
    case EADDRNOTAVAIL:
        return "; choose an address of this machine";
    case EACCES:
        return "; choose a port from 1024 on";
    default:
        return "";
    }
}

error refused_connection(int code) {
    return {errc::unreachable,
            system_text(code) + (code == ECONNREFUSED ? "; is a node running there?" : "")};
}

struct host_port {
    std::string host;
    std::string port;
};

result<host_port> split(const std::string& text) {
    const auto usage = [&] {
        return error{errc::usage, "'" + text + "' is not HOST:PORT, such as 127.0.0.1:4711"};
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0)
        return usage();
    host_port parts{text.substr(0, colon), text.substr(colon + 1)};
    if (parts.host.front() == '[' && parts.host.back() == ']')
        parts.host = parts.host.substr(1, parts.host.size() - 2);
    else if (parts.host.find(':') != std::string::npos)
        return usage();
    std::uint16_t port = 0;
    const char* end = parts.port.data() + parts.port.size();
    const auto parsed = std::from_chars(parts.port.data(), end, port);
    if (parsed.ec != std::errc{} || parsed.ptr != end)
        return error{errc::usage,
                     "'" + parts.port + "' is no port; it is a number from 0 to 65535"};
    if (parts.host.empty())
        return usage();
    return parts;
}

result<socket_address> find_address(const std::string& host_and_port, int flags) {
    const auto parts = split(host_and_port);
    if (!parts)
        return parts.failure();
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    if (const int code = getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
        code != 0)
        return error{errc::unreachable,
                     "no address is known for " + parts->host + ": " + gai_strerror(code)};
    socket_address address;
    std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
    address.length = found->ai_addrlen;
    freeaddrinfo(found);
    return address;
}

void set_no_delay(int socket) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

} // namespace

bool socket_address::is_loopback() const noexcept {
    if (storage.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
        return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
    }
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    // Who listens on all addresses of IPv6 sees those of IPv4 as ::ffff:127.0.0.1.
    return storage.ss_family == AF_INET6 &&
           (IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
            (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == 127));
}

bool socket_address::is_any() const noexcept {
    if (storage.ss_family == AF_INET)
        return reinterpret_cast<const sockaddr_in&>(storage).sin_addr.s_addr == htonl(INADDR_ANY);
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    return storage.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

std::string socket_address::text() const {
    char host[NI_MAXHOST] = "";
    char port[NI_MAXSERV] = "";
    getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    const std::string name = storage.ss_family == AF_INET6 ? "[" + std::string{host} + "]" : host;
    return name + ":" + port;
}

result<socket_address> resolve(const std::string& host_and_port) {
    return find_address(host_and_port, AI_ADDRCONFIG);
}

result<socket_address> parse_address(const std::string& host_and_port) {
    return find_address(host_and_port, AI_NUMERICHOST | AI_NUMERICSERV);
}

result<std::string> looked_up(const std::string& host_and_port) {
    const auto address = resolve(host_and_port);
    if (!address)
        return address.failure();
    return address->text();
}

result<std::string> address_towards(const std::string& node) {
    const auto address = resolve(node);
    if (!address)
        return address.failure();
    // Connecting a datagram socket sends nothing; it only queries the routing table.
    const file_descriptor probe{socket(address->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!probe || connect(probe.get(), reinterpret_cast<const sockaddr*>(&address->storage),
                          address->length) != 0)
        return error{errc::unreachable, "there is no route to " + node};
    return local_address(probe).host() + ":0";
}

result<file_descriptor> listen_on(const socket_address& address) {
    const auto failed = [&] {
        const int code = errno;
        return error{errc::io, "cannot listen on " + address.text() + ": " + system_text(code) +
                                   advice_to_listen(code)};
    };
    file_descriptor s{
        socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    const int on = 1;
    if (!s || setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(s.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0 ||
        listen(s.get(), listen_backlog) != 0)
        return failed();
    return s;
}

socket_address local_address(const file_descriptor& socket) {
    socket_address address;
    address.length = sizeof address.storage;
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length);
    return address;
}

socket_address remote_address(int socket) {
    socket_address address;
    address.length = sizeof address.storage;
    getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.length);
    return address;
}

std::string socket_address::host() const {
    const std::string all = text();
    return all.substr(0, all.rfind(':'));
}

std::string network_of(const socket_address& address) {
    if (address.storage.ss_family != AF_INET6)
        return address.host();
    const in6_addr& host = reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr;
    const std::size_t counted = IN6_IS_ADDR_V4MAPPED(&host) ? sizeof host : sizeof host / 2;
    return std::string{reinterpret_cast<const char*>(&host), counted};
}

std::string reachable_address(const std::string& listening, const socket_address& seen) {
    const auto parts = split(listening);
    if (!parts || (parts->host != "0.0.0.0" && parts->host != "::"))
        return listening;
    return seen.host() + ":" + parts->port;
}

result<file_descriptor> begin_connect(const socket_address& address) {
    file_descriptor s{
        socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!s)
        return error{errc::io, "cannot open a socket: " + system_text(errno)};
    set_no_delay(s.get());
    if (connect(s.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) !=
            0 &&
        errno != EINPROGRESS)
        return refused_connection(errno);
    return s;
}

result<void> connect_outcome(const file_descriptor& socket) {
    int code = 0;
    socklen_t length = sizeof code;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &length);
    if (code != 0)
        return refused_connection(code);
    return {};
}

file_descriptor accept_from(const file_descriptor& listening) {
    file_descriptor s{accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (s)
        set_no_delay(s.get());
    return s;
}

result<std::size_t> send_some(int socket, std::span<const iovec> pieces) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    for (;;) {
        const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            return static_cast<std::size_t>(sent);
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM)
            return std::size_t{0};
        if (errno != EINTR)
            return error{errc::lost, system_text(errno)};
    }
}

result<std::size_t> receive_some(int socket, std::span<const iovec> places) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(places.data());
    message.msg_iovlen = places.size();
    for (;;) {
        const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT);
        if (got > 0)
            return static_cast<std::size_t>(got);
        if (got == 0)
            return error{errc::lost, "connection closed"};
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return std::size_t{0};
        if (errno != EINTR)
            return error{errc::lost, system_text(errno)};
    }
}

std::uint64_t unacknowledged_bytes(int socket) noexcept {
    int bytes = 0;
    return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

void shut_down_socket(int socket) noexcept {
    shutdown(socket, SHUT_RDWR);
}

} // namespace troupe
