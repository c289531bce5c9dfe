// What a message from an actor to an actor of another process costs, building it included: half a round trip.
//
//     bench_remote_actors shm|tcp [ROUNDS]      default: 2000
//
// Prints one JSON line with two latencies in microseconds (medians): `asleep_us`, where both sides have been idle for a
// millisecond before each message, so that progress threads and workers sleep, and `busy_us`, one right after another.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/timers.hpp"
#include "schemas/cluster.capnp.h"
#include "schemas/probe.capnp.h"
#include "transport/node/node_endpoint.hpp"

using namespace troupe;

namespace {

constexpr actor_number echo_number{5};

frame_builder<proto::Probe> probe(std::uint64_t number) {
    frame_builder<proto::Probe> b;
    b.body().setNumber(number);
    return b;
}

class echo_actor final : public actor {
  public:
    explicit echo_actor(actor_context& context) : actor{context} {
        on<proto::Probe>(&echo_actor::take);
    }

  private:
    void take(proto::Probe::Reader body, const frame& f) {
        send(f.from(), probe(body.getNumber()));
    }
};

class pinging_actor final : public actor {
  public:
    pinging_actor(actor_context& context, std::size_t rounds,
                  std::promise<std::vector<double>>& done)
        : actor{context}, rounds_{rounds}, done_{done} {
        on<proto::PeerUp>(&pinging_actor::begin);
        on<proto::Probe>(&pinging_actor::take);
    }

  private:
    void on_start() override { runtime().subscribe_peers(self()); }
    void begin(proto::PeerUp::Reader peer, const frame&) {
        echo_ = {node_id{peer.getNode()}, echo_number};
        ping();
    }
    // Round trips alternate: a hundred busy ones first, then those from sleep, so that connections are warm.
    void take(proto::Probe::Reader body, const frame& f) {
        if (f.from() == self())
            return ping(); // the pause is over
        trips_us_.push_back(static_cast<double>((now() - sent_).count()) / 1e3);
        if (trips_us_.size() == 2 * rounds_) {
            done_.set_value(std::move(trips_us_));
            return quit();
        }
        if (trips_us_.size() < rounds_)
            ping();
        else
            after(std::chrono::milliseconds{1}, probe(body.getNumber()));
    }
    void ping() {
        sent_ = now();
        send(echo_, probe(trips_us_.size()));
    }

    std::size_t rounds_;
    std::promise<std::vector<double>>& done_;
    actor_address echo_;
    time_point sent_;
    std::vector<double> trips_us_;
};

// A node of its own process.
struct bench_node {
    monotonic_time time;
    memory_pool pool{1u << 28};
    thread_timers timers;
    std::unique_ptr<endpoint> network;
    std::unique_ptr<node_runtime> runtime;

    bench_node(const char* name, const char* transport) {
        endpoint_options own;
        const node_id id = own.identity.node();
        own.self = {{}, name, "127.0.0.1:0", peer_role::member};
        own.links.pool = &pool;
        own.links.time = &time;
        own.transports =
            std::strcmp(transport, "shm") == 0 ? link_transports::shm : link_transports::tcp;
        network = make_node_endpoint(std::move(own)).value();
        runtime = std::make_unique<node_runtime>(node_options{
            .node = id, .name = name, .time = &time, .timers = &timers, .network = network.get()});
    }
};

int echo(const char* transport, int output) {
    bench_node node{"echo", transport};
    node.runtime->spawn_as<echo_actor>(echo_number, "echo");
    if (!node.runtime->start().ok())
        return 1;
    const std::string address = node.network->address() + "\n";
    if (write(output, address.data(), address.size()) < 0)
        return 1;
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    } // until the parent is done
    return 0;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2 || (std::strcmp(argv[1], "shm") != 0 && std::strcmp(argv[1], "tcp") != 0)) {
        std::fprintf(stderr, "usage: bench_remote_actors shm|tcp [ROUNDS]\n");
        return 2;
    }
    const std::size_t rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2000;
    int to_child[2], from_child[2];
    if (pipe(to_child) != 0 || pipe(from_child) != 0)
        return 1;
    const pid_t child = fork(); // before any thread
    if (child == 0) {
        dup2(to_child[0], STDIN_FILENO);
        close(to_child[1]);
        _exit(echo(argv[1], from_child[1]));
    }
    close(from_child[1]);
    std::string address;
    for (char byte = 0; read(from_child[0], &byte, 1) == 1 && byte != '\n';)
        address += byte;

    std::promise<std::vector<double>> done;
    {
        bench_node node{"ping", argv[1]};
        node.runtime->spawn<pinging_actor>("ping", rounds, done);
        if (!node.runtime->start().ok())
            return 1;
        node.runtime->connect(address);
        std::vector<double> trips = done.get_future().get();
        const auto middle = trips.begin() + static_cast<std::ptrdiff_t>(rounds);
        std::printf("{\"transport\": \"%s\", \"busy_us\": %.2f, \"asleep_us\": %.2f}\n", argv[1],
                    median({trips.begin(), middle}) / 2, median({middle, trips.end()}) / 2);
    }
    close(to_child[1]);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}
