#include "transport/node/memory_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

namespace troupe {

namespace {

std::string name_of(const memory_mark& mark, node_id of) {
    constexpr const char* digits = "0123456789abcdef";
    std::string name = "troupe-" + std::to_string(of.value()) + "-";
    for (const std::byte b : mark.token) {
        name += digits[std::to_integer<unsigned>(b) >> 4];
        name += digits[std::to_integer<unsigned>(b) & 15];
    }
    return name;
}

// The target of a link; empty if there is no such link or it may not be read.
std::string target_of(const std::string& link) {
    char target[256];
    const ssize_t length = readlink(link.c_str(), target, sizeof target);
    return {target, length > 0 ? static_cast<std::size_t>(length) : 0};
}

} // namespace

result<own_memory_mark> own_memory_mark::create(node_id self) {
    own_memory_mark made;
    made.where_.token = draw_token();
    made.memory_ = file_descriptor{memfd_create(name_of(made.where_, self).c_str(), MFD_CLOEXEC)};
    if (!made.memory_)
        return error{errc::io, "this system gives no unnamed memory (memfd_create)"};
    made.where_.process = static_cast<std::uint32_t>(getpid());
    made.where_.descriptor = static_cast<std::uint32_t>(made.memory_.get());
    if (!is_seen(made.where_, self))
        return error{errc::io, "processes are not to be seen in /proc"};
    return made;
}

bool is_seen(const memory_mark& of_peer, node_id peer) {
    const std::string process = "/proc/" + std::to_string(of_peer.process);
    const std::string found = target_of(process + "/fd/" + std::to_string(of_peer.descriptor));
    if (found != "/memfd:" + name_of(of_peer, peer) + " (deleted)")
        return false;
    // UCX's System V segments are visible only within one IPC namespace, and a sleeping process is woken through a socket
    // without a file, which is found only within one network namespace: otherwise frames would wait until the process looks
    // by itself.
    return std::ranges::all_of(std::array{"/ns/ipc", "/ns/net"}, [&](const char* space) {
        const std::string ours = target_of(std::string{"/proc/self"} + space);
        return !ours.empty() && ours == target_of(process + space);
    });
}

} // namespace troupe
