// A node that echoes every frame, for tests that kill and stop it. Prints its address; ends when its input does.
//     transport_peer auto|shm|tcp|rdma KEY
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "transport/handshake/handshake.hpp"
#include "transport/ucx/ucx_endpoint.hpp"

using namespace troupe;

namespace {

class echo final : public endpoint_listener {
  public:
    void peer_up(const peer_info&) override {}
    void frame_arrived(node_id from, frame_ptr f) override { end->send(from, std::move(f)); }
    void peer_writable(node_id) override {}
    void peer_down(node_id, const error&) override {}
    void connect_failed(const std::string&, const error&) override {}

    endpoint* end = nullptr;
};

ucx_transports transports_of(const char* name) {
    return std::strcmp(name, "shm") == 0    ? ucx_transports::shm
           : std::strcmp(name, "tcp") == 0  ? ucx_transports::tcp
           : std::strcmp(name, "rdma") == 0 ? ucx_transports::rdma
                                            : ucx_transports::automatic;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    memory_pool pool{2ull << 30};
    const monotonic_time time;
    const random_token random = draw_token();
    std::uint64_t id = 0;
    std::memcpy(&id, random.data(), sizeof id);
    ucx_options options;
    options.self.node = node_id{id};
    options.self.name = "echo";
    options.self.address = "127.0.0.1:0";
    options.key = argv[2];
    options.pool = &pool;
    options.time = &time;
    options.transports = transports_of(argv[1]);
    auto made = make_ucx_endpoint(std::move(options));
    if (!made.ok())
        return 1;
    echo listener;
    listener.end = made->get();
    if (!(*made)->start(listener).ok())
        return 1;
    std::printf("%s\n", (*made)->address().c_str());
    std::fflush(stdout);
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    (*made)->close();
    return 0;
}
