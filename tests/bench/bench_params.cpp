// Push and pull between worker processes and one shard of a parameter server, which is beside the first of them: what a
// stage's cache does for every minibatch, one right after another. One JSON object per size:
//     bench_params WORKERS shm|tcp [BYTES...]
// "us": of a push and the pull that follows it, of one worker; "gb_per_s": what all workers push and pull in a second.
// "memcpy_gb_per_s": bytes that one thread copies in a second, meanwhile.
#include <cstring>
#include <future>
#include <string>

#include "actors/messages.hpp"
#include "actors/params/parameter_cache.hpp"
#include "actors/params/parameter_shard.hpp"
#include "actors/runtime/timers.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "schemas/cluster.capnp.h"
#include "tests/bench/rank_processes.hpp"
#include "tests/support/all_messages.hpp"
#include "tests/support/numbered_identity.hpp"
#include "transport/node/node_endpoint.hpp"

using namespace troupe;
using namespace troupe::rank_processes;

namespace {

constexpr actor_number shard_number{1000}; // of the first node
constexpr actor_number cache_number{1001};
constexpr std::size_t state_per_parameter = 1; // momentum

const monotonic_time time_;

struct bench_options {
    std::uint32_t rank = 0;
    std::uint32_t workers = 2;
    link_transports transports = link_transports::automatic;
    std::size_t bytes = 0;
};

std::size_t rounds_of(std::size_t bytes) {
    return std::clamp<std::size_t>((256u << 20) / bytes, 20, 2000);
}

tensor zeros(memory_pool& memory, std::size_t bytes) {
    tensor made = tensor::allocate(memory, data_type::float32, {bytes / sizeof(float)}).value();
    std::ranges::fill(made.mutable_values<float>(), 0.0f);
    return made;
}

// In the place of a stage: enters an epoch and offers the same gradients again and again.
class offering_actor final : public actor {
  public:
    offering_actor(actor_context& context, const bench_options& options, memory_pool& memory,
                   std::promise<void>& done)
        : actor{context}, options_{options}, memory_{memory}, done_{done}, numbers_{zeros(
                                                                               memory,
                                                                               options.bytes)} {
        on<proto::PeerUp>(&offering_actor::meet);
        on<proto::ServerJoined>(&offering_actor::joined);
        on<proto::Fetched>(&offering_actor::fetched);
    }

  private:
    actor_address cache() const { return {self().node, cache_number}; }

    void on_start() override {
        watch(cache());
        runtime().subscribe_peers(self());
        if (options_.workers == 1)
            join();
    }
    void meet(proto::PeerUp::Reader, const frame&) {
        if (++met_ + 1 == options_.workers)
            join();
    }
    void join() {
        frame_builder<proto::JoinServer> join;
        join.body().setWorker(options_.rank);
        const actor_address shard{test::numbered_identity(1).node(), shard_number};
        write_address(join.body().initShards(1)[0], shard);
        if (options_.rank == 0)
            write_address(join.body().initKeeps(), shard);
        join.body().initUpdates(1);
        for (std::size_t kind = 0; kind <= state_per_parameter; ++kind)
            join.attach(zeros(memory_, options_.bytes));
        send(cache(), std::move(join));
    }
    void joined(proto::ServerJoined::Reader, const frame&) {
        send(cache(), frame_builder<proto::EnterEpoch>{});
    }
    void fetched(proto::Fetched::Reader, const frame&) {
        const std::size_t rounds = rounds_of(options_.bytes);
        const std::size_t warm_up = rounds / 4;
        if (clock_of_next_ == warm_up)
            began_ = now();
        if (clock_of_next_ == warm_up + rounds)
            return report(static_cast<double>((now() - began_).count()) /
                          static_cast<double>(rounds));
        frame_builder<proto::Offer> offer;
        offer.body().setClock(clock_of_next_++);
        offer.attach(numbers_);
        send(cache(), std::move(offer));
    }
    void report(double round_ns) {
        if (options_.rank == 0) {
            const double moved = 2.0 * static_cast<double>(options_.bytes) * options_.workers;
            std::printf("{\"bytes\": %zu, \"us\": %.3f, \"gb_per_s\": %.3f}\n", options_.bytes,
                        round_ns / 1e3, moved / round_ns);
            std::fflush(stdout);
        }
        is_done_ = true;
        done_.set_value();
    }
    void on_down(actor_address, const error& why) override {
        if (is_done_)
            return;
        std::fprintf(stderr, "%s\n", why.message().c_str());
        _exit(1);
    }

    const bench_options& options_;
    memory_pool& memory_;
    std::promise<void>& done_;
    tensor numbers_;
    std::uint32_t met_ = 0;
    std::uint64_t clock_of_next_ = 0;
    time_point began_;
    bool is_done_ = false;
};

void spawn_server(node_runtime& node, const bench_options& options,
                  std::shared_ptr<device> compute) {
    capnp::MallocMessageBuilder description;
    auto sgd = description.initRoot<proto::Optimizer>().initSgd();
    sgd.setLearningRate(0.1f);
    sgd.setMomentum(0.9f);
    const tensor_shape shape{options.bytes / sizeof(float)};
    parameter_cache_options cache;
    cache.ranges = {{0, 1}};
    cache.shapes = {shape};
    cache.state_per_parameter = state_per_parameter;
    if (options.rank == 0) {
        parameter_shard_options shard;
        shard.rules.optimizer = make_optimizer(description.getRoot<proto::Optimizer>().asReader());
        shard.rules.rule.staleness = 2; // so that no worker does more rounds than others
        shard.workers = options.workers;
        shard.shapes = {shape};
        shard.rates = [](std::uint64_t) { return 0.1f; };
        shard.compute = std::move(compute);
        node.spawn_as<parameter_shard>(shard_number, "shard", std::move(shard));
    }
    node.spawn_as<parameter_cache>(cache_number, "cache", std::move(cache));
}

// A node of its own process.
int measure(const bench_options& options, int input, int output) {
    memory_pool arrivals{4ull << 30};
    thread_timers timers;
    const std::shared_ptr<device> compute = make_cpu_device({}, time_).value();
    const std::string name = "worker-" + std::to_string(options.rank);
    endpoint_options own;
    own.identity = test::numbered_identity(options.rank + 1);
    const node_id self = own.identity.node();
    own.self = {{}, name, "127.0.0.1:0", peer_role::member};
    own.links.pool = &arrivals;
    own.links.time = &time_;
    own.transports = options.transports;
    const auto network = make_node_endpoint(std::move(own)).value();
    std::promise<void> done;
    {
        node_runtime node{node_options{.node = self,
                                       .name = name,
                                       .time = &time_,
                                       .timers = &timers,
                                       .network = network.get(),
                                       .messages = test::all_messages()}};
        spawn_server(node, options, compute);
        node.spawn<offering_actor>("stage", options, compute->memory(), done);
        if (!node.start().ok())
            return 1;
        write_line(output, network->address());
        for (std::uint32_t r = 0; r < options.rank; ++r)
            node.connect(read_line(input));
        done.get_future().get();
        write_line(output, "done");
        read_line(input); // until all others are done too
    }
    return 0;
}

// Far more than the caches hold, as what the workers send.
void print_memcpy() {
    const std::size_t bytes = 256u << 20;
    std::vector<std::byte> from(bytes), to(bytes);
    time_point began = time_.now();
    constexpr int copies = 8;
    for (int i = 0; i <= copies; ++i) {
        if (i == 1)
            began = time_.now(); // both have been touched
        std::memcpy(to.data(), from.data(), bytes);
        from[static_cast<std::size_t>(i)] = to[bytes - 1];
    }
    const double ns = static_cast<double>((time_.now() - began).count());
    std::printf("{\"memcpy_gb_per_s\": %.3f}\n", static_cast<double>(bytes) * copies / ns);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    bench_options options;
    if (argc < 3 || std::atoi(argv[1]) < 1) {
        std::fprintf(stderr, "usage: bench_params WORKERS shm|tcp [BYTES...]\n");
        return 2;
    }
    options.workers = static_cast<std::uint32_t>(std::atoi(argv[1]));
    if (std::strcmp(argv[2], "tcp") == 0)
        options.transports = link_transports::tcp;
    std::vector<std::size_t> sizes;
    for (int i = 3; i < argc; ++i)
        sizes.push_back(std::max<std::size_t>(std::strtoull(argv[i], nullptr, 10), sizeof(float)));
    if (sizes.empty())
        sizes = {1u << 12, 1u << 16, 1u << 20, 1u << 24};
    print_memcpy();
    int status = 0;
    for (const std::size_t bytes : sizes) {
        options.bytes = bytes;
        status |= run(options.workers, [&](std::uint32_t rank, int input, int output) {
            options.rank = rank;
            return measure(options, input, output);
        });
    }
    return status;
}
