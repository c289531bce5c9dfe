// All-reduce between node processes: reducers as a stage uses them, one call right after another. One JSON object per size:
//     bench_all_reduce RANKS ALGORITHM shm|tcp [BYTES...]
// ALGORITHM is one of an app file's (ring) or auto.
#include <cstring>
#include <future>
#include <string>

#include "actors/collective/reducer.hpp"
#include "actors/messages.hpp"
#include "actors/runtime/timers.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "schemas/cluster.capnp.h"
#include "tests/bench/all_reduce_task.hpp"
#include "tests/bench/rank_processes.hpp"
#include "tests/support/all_messages.hpp"
#include "tests/support/numbered_identity.hpp"
#include "transport/node/node_endpoint.hpp"

using namespace troupe;
using namespace troupe::rank_processes;
namespace task = all_reduce_task;

namespace {

constexpr std::uint64_t first_reducer = 1000; // of each node, one per size

const monotonic_time time_;

struct bench_options {
    std::uint32_t rank = 0;
    std::uint32_t ranks = 2;
    proto::AllReduceAlgorithm algorithm = proto::AllReduceAlgorithm::AUTO;
    link_transports transports = link_transports::automatic;
    std::vector<std::size_t> sizes;
};

actor_address reducer_of(std::uint32_t rank, std::size_t size) {
    return {test::numbered_identity(rank + 1).node(), actor_number{first_reducer + size}};
}

// In the place of a stage: asks for one sum after another, of each size in turn.
class asking_actor final : public actor {
  public:
    asking_actor(actor_context& context, const bench_options& options, memory_pool& memory,
                 std::promise<void>& done)
        : actor{context}, options_{options}, memory_{memory}, done_{done} {
        on<proto::PeerUp>(&asking_actor::meet);
        on<proto::Reduced>(&asking_actor::take);
    }

  private:
    void on_start() override {
        for (std::size_t s = 0; s < options_.sizes.size(); ++s) {
            watch(reducer_of(options_.rank, s));
            frame_builder<proto::JoinReduction> join;
            join.body().setRank(options_.rank);
            auto members = join.body().initMembers(options_.ranks);
            for (std::uint32_t r = 0; r < options_.ranks; ++r)
                write_address(members[r], reducer_of(r, s));
            send(reducer_of(options_.rank, s), std::move(join));
        }
        runtime().subscribe_peers(self());
    }
    void meet(proto::PeerUp::Reader, const frame&) {
        if (++met_ + 1 == options_.ranks)
            begin();
    }
    void begin() {
        asked_ = 0;
        fill_with(task::first_value(options_.rank));
        ask();
    }
    void fill_with(float value) {
        values_ =
            tensor::allocate(memory_, data_type::float32, {options_.sizes[size_] / sizeof(float)})
                .value();
        std::ranges::fill(values_.mutable_values<float>(), value);
    }
    void ask() {
        frame_builder<proto::Reduce> reduce;
        reduce.body().setReduction(asked_++);
        reduce.attach(std::move(values_));
        send(reducer_of(options_.rank, size_), std::move(reduce));
    }
    void take(proto::Reduced::Reader, const frame& f) {
        const std::size_t bytes = options_.sizes[size_];
        values_ = f.tensors()[0];
        if (asked_ == 1) {
            task::check(values_.values<float>().data(), values_.elements(), options_.ranks);
            fill_with(0);
        }
        const std::size_t warm_up = 1 + task::calls(bytes) / 4;
        if (asked_ == warm_up)
            began_ = now();
        if (asked_ < warm_up + task::calls(bytes))
            return ask();
        if (options_.rank == 0)
            task::print(bytes, static_cast<double>((now() - began_).count()) / 1e9);
        values_ = {};
        if (++size_ < options_.sizes.size())
            return begin();
        done_.set_value();
    }
    void on_down(actor_address, const error& why) override {
        if (size_ == options_.sizes.size())
            return;
        std::fprintf(stderr, "%s\n", why.message().c_str());
        _exit(1);
    }

    const bench_options& options_;
    memory_pool& memory_;
    std::promise<void>& done_;
    std::uint32_t met_ = 0;
    std::size_t size_ = 0; // the number of the one that is measured
    std::uint64_t asked_ = 0;
    tensor values_;
    time_point began_;
};

// A node of its own process. Tells its address, hears those of the ranks before it, and stays until its input ends.
int measure(const bench_options& options, int input, int output) {
    memory_pool arrivals{4ull << 30};
    thread_timers timers;
    const std::shared_ptr<device> compute = make_cpu_device({}, time_).value();
    endpoint_options own;
    own.identity = test::numbered_identity(options.rank + 1);
    const node_id self = own.identity.node();
    own.self = {{}, "rank-" + std::to_string(options.rank), "127.0.0.1:0", peer_role::member};
    own.links.pool = &arrivals;
    own.links.time = &time_;
    own.transports = options.transports;
    const auto network = make_node_endpoint(std::move(own)).value();
    std::promise<void> done;
    {
        node_runtime node{node_options{.node = self,
                                       .name = "rank-" + std::to_string(options.rank),
                                       .time = &time_,
                                       .timers = &timers,
                                       .network = network.get(),
                                       .messages = test::all_messages()}};
        for (std::size_t s = 0; s < options.sizes.size(); ++s)
            node.spawn_as<reducer>(
                reducer_of(options.rank, s).actor, "reducer-" + std::to_string(s),
                reducer_options{
                    options.algorithm, compute, {tensor_shape{options.sizes[s] / sizeof(float)}}});
        node.spawn<asking_actor>("stage", options, compute->memory(), done);
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

} // namespace

int main(int argc, char** argv) {
    bench_options options;
    bool is_known = false;
    if (argc > 3) {
        options.ranks = static_cast<std::uint32_t>(std::atoi(argv[1]));
        const auto all = list_algorithms();
        for (const proto::AllReduceAlgorithm a : all)
            if (name_of(a) == argv[2])
                options.algorithm = a;
        is_known = options.algorithm != proto::AllReduceAlgorithm::AUTO ||
                   std::strcmp(argv[2], "auto") == 0;
        options.sizes = task::sizes(argc - 4, argv + 4);
        if (std::strcmp(argv[3], "tcp") == 0)
            options.transports = link_transports::tcp;
    }
    if (!is_known || options.ranks < 2) {
        std::fprintf(stderr, "usage: bench_all_reduce RANKS ALGORITHM shm|tcp [BYTES...]\n");
        return 2;
    }
    return run(options.ranks, [&](std::uint32_t rank, int input, int output) {
        options.rank = rank;
        return measure(options, input, output);
    });
}
