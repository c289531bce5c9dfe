// A node that echoes every frame, for tests that kill and stop it. Prints its address; ends when its input does.
//     transport_peer auto|shm|tcp|sealed|rdma KEY
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "transport/node/node_endpoint.hpp"

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

link_transports transports_of(const char* name) {
    return std::strcmp(name, "shm") == 0      ? link_transports::shm
           : std::strcmp(name, "tcp") == 0    ? link_transports::tcp
           : std::strcmp(name, "sealed") == 0 ? link_transports::tcp
           : std::strcmp(name, "rdma") == 0   ? link_transports::rdma
                                              : link_transports::automatic;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    memory_pool pool{2ull << 30};
    const monotonic_time time;
    endpoint_options options;
    options.self.name = "echo";
    options.self.address = "127.0.0.1:0";
    options.keys = std::make_shared<key_ring>(cluster_keys{argv[2]});
    options.links.pool = &pool;
    options.links.time = &time;
    options.transports = transports_of(argv[1]);
    if (std::strcmp(argv[1], "sealed") == 0)
        options.seals = sealing::always;
    auto made = make_node_endpoint(std::move(options));
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
