// All-reduce by gloo over TCP on loopback, in place, by so many processes. One JSON object per size:
//     all_reduce_gloo RANKS ring|bcube|halving_doubling [BYTES...]
// `ring` is what PyTorch's gloo back end uses.
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/bench/all_reduce_task.hpp"

namespace task = all_reduce_task;

namespace {

std::function<void()> make_sum(const std::shared_ptr<gloo::rendezvous::Context>& context,
                               const std::string& algorithm, std::vector<float>& values) {
    if (algorithm == "halving_doubling") {
        auto sum = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(
            context, std::vector<float*>{values.data()}, static_cast<int>(values.size()));
        return [sum] { sum->run(); };
    }
    return [context, algorithm, &values] {
        gloo::AllreduceOptions options{context};
        options.setAlgorithm(algorithm == "ring" ? gloo::AllreduceOptions::Algorithm::RING
                                                 : gloo::AllreduceOptions::Algorithm::BCUBE);
        options.setOutput(values.data(), values.size());
        options.setReduceFunction(
            static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
        gloo::allreduce(options);
    };
}

// `until`: a descriptor that ends when all ranks are done; whoever leaves earlier breaks the others' connections.
void run(int rank, int ranks, const std::string& algorithm, const std::string& folder,
         const std::vector<std::size_t>& sizes, int until) {
    gloo::transport::tcp::attr where;
    where.iface = "lo";
    auto device = gloo::transport::tcp::CreateDevice(where);
    gloo::rendezvous::FileStore store{folder};
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);
    for (const std::size_t bytes : sizes) {
        std::vector<float> values(bytes / sizeof(float),
                                  task::first_value(static_cast<std::size_t>(rank)));
        const auto sum = make_sum(context, algorithm, values);
        sum();
        task::check(values.data(), values.size(), static_cast<std::size_t>(ranks));
        std::ranges::fill(values, 0.0f);
        for (std::size_t i = 0; i < task::calls(bytes) / 4; ++i)
            sum();
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < task::calls(bytes); ++i)
            sum();
        if (rank == 0)
            task::print(
                bytes,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    if (rank == 0)
        close(until);
    char byte = 0;
    while (rank > 0 && read(until, &byte, 1) > 0) {
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr,
                     "usage: all_reduce_gloo RANKS ring|bcube|halving_doubling [BYTES...]\n");
        return 2;
    }
    const int ranks = std::atoi(argv[1]);
    std::string folder = (std::filesystem::temp_directory_path() / "gloo-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
        return 1;
    const auto sizes = task::sizes(argc - 3, argv + 3);
    int end[2];
    if (pipe(end) != 0)
        return 1;
    for (int rank = 1; rank < ranks; ++rank)
        if (fork() == 0) { // before any thread
            close(end[1]);
            run(rank, ranks, argv[2], folder, sizes, end[0]);
            _exit(0);
        }
    run(0, ranks, argv[2], folder, sizes, end[1]);
    int failed = 0;
    for (int status = 0; wait(&status) > 0;)
        failed |= status;
    std::filesystem::remove_all(folder);
    return failed == 0 ? 0 : 1;
}
