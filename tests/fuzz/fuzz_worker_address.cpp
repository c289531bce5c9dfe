// Fuzz target: arbitrary bytes as the address of a peer's UCX worker over shared memory, with UCX itself behind the check.
// An address that is taken must not end the process that connects to it, also once the peer has that one's true address and
// both send. Both are processes of their own. The peer begins again where UCX ends it for what was said in its name.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/fuzz/target.hpp"
#include "transport/ucx/ucx_worker.hpp"
#include "transport/ucx/worker_memory.hpp"

namespace troupe::fuzz {

namespace {

using bytes = std::vector<std::byte>;

constexpr std::chrono::seconds progress_max{5}; // until what is awaited must have come
constexpr int links_max = 8; // of a process that connects, before another takes its place
constexpr std::array<std::byte, 64> header{};
const bytes data(1u << 14); // more than UCX sends without asking

std::unique_ptr<ucx_worker> new_worker() {
    static const auto context = ucx_context::create(ucx_transport::shared_memory).value();
    auto made = ucx_worker::create(*context).value();
    made->receive_with([](void*, const void*, std::size_t, void*, std::size_t,
                          const ucp_am_recv_param_t*) { return UCS_OK; },
                       nullptr);
    return made;
}

// The random id of the worker; of an address that can be read.
bytes worker_of(const bytes& address) {
    const auto id = read_worker_address(address).value().worker;
    return {id.begin(), id.end()};
}

// The process that an address names as its own; 0 if it cannot be read.
std::uint32_t process_of(const bytes& address) {
    constexpr std::uint32_t in_namespace = 1u << 31;
    std::uint32_t process = 0;
    if (const auto read = read_worker_address(address))
        for (const auto& t : read->transports)
            if (t.name == memory_transport::cma && t.segment.size() >= sizeof process)
                std::memcpy(&process, t.segment.data(), sizeof process);
    return process & ~in_namespace;
}

// One side of a link that sends as soon as it is there. Its worker stays until the process ends, as UCX may abort where one
// goes while a connection is being set up (ucx_links::drop_worker).
class side {
  public:
    bool connect(const bytes& address) {
        const auto made = worker.connect(
            address, process_of(address), [](void*, ucp_ep_h, ucs_status_t) {}, nullptr);
        if (!made)
            return false;
        ep_ = *made;
        worker.watch_wiring(ep_, &is_wired);
        ucp_request_param_t params{};
        params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK;
        params.cb.send = [](void* request, ucs_status_t, void*) { ucp_request_free(request); };
        for (const std::size_t size : {std::size_t{0}, data.size()})
            (void)ucp_am_send_nbx(ep_, frame_message, header.data(), header.size(), data.data(),
                                  size, &params);
        return true;
    }

    template <class Done>
    void progress_until(Done done) {
        const auto until = std::chrono::steady_clock::now() + progress_max;
        while (!done() && std::chrono::steady_clock::now() < until)
            if (worker.progress() == 0)
                std::this_thread::yield(); // to the other process
    }

    void disconnect() {
        worker.disconnect(ep_);
        progress_until([&] { return worker.disconnects_pending() == 0; });
    }

    ucx_worker& worker = *new_worker().release();
    bool is_wired = false;

  private:
    ucp_ep_h ep_ = nullptr;
};

// --- messages between the processes: addresses, and single bytes

bool hear(int socket, bytes& message, int flags = 0) {
    message.resize(1u << 12);
    const ssize_t length = recv(socket, message.data(), message.size(), flags);
    if (length == 0)
        _exit(0); // the first process has ended
    message.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return length > 0;
}

void say(int socket, const bytes& message) {
    (void)::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
}

bytes heard(int socket) {
    bytes message;
    hear(socket, message);
    return message;
}

// Tells its address, then connects to those that it is told, until it is told the next thing each time.
void be_peer(int socket) {
    side peer;
    const auto others = new_worker(); // of its link to somebody else
    say(socket, peer.worker.address());
    for (bytes address, more;;) {
        hear(socket, address);
        if (address.size() == 1)
            continue; // was for the one before
        const bool is_connected = peer.connect(address);
        while (!hear(socket, more, MSG_DONTWAIT)) {
            peer.worker.progress();
            others->progress();
        }
        if (is_connected)
            peer.disconnect();
        say(socket, {std::byte{1}});
    }
}

// Tells its address, then connects to the one that it is told, which has been taken; tells whether it is wired.
void be_connector(int socket) {
    for (int i = 0; i < links_max; ++i) {
        auto& here = *new side;
        say(socket, here.worker.address());
        const bool is_connected = here.connect(heard(socket));
        here.progress_until([&] { return here.is_wired; });
        say(socket, {std::byte{here.is_wired}});
        for (bytes more; !hear(socket, more, MSG_DONTWAIT);)
            here.worker.progress();
        if (is_connected)
            here.disconnect();
        say(socket, {std::byte{1}});
    }
    _exit(1);
}

// A process at a time that does this; the next begins when one ends, before which the signal that has ended it is told,
// unless it may. To be called before this process has anything of UCX.
int begin(void (*work)(int socket), bool may_be_ended) {
    int ends[2];
    TROUPE_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "there are sockets");
    if (fork() != 0) {
        close(ends[1]);
        return ends[0];
    }
    close(ends[0]);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        signal(number, SIG_DFL);
    for (int status = 1; status != 0;) {
        const pid_t child = fork();
        if (child == 0)
            work(ends[1]);
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status) && !may_be_ended)
            say(ends[1], {std::byte{0xff}, static_cast<std::byte>(WTERMSIG(status))});
    }
    _exit(0);
}

struct processes {
    const int peer = begin(&be_peer, true), connector = begin(&be_connector, false);
    const bytes first_peers = heard(peer);
    bytes peers = first_peers; // address
};

processes& all() {
    static processes made;
    return made;
}

// The address of the peer that is there now, altered as `in` is that of the first.
bytes rebased(std::span<const std::byte> in) {
    bytes out{in.begin(), in.end()};
    for (std::size_t i = 0; i < std::min(in.size(), all().first_peers.size()); ++i)
        if (in[i] == all().first_peers[i])
            out[i] = all().peers[i];
    return out;
}

bytes heard_of_connector() {
    bytes message = heard(all().connector);
    TROUPE_CHECK(message.size() != 2, "an address that is taken ends no process");
    return message;
}

// A worker like those that connect; never the one that does.
result<void> check(const bytes& address) {
    static const auto like = new_worker();
    const auto theirs = read_worker_address(address);
    const auto ours = read_worker_address(like->address()).value();
    if (!theirs)
        return theirs.failure();
    const auto alike = check_alike(*theirs, ours);
    return alike ? check_memory(*theirs, ours, process_of(address)) : alike;
}

} // namespace

bool read(std::span<const std::byte> in) {
    const bytes address = rebased(in);
    const bool is_true = address == all().peers;
    if (const auto sound = check(address); !sound) {
        check_refusal(sound.failure());
        return false;
    }
    // UCX 1.13 ends one of the two processes if their messages name another worker than the address did. The id is random,
    // so that no check can find it out (transport/ucx/README.md).
    if (!std::ranges::equal(worker_of(address), worker_of(all().peers)))
        return true;
    static int true_addresses = 0;
    if (is_true && ++true_addresses > 10)
        return true; // to connect takes much longer than to check
    const bytes connectors = heard_of_connector();
    say(all().peer, connectors);
    say(all().connector, address);
    const bool is_wired = heard_of_connector() == bytes{std::byte{1}};
    say(all().peer, {std::byte{}});
    const bytes answer = heard(all().peer);
    say(all().connector, {std::byte{}});
    (void)heard_of_connector();
    TROUPE_CHECK(!is_true || (is_wired && answer.size() == 1),
                 "the true address leads to the peer");
    if (answer.size() > 1)
        all().peers = answer; // of the next one
    return true;
}

std::vector<std::string> sound_inputs() {
    return {text_of(all().first_peers)};
}

} // namespace troupe::fuzz
